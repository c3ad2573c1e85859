"""Finds unassigned copies that currently fit on no node, and the reason.

The cluster state does not say it: `allocation_status` is maintained for primaries only, and is `no_attempt` for a
replica that every node refuses. So the driver asks the database copy by copy. It asks only while no copy initializes,
because until then the answer can change without any action.
"""

import asyncio
import heapq
from contextlib import suppress

from msgspec import structs

from stateward.engines.connection.base import GarbledError, RefusedError
from stateward.engines.search.database.decode import shard_of
from stateward.engines.search.database.session import Session
from stateward.engines.search.database.wire import Explanation
from stateward.planning.model.observation import Allocation, Copy, CopyState, Database, Unit

MOST = 64
"""Limit of shards queried in one observation, those that have been unassigned longest first.

The other copies count as still to be placed.
"""
PATIENCE = 5.0
"""Seconds for all queries of one observation; what is not answered by then counts as still to be placed.

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
    asked = () if _recovering(database) else (unit for unit in doubtful if unit.name not in known)
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            for unit in heapq.nsmallest(MOST, asked, key=_since):
                obstacle = await _obstacle(session, unit)
                if obstacle is not None:
                    known[unit.name] = _with(unit, obstacle)
    if not known:
        return database
    return structs.replace(database, units=tuple(known.get(unit.name, unit) for unit in database.units))


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


def _everywhere(data: frozenset[str], unit: Unit) -> bool:
    """Whether every data node has a copy of the unit."""
    return data.issubset({name for copy in unit.copies for name in (copy.member, copy.target)})
