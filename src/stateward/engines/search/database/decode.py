"""Decodes the database's answers into one observation; answers that contradict each other are an error."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct, structs

from stateward.api.values.problem import first_of
from stateward.api.values.roles import VOTING_ONLY
from stateward.engines.connection.base import GarbledError, TooLargeError
from stateward.engines.search.database import marks, shutdown
from stateward.engines.search.database.places import Place, Places
from stateward.engines.search.database.wire import (
    MISSING,
    ClusterSettings,
    ClusterState,
    Coordination,
    IndexMetadata,
    IndexSettings,
    NodesInfo,
    NodesStats,
    ShardCopy,
    ShardState,
    UnassignedInfo,
)
from stateward.engines.search.spec.versions import MANAGER_ROLES, Numbering
from stateward.planning.model.observation import Allocation, Barrier, Copy, CopyState, Database, Health, Node, Unit

COPIES = 100_000
"""Limit of shard copies in one observation. An answer within the size limit holds more only if it is forged."""
_HELD = ("deciders_no", "no_valid_shard_copy")
_NAMED = 3
"""Number of indices that a message names."""
_STATES = {state: CopyState(state.value.lower()) for state in ShardState}
_LIVE = (ShardState.STARTED, ShardState.RELOCATING)
SEARCHING = ":search"
"""What follows the name of an index in the name of a unit with search replicas; no index name has a colon."""
_NUMBER = re.compile(r"[0-9]{1,9}")
"""The number of a shard, a replica count, or a major version."""


class Answers(Struct, frozen=True):
    """All answers of one observation."""

    state: ClusterState
    info: NodesInfo
    stats: NodesStats
    settings: ClusterSettings
    going: tuple[shutdown.Record, ...] = ()
    """Nodes that are registered for shutdown in the database."""


def database(data_roles: frozenset[str], answers: Answers, numbering: Numbering) -> Database:
    """Return the decoded observation.

    Raise `GarbledError` when the answers contradict each other, and `TooLargeError` above `COPIES`. A node holds data
    if it has one of `data_roles`.
    """
    state = answers.state
    names = _names(state)
    copies = sum(len(c) for index in state.routing_table.indices.values() for c in index.shards.values())
    if copies > COPIES:
        raise TooLargeError(f"the cluster's state has {copies:,} copies of shards, and the limit is {COPIES:,}")
    units = tuple(_units(answers, data_roles, names))
    coordination = state.metadata.cluster_coordination
    draining = marks.draining(answers.settings)
    parts = marks.marked_as_draining(answers.settings) | shutdown.members(answers.going, shutdown.Kind.REMOVE)
    return Database(
        identity=state.cluster_uuid,
        health=_health(state, units),
        nodes={name: _node(data_roles, answers, identifier) for identifier, name in names.items()},
        units=units,
        leader=names.get(state.manager, ""),
        # A voter that is unavailable counts too, by its id: the quorum is of all voters.
        voters=frozenset(names.get(identifier, identifier) for identifier in coordination.last_committed_config),
        nameless=frozenset(coordination.last_committed_config) - names.keys(),
        voting_exclusions=excluded(coordination),
        draining=draining,
        half_draining=parts - draining,
        allocation=_allocation(answers.settings),
        balance_paused=marks.balance_paused(answers.settings),
        limited=marks.limited(answers.settings),
        half_limited=bool(shutdown.members(answers.going, shutdown.Kind.RESTART)),
        barrier=_barrier(answers, numbering),
    )


def _barrier(answers: Answers, numbering: Numbering) -> Barrier | None:
    """Return the first version, newer than all nodes, that cannot read the oldest indices; None if there is none.

    A major version reads what was created in it and in the one before.
    """
    heads = (node.version.partition(".")[0] for node in answers.info.nodes.values())
    newest = max((int(head) for head in heads if _NUMBER.fullmatch(head)), default=0)
    majors = {
        name: major
        for name, metadata in answers.state.metadata.indices.items()
        if (major := _major(metadata.settings.index, numbering)) is not None and major + 2 > newest
    }
    if not majors:
        return None
    oldest = min(majors.values())
    names = sorted(name for name, major in majors.items() if major == oldest)
    why = f"it cannot read indices that {oldest}.x has created: {first_of(names, _NAMED)}"
    return Barrier(f"{oldest + 2}.0.0", f"{why}; reindex or delete them first")


def _major(index: IndexSettings, numbering: Numbering) -> int | None:
    """Return the major version that created an index; None if it is unknown, or if later versions read it anyway."""
    if index.verified_read_only == "true" or index.store.type == "snapshot":
        return None
    return numbering.major(index.version.compatibility or index.version.created)


def excluded(coordination: Coordination) -> frozenset[str]:
    """Return the excluded voters by name, or by id when they were excluded by id and are gone."""
    found = coordination.voting_config_exclusions
    return frozenset(e.node_id if e.node_name == MISSING else e.node_name for e in found)


def _names(state: ClusterState) -> dict[str, str]:
    """Return the node names by id; raise `GarbledError` when two nodes have the same name."""
    names = {identifier: node.name for identifier, node in state.nodes.items()}
    if len(set(names.values())) < len(names):
        raise GarbledError("two nodes in the cluster have the same name")
    return names


def shard_of(unit: str) -> tuple[str, int]:
    """Return the index and the number of a unit's shard."""
    index, _, number = unit.removesuffix("]").rpartition("[")
    return index.removesuffix(SEARCHING), int(number)


