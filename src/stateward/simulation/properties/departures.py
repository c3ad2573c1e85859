"""The rules for a departure: other members serve in its place, and it has no vote and no single copy.

This is the property "an edit never lowers the serving members or the copies further than the user allowed": only a
release removes a member permanently, and the user allows it with a smaller `replicas`, or for one member with
`update.surge: Preferred`.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from stateward.api.values import names
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.cluster.budgets import ready
from stateward.simulation.properties.operator_knowledge import DatabaseKnowledge
from stateward.simulation.world.world import World

SETS, PODS, CLAIMS = "apps/statefulsets", "/pods", "/persistentvolumeclaims"


@dataclass(frozen=True, slots=True)
class Departure:
    """A released member, and the operator's knowledge of its cluster."""

    world: World
    workload: Stored
    cluster: Key
    read_at: float
    """The time of the operator's live read."""
    knowledge: DatabaseKnowledge | None
    """The database as the operator last read it, if ever."""
    spec: Doc
    served: Collection[str]
    """UIDs of the StatefulSets whose pods were ever ready."""

    @property
    def member(self) -> str:
        """Its name."""
        return self.workload.labels.get(names.LABEL_MEMBER, "")

    def stopped(self, member: str) -> bool:
        """Return whether the user keeps a member's process stopped."""
        resource = self.world.store.get(self.world.clusters, self.cluster)
        asked = part(resource.doc, "metadata", "annotations") if resource is not None else {}
        return member in asked.get(names.ANNOTATION_STOPPED, "").split(",")

    @property
    def claim(self) -> Stored | None:
        """The claim of its volume."""
        key = self.workload.key
        return self.world.store.get(CLAIMS, Key(key.namespace, names.claim(key.name)))

    @property
    def pool(self) -> str:
        """The pool that it belongs to."""
        return self.workload.labels.get(names.LABEL_POOL, "")


def departure_problems(departure: Departure) -> Iterator[tuple[str, str]]:
    """Yield the violations, as the letter of the property and a clause."""
    # An earlier member of this name had a volume that is lost.
    if unused(departure):
        return
    yield from ((("d", shortage),) if (shortage := too_few(departure)) else ())
    held = still_held(departure) or missing_data(departure)
    if held:
        yield "b", f" while it has {held}"
    if departure.knowledge is not None and departure.member in departure.knowledge.voters:
        yield "c", " while it votes"


def unused(departure: Departure) -> bool:
    """Return whether no process ever ran on the member's current volume."""
    claim = departure.claim
    return claim is not None and not departure.world.used(claim.uid)


def still_held(departure: Departure) -> str:
    """Return the data that the departure would lose; fewer checks apply if the user requested no drain."""
    knowledge, member = departure.knowledge, departure.member
    if knowledge is None:
        return ""
    if member in part(departure.spec, "members").get("replaceWithoutDraining", ()):
        others = released_members(departure) & knowledge.nodes - {member}
        last = (shard for shard, holders in knowledge.holders.items() if member in holders <= others | {member})
        told = knowledge.tolerance is not None and member in knowledge.storing and len(others) >= knowledge.tolerance
        short = f"data that the database cannot lose, as {len(others)} others go and it can bear {knowledge.tolerance}"
        return next((f"the last started copy of {shard}" for shard in last), short if told else "")
    places = knowledge.data - knowledge.drained - {member}
    held = (shard for shard, nodes in knowledge.copies.items() if member in nodes)
    # If every other eligible member keeps a copy, the member's own copy has no other place.
    stay = {shard: nodes - knowledge.moving.get(shard, frozenset()) for shard, nodes in knowledge.holders.items()}
    return next((f"a copy of {shard}" for shard in held if not places or not places <= stay[shard]), "")


def missing_data(departure: Departure) -> str:
    """Return a shard on the member's volume of which the operator observed no started copy."""
    claim = departure.claim
    accepted = departure.member in part(departure.spec, "members").get("acceptDataLoss", ())
    if departure.knowledge is None or claim is None or accepted:
        return ""
    kept = departure.world.databases.kept(claim.uid)
    lost = (shard for shard, holders in departure.knowledge.holders.items() if not holders and shard in kept)
    return next((f"a copy of {shard}, which has no started one" for shard in lost), "")


def released_members(departure: Departure) -> frozenset[str]:
    """Return the released members of the cluster, whether or not their processes have ended."""
    mine = (s for s in departure.world.store.all(SETS) if s.labels.get(names.LABEL_CLUSTER) == departure.cluster.name)
    return frozenset(s.key.name for s in mine if s.doc["spec"].get("replicas", 1) == 0)


