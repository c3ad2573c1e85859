"""The expected future of a FoundationDB cluster's members: coordinators go to those that stay.

It is read from the objects and the status, so an operator that has just started knows as much.
"""

from collections.abc import Iterator

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.engines.foundationdb.spec.coordinators import Prospect
from stateward.engines.foundationdb.spec.desired import desired
from stateward.kube.objects.nodes import Node
from stateward.operator.objects.cluster_objects import Holdings
from stateward.operator.objects.translate import claim
from stateward.planning.facts.volume_fit import mismatch

PENDING = {"replace": Prospect.GOES, "recreate": Prospect.AWAY_SOON}
"""By the effect that a member waits for, as the status has it."""


def prospects(cluster: FoundationDBCluster, holdings: Holdings) -> dict[str, Prospect]:
    """Return the prospect of each member that does not simply stay; the worst one counts."""
    found: dict[str, Prospect] = {}
    for name, prospect in (*away_soon(holdings), *going(cluster, holdings)):
        found[name] = max(prospect, found.get(name, Prospect.STAYS))
    return found


def away_soon(holdings: Holdings) -> Iterator[tuple[str, Prospect]]:
    """Yield the members whose node is tainted or not ready; a taint of all nodes distinguishes none."""
    for pod in holdings.pods:
        node = holdings.nodes.get(pod.spec.node_name)
        if pod.spec.node_name and holdings.nodes and (node is None or not node.ready or tainted(node)):
            yield pod.metadata.labels.get(names.LABEL_MEMBER, ""), Prospect.AWAY_SOON


def tainted(node: Node) -> bool:
    """Return whether a node keeps new pods away, or evicts existing ones."""
    return any(taint.effect != "PreferNoSchedule" for taint in node.spec.taints)


def going(cluster: FoundationDBCluster, holdings: Holdings) -> Iterator[tuple[str, Prospect]]:
    """Yield the members that will be replaced, removed or recreated: by the status, by name, or for their volumes."""
    status, wanted = cluster.status, desired(cluster)
    yield from ((state.name, PENDING[state.pending]) for state in status.member_states if state.pending in PENDING)
    kept = wanted.replacement.keep
    named = {removal.name for removal in status.pending_removals}
    named |= wanted.replacement.replace | wanted.replacement.undrained
    pools = {pool.name: pool for pool in wanted.pools} if wanted.replace_on_shrink else {}
    for source in holdings.claims:
        labels = source.metadata.labels
        pool = pools.get(labels.get(names.LABEL_POOL, ""))
        if pool is not None and mismatch(pool, claim(source, holdings.classes)) is not None:
            named.add(labels.get(names.LABEL_MEMBER, ""))
    yield from ((name, Prospect.GOES) for name in named - kept)
