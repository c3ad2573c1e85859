"""The operator's knowledge of a database at its last read, by which its actions are judged."""

from collections.abc import Mapping

from msgspec import Struct

from stateward.api.values import names
from stateward.planning.model.phase import COORDINATED, Phase, parse_phase
from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.foundationdb.status import bearable
from stateward.simulation.opensearch.cluster import Cluster


class DatabaseKnowledge(Struct, frozen=True):
    """The database as the operator last read it."""

    at: float
    version: int
    nodes: frozenset[str]
    seen: frozenset[str]
    """Names of all nodes that ever joined."""
    voters: frozenset[str]
    voting: frozenset[str]
    """Nodes that may vote."""
    data: frozenset[str]
    holders: Mapping[str, frozenset[str]]
    """By shard, the nodes with a started in-sync copy."""
    copies: Mapping[str, frozenset[str]]
    """By shard, the nodes with any copy."""
    moving: Mapping[str, frozenset[str]] = {}
    """By shard, the nodes whose copy is relocating to another one."""
    electable: frozenset[str] = frozenset()
    """Nodes that may vote and be elected."""
    drained: frozenset[str] = frozenset()
    """Nodes that the database drains."""
    tolerance: int | None = None
    """How many more failures lose no data, if the database reports this instead of its copies."""
    storing: frozenset[str] = frozenset()
    """Nodes with data or a log, if the database reports `tolerance`: without any other one nothing is lost."""
    serves: bool = True
    """Whether the database was available at this read: one that is not has given no member any data."""


def known_database(cluster: Cluster, at: float) -> DatabaseKnowledge:
    """Return the knowledge from a read of a database."""
    name = {identifier: node.name for identifier, node in cluster.nodes.items()}
    return DatabaseKnowledge(
        at=at,
        version=cluster.version,
        nodes=frozenset(name.values()),
        seen=frozenset(cluster.seen),
        voters=cluster.names_of_voters(),
        voting=frozenset(node.name for node in cluster.nodes.values() if node.votes),
        electable=frozenset(node.name for node in cluster.nodes.values() if node.electable),
        data=frozenset(node.name for node in cluster.nodes.values() if node.data),
        holders={
            shard.name: frozenset(name[c.node] for c in shard.copies if c.active and c.node in name)
            for shard in cluster.shards
        },
        copies={
            shard.name: frozenset(name[n] for c in shard.copies for n in (c.node, c.target) if n in name)
            for shard in cluster.shards
        },
        moving={
            shard.name: frozenset(name[c.node] for c in shard.copies if c.node in name and c.target in name)
            for shard in cluster.shards
        },
        drained=cluster.settings.excluded,
    )


def known_processes(ensemble: Ensemble, at: float, seen: frozenset[str], serves: bool) -> DatabaseKnowledge | None:
    """Return the knowledge from a FoundationDB status; None before the creation.

    `seen` are earlier members, and `serves` is whether the status says that it serves. The status names no copies;
    it reports how many members can fail.
    """
    ensemble.advance()
    if ensemble.cluster is None or not ensemble.cluster.state.configuration:
        return None
    live = ensemble.cluster.live(ensemble.clock())
    there = frozenset(worker.locality["instance_id"] for worker in live.values())
    state = ensemble.cluster.state
    stores = {*state.servers, *(store for epoch in state.epochs for store in epoch.logs)}
    coordinators = frozenset(host.partition(".")[0].removesuffix("-0") for host in state.coordinators)
    tolerance = bearable(state, live, {worker.store for worker in live.values()})
    return DatabaseKnowledge(
        at=at,
        version=0,
        nodes=there,
        seen=seen | there,
        voters=coordinators,
        voting=coordinators,
        data=there,
        holders={},
        copies={},
        tolerance=tolerance,
        storing=frozenset(worker.locality["instance_id"] for worker in live.values() if worker.store in stores),
        serves=serves,
    )


def restarts_together(pod: Stored) -> bool:
    """Return whether a pod belongs to a coordinated restart that the user requested."""
    return _phase(pod) in COORDINATED


def stop_requested(member: str, cluster: Stored | None, pod: Stored | None) -> bool:
    """Return whether the user requested a stop or an immediate restart of this member."""
    asked = part(cluster.doc, "metadata", "annotations").get(names.ANNOTATION_STOPPED, "") if cluster else ""
    return member in asked.split(",") or (pod is not None and _phase(pod) is Phase.SCHEDULE)


def _phase(pod: Stored) -> Phase | None:
    return parse_phase(part(pod.doc, "metadata", "annotations").get(names.ANNOTATION_PHASE, ""))
