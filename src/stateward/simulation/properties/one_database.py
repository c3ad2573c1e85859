"""The rule that a cluster has one database: none is formed beside kept volumes of an earlier one.

A volume counts if it has the state of a manager, or data and the mark that says so.
"""

from stateward.api.values import names
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.opensearch.node import Node
from stateward.simulation.world.world import World

CLAIMS = "/persistentvolumeclaims"


def volumes_of_another(world: World, node: Node) -> list[str]:
    """Return the members whose volumes hold another database of the cluster that the node forms.

    A volume counts until its claim is deleted, or marked as left by a replaced member. Of volumes with data only those
    that are marked count: nothing else of a database is known once its resource and its managers' volumes are gone.
    """
    namespace, _, cluster = node.cluster_name.partition(".")
    found: list[str] = []
    for claim in world.store.all(CLAIMS):
        disk = world.databases.disks.get(claim.uid)
        if disk is None or disk is node.disk or not disk.identity:
            continue
        annotations = part(claim.doc, "metadata", "annotations")
        given_up = names.ANNOTATION_RETIRED in annotations or claim.terminating
        held = disk.voter or (names.ANNOTATION_DATA in annotations and not is_orphan(world, claim.doc))
        mine = claim.key.namespace == namespace and claim.labels.get(names.LABEL_CLUSTER) == cluster
        if held and mine and not given_up:
            found.append(claim.labels.get(names.LABEL_MEMBER, claim.key.name))
    return sorted(found)


def is_orphan(world: World, claim: Doc) -> bool:
    """Return whether a claim is about to be deleted, because an owner of it does not exist."""
    owners = [owner["uid"] for owner in items(claim, "metadata", "ownerReferences")]
    return any(world.store.by_uid(uid) is None for uid in owners)
