"""What happens to clusters in use: tainted nodes, full disks, load, volumes cleaned up, clients of the database."""

from collections.abc import Mapping
from random import Random

from stateward.planning.model import observation as o
from tests.unit.planning.pools import GIB
from tests.unit.planning.search.disks import DiskWorld, in_pod
from tests.unit.planning.search.edits import Edit, EditOfPools, Pools, User
from tests.unit.planning.search.faults import Fault, client_drains, client_excludes, client_limits, some_with_pods
from tests.unit.planning.search.pools import changed
from tests.unit.planning.world_objects import Body

TAINT = "maintenance"
"""The taint from which members are replaced where the user wants it."""
LARGEST = 80 * GIB
"""The size up to which volumes grow."""


def replace_by_itself(user: User) -> None:
    """Let members be replaced that are missing or on tainted nodes: one or several, perhaps all of a zone together."""
    r = user.random
    user.ask(
        enabled=r.random() < 0.85,
        after=r.choice([60.0, 300.0]),
        max_concurrent=r.choice([1, 2, 5]),
        per_zone=r.random() < 0.5,
        taints=r.choice([{}, {TAINT: 0.0}, {TAINT: 60.0}]),
        max_tainted=r.choice([1, 1, 3]),
    )


def accept_losses(user: User) -> None:
    """Accept the loss of what single members hold, where losses are accepted, and perhaps replace them undrained."""
    if not user.accepts_losses:
        return
    user.world.lossy = True
    named = user.some(2)
    undrained = named if user.random.random() < 0.5 else user.replacement.undrained
    user.ask(accepted=user.replacement.accepted | named, undrained=undrained)


def clean_up(user: User) -> None:
    """Delete kept volumes of members that are gone: those without anything that the database needs."""
    world = user.world
    gone = [b for b in world.bodies.values() if b.workload is None and b.pod is None and b.claim is not None]
    for body in gone if world.identity else ():
        needed = body.name in world.voters or any(index.current <= {body.name} for index in world.indices)
        if not needed and user.random.random() < 0.7:
            world.lose_claim(body)


def let_grow(user: User, pools: Pools, i: int) -> None:
    """Let the volumes of a pool grow when they are full, or no longer."""
    growth = user.random.choice([None, o.Growth(80, 50, LARGEST), o.Growth(70, 25, 15 * GIB)])
    pools[i] = changed(pools[i], growth=None if pools[i].ephemeral else growth)


def let_scale(user: User, pools: Pools, i: int) -> None:
    """Let the number of a pool's members follow the load, or what a PoolScale asks for, or neither any longer."""
    if pools[i].voting:
        return
    rules = user.random.choice([(o.ScalingRule(o.Measure.CPU, above=60, below=30),), ()])
    scaling = o.Scaling(1, user.random.choice([3, 4]), rules, grow_after=60.0, shrink_after=120.0)
    pools[i] = changed(pools[i], scaling=user.random.choice([None, scaling, scaling]))


def set_load(user: User) -> None:
    """Give the processors of a pool more or less to do, and let its PoolScale ask for another number of members."""
    name = user.random.choice(user.pools).name
    user.world.asked = {**(user.world.asked or {}), name: o.Asked(user.random.randint(0, 5), "web")}
    user.world.work = {**user.world.work, name: user.random.choice([20.0, 90.0, 150.0, 250.0])}


def taint_nodes(world: DiskWorld, random: Random, body: Body) -> None:
    """Taint the node of a member, or those of its zone, or of several."""
    names = random.choice([{body.name}, {body.name}, some_with_pods(world, random), zone_of(world, body)])
    for name in names:
        pod = world.bodies[name].pod
        if pod is not None and pod.node:
            world.taints[pod.node] = [TAINT]


def zone_of(world: DiskWorld, body: Body) -> set[str]:
    """Return the members in the zone of a member."""
    zones = world.zones or 3
    return {name for name, other in world.bodies.items() if other.ordinal % zones == body.ordinal % zones}


def fill_disks(world: DiskWorld, random: Random, body: Body) -> None:
    """Let the disks of some members of a pool be full, or nearly empty."""
    share = random.choice([20, 75, 90, 97])
    for other in world.bodies.values():
        claim = other.claim
        if other.pool == body.pool and claim is not None and claim.capacity and random.random() < 0.8:
            world.used[other.name] = claim.capacity * 97 // 100 * share // 100


def client_sets(world: DiskWorld, random: Random, _: Body) -> None:
    """Let another client set several things at once: drains, votes taken away, a limit of the allocation."""
    names = sorted(some_with_pods(world, random))
    for kind in random.sample([client_drains, client_excludes, client_limits], 2):
        for name in names[: random.randint(1, 2)]:
            kind(world, random, world.bodies[name])


def lose_machine(world: DiskWorld, _: Random, body: Body) -> None:
    """Cut another node off, beside those that are."""
    if body.pod is not None and body.pod.node and not (in_pod(body.pod) and body.pod.data):
        world.dead_nodes = {*world.dead_nodes, body.pod.node}


EDITS_OF_POOLS_IN_USE: Mapping[str, EditOfPools] = {"growth": let_grow, "scaling": let_scale}
EDITS_IN_USE: Mapping[str, Edit] = {
    "replaced by itself": replace_by_itself,
    "losses accepted": accept_losses,
    "volumes cleaned up": clean_up,
    "load": set_load,
}
FAULTS_IN_USE: Mapping[str, Fault] = {
    "tainted": taint_nodes,
    "full disks": fill_disks,
    "client sets several": client_sets,
    "machine lost": lose_machine,
}