def too_few(departure: Departure) -> str:
    """Return a clause if too few other members would serve without this one.

    A member that does not serve may leave once the others have ever joined. A member that was never placed holds no
    data, and may leave before its replacement exists; so may one that has lost all that it had.
    """
    if departure.workload.uid not in departure.served or has_nothing(departure) or no_database_yet(departure):
        return ""
    spared = part(departure.spec, "update").get("surge") == "Preferred"
    mine = [p for p in items(departure.spec, "pools") if p["name"] == departure.pool]
    roles = {} if mine else roles_of(departure)
    of = [
        ([p for p in items(departure.spec, "pools") if r in p.get("roles", ())], members)
        for r, members in roles.items()
    ]
    for pools, of_role in [(mine, frozenset[str]())] if mine else of:
        wanted, names_ = sum(p["replicas"] for p in pools), {p["name"] for p in pools}
        there = others(departure, names_ | {departure.pool}, of_role)
        if there < wanted - spared:
            return f", and of {', '.join(sorted(names_))} only {there} of {wanted} members serve without it"
    return ""


def has_nothing(departure: Departure) -> bool:
    """Return whether a member had no volume and no placed pod at the operator's read, and was never in this database.

    It served in a database that was lost with all volumes, and another one was formed in its place.
    """
    world, namespace, knowledge = departure.world, departure.workload.key.namespace, departure.knowledge
    pod = world.store.past(PODS, Key(namespace, names.pod(departure.member)), departure.read_at)
    claim = world.store.past(CLAIMS, Key(namespace, names.claim(departure.member)), departure.read_at)
    placed = pod is not None and "nodeName" in pod.doc["spec"]
    known = knowledge is not None and departure.member in knowledge.seen
    return claim is None and not placed and not known


def no_database_yet(departure: Departure) -> bool:
    """Return whether FoundationDB has no database yet: processes are ready as soon as they listen, and none serves."""
    ensembles = departure.world.foundationdb.databases.values()
    created = any(each.cluster is not None and each.cluster.state.configuration for each in ensembles)
    return departure.world.product.kind is not departure.world.kind and not created


def roles_of(departure: Departure) -> dict[str, frozenset[str]]:
    """Return the roles of a member whose pool is removed, and all members with each role, from its database."""
    knowledge = departure.knowledge
    if knowledge is None or departure.world.product.kind is not departure.world.kind:
        return {}
    found = {"data": frozenset(knowledge.data), departure.world.product.manager: frozenset(knowledge.voting)}
    return {role: members for role, members in found.items() if departure.member in members}


def others(departure: Departure, pools: set[str], of_role: frozenset[str] = frozenset()) -> int:
    """Return how many other members serve, at the operator's read or now: those of these pools or of the role.

    If the member itself does not serve, members that have ever joined count as well: its departure is no loss.
    """
    store, count, idle = departure.world.store, 0, not served_at_read(departure)
    for stored in store.all(SETS):
        labels = stored.labels
        counted = labels.get(names.LABEL_POOL) in pools or labels.get(names.LABEL_MEMBER) in of_role
        if (
            labels.get(names.LABEL_CLUSTER) != departure.cluster.name
            or not counted
            or labels.get(names.LABEL_MEMBER) == departure.member
        ):
            continue
        before = store.past(SETS, stored.key, departure.read_at) or stored
        stop_requested = any(s.doc["spec"].get("replicas", 1) > 0 for s in (before, stored))
        known = serves(departure, stored.key) or (idle and has_joined(departure, stored))
        count += stop_requested and (known or departure.stopped(stored.key.name))
    return count


def has_joined(departure: Departure, workload: Stored) -> bool:
    """Return whether a member has ever joined: its pod was once ready, or the database once listed it.

    Its pod need not have been ready: a node that is away for Kubernetes reports no pod, and its process may join.
    """
    if workload.uid in departure.served:
        return True
    knowledge, name = departure.knowledge, workload.key.name
    if knowledge is None or name not in knowledge.seen:
        return False
    claim = departure.world.store.get(CLAIMS, Key(workload.key.namespace, names.claim(name)))
    return name in knowledge.nodes or (claim is not None and departure.world.used(claim.uid))


def served_at_read(departure: Departure) -> bool:
    """Return whether the member served at the operator's read: its pod was Ready, and its database listed it."""
    pod = departure.world.store.past(
        PODS, Key(departure.workload.key.namespace, names.pod(departure.member)), departure.read_at
    )
    unlisted = (
        departure.knowledge is not None
        and departure.knowledge.at >= departure.read_at
        and departure.member not in departure.knowledge.nodes
    )
    return pod is not None and ready(pod) and not unlisted


def serves(departure: Departure, member: Key) -> bool:
    """Return whether the pod of a member is ready, or was at the operator's read."""
    store, key = departure.world.store, Key(member.namespace, names.pod(member.name))
    pods = (store.get(PODS, key), store.past(PODS, key, departure.read_at))
    return any(pod is not None and ready(pod) for pod in pods)
