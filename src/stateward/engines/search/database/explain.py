"""Finds unassigned copies that currently fit on no node, and the reason.

The cluster state does not say it: `allocation_status` is maintained for primaries only, and is `no_attempt` for a
replica that every node refuses. So the driver asks the database copy by copy. It asks only while no copy initializes,
because until then the answer can change without any action.

A database places what it can at once, unless others move. So if nothing moves, and it refuses every copy of a sample,
the oldest and the newest ones, it places none of the others either. The disaster this prevents: a node with hundreds of
copies is lost, the disks of the others are too full for them, and no member takes its place, because most of the copies
seem to be about to get a node.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice, zip_longest

from msgspec import structs

from stateward.engines.connection.base import GarbledError, RefusedError
from stateward.engines.search.database.decode import shard_of
from stateward.engines.search.database.session import Session
from stateward.engines.search.database.wire import Explanation
from stateward.planning.model.observation import Allocation, Copy, CopyState, Database, Unit

MOST = 64
"""Limit of shards queried in one observation: those that have been unassigned longest, and the newest."""
ENOUGH = 8
"""Answers from which something follows for shards that were not queried; without these they count as still to be
placed.
"""
PATIENCE = 5.0
"""Seconds for all queries of one observation.

The disaster this prevents: a large cluster takes a second to explain a copy, so that no observation with many
unassigned copies is complete in time, and nothing is done in the cluster before all of them have a node.
"""

EVERYWHERE = "every data node has a copy of it already"
_FIELDS = "can_allocate,allocate_explanation,node_allocation_decisions.node_name,node_allocation_decisions.deciders"


async def with_explanations(session: Session, database: Database) -> Database:
    """Return the observation with its unassigned copies explained."""
    if database.allocation is not Allocation.ALL:
        return database
    doubtful = [unit for unit in database.units if _missing(unit)]
    data = frozenset(node.name for node in database.nodes.values() if node.data)
    known: dict[str, Unit] = {unit.name: _with(unit, EVERYWHERE) for unit in doubtful if _everywhere(data, unit)}
    asked = [] if _recovering(database) else [unit for unit in doubtful if unit.name not in known]
    found: dict[str, str | None] = {}
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            for unit in _sample(asked):
                found[unit.name] = await _obstacle(session, unit)
    refused = {name: obstacle for name, obstacle in found.items() if obstacle is not None}
    if ENOUGH <= len(found) == len(refused) and not _moving(database):
        refused = {unit.name: f"as for {min(refused)}: {refused[min(refused)]}" for unit in asked} | refused
    known |= {unit.name: _with(unit, refused[unit.name]) for unit in asked if unit.name in refused}
    if not known:
        return database
    return structs.replace(database, units=tuple(known.get(unit.name, unit) for unit in database.units))


def _sample(units: Sequence[Unit]) -> Iterator[Unit]:
    """Yield the units to ask for, the one that has missed a copy longest and the newest one in turns."""
    order = sorted(units, key=_since)
    half = (len(order) + 1) // 2
    turns = zip_longest(order[:half], reversed(order[half:]))
    return islice((unit for pair in turns for unit in pair if unit is not None), MOST)


async def _obstacle(session: Session, unit: Unit) -> str | None:
    """Return what keeps a replica of the unit from every node; None if nothing does, or only temporarily."""
    index, number = shard_of(unit.name)
    body = {"index": index, "shard": number, "primary": False}
    try:
        answer = await session.call(Explanation, "POST", "/_cluster/allocation/explain", {"filter_path": _FIELDS}, body)
    except (RefusedError, GarbledError):
        # The copy has been placed meanwhile, or the index is gone: the next observation shows it.
        return None
    return _spoken(answer) if answer.can_allocate == "no" else None


def _spoken(answer: Explanation) -> str:
    for node in answer.node_allocation_decisions:
        for decision in node.deciders:
            if decision.decider != "same_shard":
                return f"{decision.decider} on {node.node_name}: {decision.explanation[:200]}"
    return answer.allocate_explanation


def _with(unit: Unit, obstacle: str) -> Unit:
    return structs.replace(unit, copies=tuple(_held(copy, obstacle) for copy in unit.copies))


def _held(copy: Copy, obstacle: str) -> Copy:
    if copy.state is not CopyState.UNASSIGNED or copy.primary:
        return copy
    return structs.replace(copy, held=True, why=f"{copy.why}; {obstacle}")


def _missing(unit: Unit) -> list[Copy]:
    return [copy for copy in unit.copies if copy.state is CopyState.UNASSIGNED and not copy.primary]


def _since(unit: Unit) -> tuple[float, str]:
    return min(copy.since for copy in _missing(unit)), unit.name


def _recovering(database: Database) -> bool:
    return any(copy.state is CopyState.INITIALIZING for unit in database.units for copy in unit.copies)


def _moving(database: Database) -> bool:
    return any(copy.target for unit in database.units for copy in unit.copies)


def _everywhere(data: frozenset[str], unit: Unit) -> bool:
    """Whether every data node has a copy of the unit."""
    return data.issubset({name for copy in unit.copies for name in (copy.member, copy.target)})
