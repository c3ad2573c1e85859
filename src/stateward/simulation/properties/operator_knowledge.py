"""What the operator has seen of a database: what it may do is judged by that, and not by what has happened since."""

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
    """The database as the operator last saw it."""

    at: float
    version: int
    nodes: frozenset[str]
    seen: frozenset[str]
    """Names of the nodes that were ever in it."""
    voters: frozenset[str]
    voting: frozenset[str]
    """Nodes that may vote."""
    data: frozenset[str]
    holders: Mapping[str, frozenset[str]]
    """By shard, the nodes with a started copy that is in sync."""
    copies: Mapping[str, frozenset[str]]
    """By shard, the nodes with any copy."""
    moving: Mapping[str, frozenset[str]] = {}
    """By shard, the nodes whose copy is relocating to another one."""
    drained: frozenset[str] = frozenset()
    """Nodes that the database drains."""
    tolerance: int | None = None
    """How many more failures lose nothing, if the database reports that instead of its copies."""


def known_database(cluster: Cluster, at: float) -> DatabaseKnowledge:
    """Return what a read of a database shows at a time."""
    name = {identifier: node.name for identifier, node in cluster.nodes.items()}
    return DatabaseKnowledge(
        at=at,
        version=cluster.version,
        nodes=frozenset(name.values()),
        seen=frozenset(cluster.seen),
        voters=cluster.names_of_voters(),
        voting=frozenset(node.name for node in cluster.nodes.values() if node.votes),
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


def known_processes(ensemble: Ensemble, at: float, seen: frozenset[str]) -> DatabaseKnowledge | None:
    """Return what a status of FoundationDB shows, None of one that was never created; `seen` were in it before.

    It names no copies: the number of members that it can lose is its own report.
    """
    ensemble.advance()
    if ensemble.cluster is None or not ensemble.cluster.state.configuration:
        return None
    live, nobody = ensemble.cluster.live(ensemble.clock()), frozenset[str]()
    there = frozenset(worker.locality["instance_id"] for worker in live.values())
    tolerance = bearable(ensemble.cluster.state, live)
    return DatabaseKnowledge(at, 0, there, seen | there, nobody, nobody, there, {}, {}, tolerance=tolerance)


def restarts_together(pod: Stored) -> bool:
    """Return whether a pod belongs to a coordinated restart that the user requested."""
    return _phase(pod) in COORDINATED


def stop_requested(member: str, cluster: Stored | None, pod: Stored | None) -> bool:
    """Return whether the user asked for this member to be kept stopped, or restarted at once."""
    asked = part(cluster.doc, "metadata", "annotations").get(names.ANNOTATION_STOPPED, "") if cluster else ""
    return member in asked.split(",") or (pod is not None and _phase(pod) is Phase.SCHEDULE)


def _phase(pod: Stored) -> Phase | None:
    return parse_phase(part(pod.doc, "metadata", "annotations").get(names.ANNOTATION_PHASE, ""))