def _health(state: ClusterState, units: tuple[Unit, ...]) -> Health:
    """Return the health with the search replicas that are in no unit: those of which none serves."""
    copies = (c for index in state.routing_table.indices.values() for shard in index.shards.values() for c in shard)
    whole = all(copy.state in _LIVE for copy in copies if copy.search_only)
    found = health(units)
    return found if whole or found is Health.RED else Health.YELLOW


def health(units: tuple[Unit, ...]) -> Health:
    """Return the health as the database defines it: red without an active primary, yellow without an active replica."""
    worst = Health.GREEN
    for unit in units:
        for copy in unit.copies:
            if copy.state not in (CopyState.STARTED, CopyState.RELOCATING):
                if copy.primary:
                    return Health.RED
                worst = Health.YELLOW
    return worst


def _allocation(settings: ClusterSettings) -> Allocation:
    try:
        return marks.allocation(settings)
    except ValueError as error:
        raise GarbledError(f"{marks.ENABLE} has an unknown value: {error}") from error


def _node(data_roles: frozenset[str], answers: Answers, identifier: str) -> Node:
    info, stats = answers.info.nodes.get(identifier), answers.stats.nodes.get(identifier)
    if info is None or stats is None:
        raise GarbledError(f"node {answers.state.nodes[identifier].name} is in the cluster and does not answer")
    return Node(
        name=info.name,
        version=info.version,
        data=any(role in data_roles for role in info.roles),
        voting=bool(MANAGER_ROLES.intersection(info.roles)),
        electable=VOTING_ONLY not in info.roles,
        disk_total=stats.fs.total.total_in_bytes,
        disk_free=stats.fs.total.available_in_bytes,
        cpu=stats.os.cpu.percent if 0 <= stats.os.cpu.percent <= 100 else None,
    )


def _places(answers: Answers, data_roles: frozenset[str]) -> Iterator[Place]:
    for identifier, node in answers.state.nodes.items():
        info = answers.info.nodes.get(identifier)
        if info is not None and (roles := data_roles.intersection(info.roles)):
            yield Place(node.name, identifier, roles, node.attributes)


def _units(answers: Answers, data_roles: frozenset[str], names: Mapping[str, str]) -> Iterator[Unit]:
    state = answers.state
    sizes, places = _sizes(answers.stats), Places(list(_places(answers, data_roles)))
    unrouted = state.metadata.indices.keys() ^ state.routing_table.indices.keys()
    if unrouted:
        raise GarbledError(f"index {min(unrouted)} is in one part of the cluster's state and not in the other")
    for index, routing in state.routing_table.indices.items():
        metadata = state.metadata.indices[index]
        allowed = places.of(metadata.settings.index)
        # An index that is scaled to its search replicas has nothing else, and may have no record of in-sync copies.
        written = {number for number, copies in routing.shards.items() if not all(c.search_only for c in copies)}
        known = metadata.in_sync_allocations.keys()
        if not written <= known <= routing.shards.keys():
            raise GarbledError(f"the parts of the cluster's state don't agree about the shards of {index}")
        for number, copies in routing.shards.items():
            if not _NUMBER.fullmatch(number):
                raise GarbledError(f"the cluster's state has a shard {index}[{number[:200]}] without a valid number")
            size, searching = sizes.get((index, number), 0), [copy for copy in copies if copy.search_only]
            if number in written or not searching:
                rest = [copy for copy in copies if not copy.search_only]
                unit = _unit(f"{index}[{number}]", metadata, number, rest, names)
                yield structs.replace(unit, size=size, places=allowed)
            if any(copy.state in _LIVE for copy in searching):
                yield _search_unit(f"{index}{SEARCHING}[{number}]", searching, names, size, places.searching)


