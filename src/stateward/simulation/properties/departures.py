"""The rules for a departure: others serve in the member's place, and it takes no vote and no only copy with it.

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
    """A released member, and what the operator could know of its cluster."""

    world: World
    workload: Stored
    cluster: Key
    read_at: float
    """When it read from the API server."""
    look: DatabaseKnowledge | None
    """The database as the operator read it last, if ever."""
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


def judge(going: Departure) -> Iterator[tuple[str, str]]:
    """Yield what must not be, as the letter of its property and a clause."""
    # A member that served, held data or voted under this name did so on a volume that is lost.
    if unused(going):
        return
    yield from ((("d", shortage),) if (shortage := too_few(going)) else ())
    held = still_held(going) or missing_data(going)
    if held:
        yield "b", f" while it has {held}"
    if going.look is not None and going.member in going.look.voters:
        yield "c", " while it votes"


def unused(going: Departure) -> bool:
    """Return whether no process ever ran on the member's current volume."""
    claim = going.claim
    return claim is not None and not going.world.used(claim.uid)


def still_held(going: Departure) -> str:
    """Return what the member must not take with it: less if the user says that it need not be drained."""
    look, member = going.look, going.member
    if look is None:
        return ""
    if member in part(going.spec, "members").get("replaceWithoutDraining", ()):
        others = let_go(going) & look.nodes - {member}
        last = (shard for shard, holders in look.holders.items() if member in holders <= others | {member})
        told = look.tolerance is not None and member in look.nodes and len(others) >= look.tolerance
        short = f"data that the database cannot lose, as {len(others)} others go and it can bear {look.tolerance}"
        return next((f"the last started copy of {shard}" for shard in last), short if told else "")
    places = look.data - look.drained - {member}
    held = (shard for shard, nodes in look.copies.items() if member in nodes)
    # If every other eligible member has a copy that stays, the member's own copy has no other place.
    stay = {shard: nodes - look.moving.get(shard, frozenset()) for shard, nodes in look.holders.items()}
    return next((f"a copy of {shard}" for shard in held if not places or not places <= stay[shard]), "")


def missing_data(going: Departure) -> str:
    """Return the shard that the operator saw without any started copy, and that the member's volume has."""
    claim = going.claim
    accepted = going.member in part(going.spec, "members").get("acceptDataLoss", ())
    if going.look is None or claim is None or accepted:
        return ""
    kept = going.world.databases.kept(claim.uid)
    lost = (shard for shard, holders in going.look.holders.items() if not holders and shard in kept)
    return next((f"a copy of {shard}, which has no started one" for shard in lost), "")


def let_go(going: Departure) -> frozenset[str]:
    """Return the released members of the cluster, whether or not their processes have ended."""
    mine = (s for s in going.world.store.all(SETS) if s.labels.get(names.LABEL_CLUSTER) == going.cluster.name)
    return frozenset(s.key.name for s in mine if s.doc["spec"].get("replicas", 1) == 0)


def too_few(going: Departure) -> str:
    """Return that too few others would serve without the member, as a clause.

    One that does not serve may go when the others have joined at some time. One that never found a place holds nothing,
    and may go before another one is there.
    """
    if going.workload.uid not in going.served:
        return ""
    spared = part(going.spec, "update").get("surge") == "Preferred"
    mine = [p for p in items(going.spec, "pools") if p["name"] == going.pool]
    roles = {} if mine else roles_of(going)
    of = [([p for p in items(going.spec, "pools") if r in p.get("roles", ())], members) for r, members in roles.items()]
    for pools, of_role in [(mine, frozenset[str]())] if mine else of:
        wanted, names_ = sum(p["replicas"] for p in pools), {p["name"] for p in pools}
        there = others(going, names_ | {going.pool}, of_role)
        if there < wanted - spared:
            return f", and of {', '.join(sorted(names_))} only {there} of {wanted} members serve without it"
    return ""


def roles_of(going: Departure) -> dict[str, frozenset[str]]:
    """Return the roles of a member whose pool is removed, and all members with each role, from its database."""
    look = going.look
    if look is None or going.world.product.kind is not going.world.kind:
        return {}
    found = {"data": frozenset(look.data), going.world.product.manager: frozenset(look.voting)}
    return {role: members for role, members in found.items() if going.member in members}


def others(going: Departure, pools: set[str], of_role: frozenset[str] = frozenset()) -> int:
    """Return how many other members serve, at the operator's read or now: those of these pools or of the role.

    If the member itself does not serve, members that have ever joined count as well: its departure is no loss.
    """
    store, count, idle = going.world.store, 0, not rendered_steps(going)
    for stored in store.all(SETS):
        labels = stored.labels
        counted = labels.get(names.LABEL_POOL) in pools or labels.get(names.LABEL_MEMBER) in of_role
        if (
            labels.get(names.LABEL_CLUSTER) != going.cluster.name
            or not counted
            or labels.get(names.LABEL_MEMBER) == going.member
        ):
            continue
        before = store.past(SETS, stored.key, going.read_at) or stored
        meant = any(s.doc["spec"].get("replicas", 1) > 0 for s in (before, stored))
        joined = going.look is not None and stored.key.name in going.look.nodes
        known = serves(going, stored.key) or (idle and (joined or stored.uid in going.served))
        count += meant and (known or going.stopped(stored.key.name))
    return count


def rendered_steps(going: Departure) -> bool:
    """Return whether the member served at the operator's read: its pod was Ready, and its database listed it."""
    pod = going.world.store.past(PODS, Key(going.workload.key.namespace, names.pod(going.member)), going.read_at)
    unlisted = going.look is not None and going.look.at >= going.read_at and going.member not in going.look.nodes
    return pod is not None and ready(pod) and not unlisted


def serves(going: Departure, member: Key) -> bool:
    """Return whether the pod of a member is ready, or was at the operator's read."""
    store, key = going.world.store, Key(member.namespace, names.pod(member.name))
    pods = (store.get(PODS, key), store.past(PODS, key, going.read_at))
    return any(pod is not None and ready(pod) for pod in pods)
