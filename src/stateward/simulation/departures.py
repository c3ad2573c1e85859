"""What must hold when a member is let go: others are there, and it takes no vote and no only copy."""

from collections.abc import Iterator
from dataclasses import dataclass

from stateward.api import names
from stateward.kube.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.looks import Look
from stateward.simulation.world import World

SETS, CLAIMS = "apps/statefulsets", "/persistentvolumeclaims"


@dataclass(frozen=True, slots=True)
class Departure:
    """A member that is let go, and what the operator could know of its cluster."""

    world: World
    workload: Stored
    cluster: Key
    read_at: float
    """When it read from the API server."""
    look: Look | None
    """The database as it saw it last, if ever."""
    spec: Doc
    served: bool
    """Whether the member's pod was ever ready."""

    @property
    def member(self) -> str:
        """Its name."""
        return self.workload.labels.get(names.LABEL_MEMBER, "")

    @property
    def pool(self) -> str:
        """The pool that it belongs to."""
        return self.workload.labels.get(names.LABEL_POOL, "")


def judge(going: Departure) -> Iterator[tuple[str, str]]:
    """Yield what must not be, as the letter of its property and a clause."""
    # Whoever served, held data or voted under its name did so on a volume that is lost.
    if unused(going):
        return
    wanted = next((p["replicas"] for p in items(going.spec, "pools") if p["name"] == going.pool), 0)
    # One that never found a place holds nothing and serves nobody: it may go before another one is there.
    if going.served and staying(going) < wanted:
        yield "d", f", and pool {going.pool} has fewer members than the {wanted} it asks for"
    held = still_held(going)
    if held:
        yield "b", f" while it has {held}"
    if going.look is not None and going.member in going.look.voters:
        yield "c", " while it votes"


def unused(going: Departure) -> bool:
    """Return whether no process ever ran on the volume that the member has now."""
    workload = going.workload.key
    claim = going.world.store.get(CLAIMS, Key(workload.namespace, names.claim(workload.name)))
    return claim is not None and not going.world.used(claim.uid)


def still_held(going: Departure) -> str:
    """Return what the member must not take with it: less where a person says that it need not be drained."""
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
    # With a copy that stays on every other member that may have one, the member's own has nowhere to go.
    stay = {shard: nodes - look.moving.get(shard, frozenset()) for shard, nodes in look.holders.items()}
    return next((f"a copy of {shard}" for shard in held if not places or not places <= stay[shard]), "")


def let_go(going: Departure) -> frozenset[str]:
    """Return the members of the cluster that were told to go, whether or not their processes have ended."""
    mine = (s for s in going.world.store.all(SETS) if s.labels.get(names.LABEL_CLUSTER) == going.cluster.name)
    return frozenset(s.key.name for s in mine if s.doc["spec"].get("replicas", 1) == 0)


def staying(going: Departure) -> int:
    """Return how many other members of its pool were meant to run, when the operator read or now."""
    store, count = going.world.store, 0
    for stored in store.all(SETS):
        labels = stored.labels
        same = labels.get(names.LABEL_CLUSTER) == going.cluster.name and labels.get(names.LABEL_POOL) == going.pool
        if not same or labels.get(names.LABEL_MEMBER) == going.member:
            continue
        before = store.past(SETS, stored.key, going.read_at) or stored
        count += any(s.doc["spec"].get("replicas", 1) > 0 for s in (before, stored))
    return count