def _unit(name: str, metadata: IndexMetadata, number: str, copies: list[ShardCopy], names: Mapping[str, str]) -> Unit:
    settings = metadata.settings.index
    if not _NUMBER.fullmatch(settings.number_of_replicas) or len(copies) <= int(settings.number_of_replicas):
        raise GarbledError(f"the cluster's state does not hold all copies of {name} that should exist")
    in_sync = frozenset(metadata.in_sync_allocations[number])
    decoded = tuple(_copy(name, copy, in_sync, names) for copy in copies)
    if sum(copy.primary for copy in decoded) != 1:
        raise GarbledError(f"shard {name} has not exactly one primary in the cluster's state")
    return Unit(name=name, wanted=len(decoded), copies=decoded, flexible=settings.auto_expand_replicas != "false")


def _search_unit(
    name: str, copies: list[ShardCopy], names: Mapping[str, str], size: int, places: frozenset[str]
) -> Unit:
    """Return the search replicas of a shard: a unit of their own, because they hold no data that is not elsewhere.

    If none of them serves, there is no such unit: nothing can be protected, and no change has to wait for nodes that
    may not exist.
    """
    in_sync = frozenset(copy.allocation_id.id for copy in copies if copy.allocation_id is not None)
    decoded = tuple(_copy(name, copy, in_sync, names) for copy in copies)
    return Unit(name=name, wanted=len(decoded), copies=decoded, size=size, places=places)


def _copy(shard: str, copy: ShardCopy, in_sync: frozenset[str], names: Mapping[str, str]) -> Copy:
    if copy.state is ShardState.UNASSIGNED:
        return _unassigned(shard, copy)
    moving = copy.relocating_node is not None
    if copy.node is None or copy.allocation_id is None or (copy.state is ShardState.RELOCATING and not moving):
        raise GarbledError(f"the cluster's state does not say where a copy of {shard} is")
    return Copy(
        state=_STATES[copy.state],
        primary=copy.primary,
        member=_name(shard, copy.node, names),
        target=_name(shard, copy.relocating_node, names) if copy.relocating_node else "",
        in_sync=copy.allocation_id.id in in_sync,
    )


def _name(shard: str, identifier: str, names: Mapping[str, str]) -> str:
    try:
        return names[identifier]
    except KeyError:
        raise GarbledError(f"a copy of {shard} is on a node that is not in the cluster's state") from None


def _unassigned(shard: str, copy: ShardCopy) -> Copy:
    info = copy.unassigned_info
    if info is None:
        raise GarbledError(f"the cluster's state does not say why a copy of {shard} is unassigned")
    return Copy(
        state=CopyState.UNASSIGNED,
        primary=copy.primary,
        in_sync=False,
        why=_why(info),
        held=copy.primary and info.allocation_status in _HELD,
        since=_seconds(shard, info.at),
    )


def _why(info: UnassignedInfo) -> str:
    reason = info.reason.lower().replace("_", " ")
    detail = info.details.partition("\n")[0][:200]
    return f"{reason}: {detail}" if detail else f"{reason}, delayed" if info.delayed else reason


def _seconds(shard: str, text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise GarbledError(f"{shard} is unassigned since {text[:60]!r}, which is not a time") from error


def _sizes(stats: NodesStats) -> dict[tuple[str, str], int]:
    """Return the size of each shard: that of its largest copy, because an initializing copy is smaller."""
    sizes: dict[tuple[str, str], int] = {}
    for node in stats.nodes.values():
        for index, shards in node.indices.shards.items():
            for number, shard in ((number, shard) for item in shards for number, shard in item.items()):
                key = (index, number)
                sizes[key] = max(sizes.get(key, 0), shard.store.size_in_bytes)
    return sizes
