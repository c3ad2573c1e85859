"""The rule that a cluster has one database: none is formed while an earlier manager's volume still has its state."""

from stateward.api.values import names
from stateward.simulation.apiserver.documents import part
from stateward.simulation.opensearch.node import Node
from stateward.simulation.world.world import World

CLAIMS = "/persistentvolumeclaims"


def volumes_with_state(world: World, node: Node) -> list[str]:
    """Return the members whose volumes have the state of another database of the cluster that the node forms.

    A volume counts until its claim is deleted, or marked as left by a replaced member.
    """
    namespace, _, cluster = node.cluster_name.partition(".")
    found: list[str] = []
    for claim in world.store.all(CLAIMS):
        disk = world.databases.disks.get(claim.uid)
        if disk is None or disk is node.disk or not (disk.voter and disk.identity):
            continue
        given_up = names.ANNOTATION_RETIRED in part(claim.doc, "metadata", "annotations") or claim.terminating
        if claim.key.namespace == namespace and claim.labels.get(names.LABEL_CLUSTER) == cluster and not given_up:
            found.append(claim.labels.get(names.LABEL_MEMBER, claim.key.name))
    return sorted(found)
