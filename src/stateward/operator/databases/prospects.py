"""The expected future of a FoundationDB cluster's members: coordinators go to those that stay.

It is read from the objects and the status, so an operator that has just started knows as much.
"""

from collections.abc import Iterator

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.engines.foundationdb.spec.coordinators import Prospect
from stateward.engines.foundationdb.spec.desired import desired
from stateward.kube.objects.nodes import Node
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.translate import claim
from stateward.planning.facts.volume_fit import mismatch

PENDING = {"replace": Prospect.GOES, "recreate": Prospect.AWAY_SOON}
"""By the effect that a member waits for, as the status has it."""


def prospects(cluster: FoundationDBCluster, existing: ClusterObjects) -> dict[str, Prospect]:
    """Return the prospect of each member that does not simply stay; the worst one counts."""
    found: dict[str, Prospect] = {}
    for name, prospect in (*members_away_soon(existing), *leaving_members(cluster, existing)):
        found[name] = max(prospect, found.get(name, Prospect.STAYS))
    return found


def members_away_soon(existing: ClusterObjects) -> Iterator[tuple[str, Prospect]]:
    """Yield the members whose node is tainted or not ready; a taint of all nodes distinguishes none."""
    for pod in existing.pods:
        node = existing.nodes.get(pod.spec.node_name)
        if pod.spec.node_name and existing.nodes and (node is None or not node.ready or tainted(node)):
            yield pod.metadata.labels.get(names.LABEL_MEMBER, ""), Prospect.AWAY_SOON


def tainted(node: Node) -> bool:
    """Return whether a node keeps new pods away, or evicts existing ones."""
    return any(taint.effect != "PreferNoSchedule" for taint in node.spec.taints)


def leaving_members(cluster: FoundationDBCluster, existing: ClusterObjects) -> Iterator[tuple[str, Prospect]]:
    """Yield the members that will be replaced, removed or recreated: by the status, by name, or for their volumes."""
    status, wanted = cluster.status, desired(cluster)
    yield from ((state.name, PENDING[state.pending]) for state in status.member_states if state.pending in PENDING)
    kept = wanted.replacement.keep
    named = {removal.name for removal in status.pending_removals}
    named |= wanted.replacement.replace | wanted.replacement.undrained
    pools = {pool.name: pool for pool in wanted.pools} if wanted.replace_on_shrink else {}
    for source in existing.claims:
        labels = source.metadata.labels
        pool = pools.get(labels.get(names.LABEL_POOL, ""))
        if pool is not None and mismatch(pool, claim(source, existing.classes)) is not None:
            named.add(labels.get(names.LABEL_MEMBER, ""))
    yield from ((name, Prospect.GOES) for name in named - kept)
