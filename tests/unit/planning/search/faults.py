"""What fails: pods, containers, nodes, agents, volumes, caches, whole clusters. What can end is ended by `heal`."""

from collections.abc import Callable, Mapping
from random import Random

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.model import observation as o
from tests.unit.planning.search.disks import DiskWorld, in_pod
from tests.unit.planning.world_objects import Body

Fault = Callable[[DiskWorld, Random, Body], object]
"""Lets something fail that concerns a member."""


def fail(world: DiskWorld, random: Random, kind: str, make: Fault) -> str:
    """Let something of this kind fail that concerns one member with a pod; return what."""
    names = sorted(name for name, body in world.bodies.items() if body.pod is not None)
    if not names:
        return ""
    name = random.choice(names)
    make(world, random, world.bodies[name])
    return f"fault {kind} {name}"


def heal(world: DiskWorld) -> None:
    """End all that can end by itself."""
    world.edit(unschedulable=set(), answers=True, stuck=set(), settled_writes=True, mute=set(), dead_nodes=set())
    world.edit(propagation=0.0, stumbling=set(), lag=0, may_form=True, slots=None, taints={})


def keeps_data(body: Body) -> bool:
    """Return whether a member's data stays when its pod goes."""
    return body.pod is not None and not in_pod(body.pod)


def evict(world: DiskWorld, _: Random, body: Body) -> None:
    if keeps_data(body):
        world.kill(body.name)


def leave_no_place(world: DiskWorld, random: Random, body: Body) -> None:
    world.unschedulable = {body.name}
    evict(world, random, body)


def lose_node(world: DiskWorld, _: Random, body: Body) -> None:
    if body.pod is not None and body.pod.node and keeps_data(body):
        world.dead_nodes = {body.pod.node}


def scale_to_zero(_: DiskWorld, __: Random, body: Body) -> None:
    if body.workload is not None and keeps_data(body):
        body.workload.replicas = 0


def delete_workload(_: DiskWorld, __: Random, body: Body) -> None:
    if body.workload is not None and body.pod is not None and keeps_data(body):
        body.workload = None
        body.pod.terminating, body.pod.ready = True, False


def delete_claim(world: DiskWorld, _: Random, body: Body) -> None:
    """Delete a claim by hand, which ends when no pod uses it; one with data only where losses are accepted."""
    if body.claim is None or body.pod is None:
        return
    if world.accepts_losses or not world.disk(body.name).identity:
        world.ending_claims.add(body.name)
        body.pod.terminating, body.pod.ready = True, False


def lose_volume(world: DiskWorld, _: Random, body: Body) -> None:
    """Lose a member's pod and volume by force; only where losses are accepted."""
    if world.accepts_losses:
        lose(world, body)


def lose_all(world: DiskWorld, random: Random, _: Body) -> None:
    lose_managers(world, 1.0, random)


def lose_most(world: DiskWorld, random: Random, _: Body) -> None:
    lose_managers(world, 0.9, random)


def lose_managers(world: DiskWorld, share: float, random: Random) -> None:
    for body in list(world.bodies.values()) if world.accepts_losses else ():
        voting = body.pod is not None and body.pod.voting
        marked = body.claim is not None and body.claim.state
        if (voting or marked or body.name in world.voters) and random.random() < share:
            lose(world, body)


def lose(world: DiskWorld, body: Body) -> None:
    """Take a member's pod and volume away at once."""
    body.pod = body.claim = None
    world.wipe(body)


def create_again(world: DiskWorld, random: Random, _: Body) -> None:
    """Delete the cluster resource, and create it again on the kept volumes."""
    pods = [body.pod for body in world.bodies.values() if body.pod is not None]
    if any(in_pod(pod) and pod.data for pod in pods):
        world.lossy = True
    slow = random.random() < 0.4
    for body in list(world.bodies.values()):
        pod, own = body.pod, body.pod is not None and in_pod(body.pod)
        body.workload = body.config = None
        if pod is not None and slow and pod.node:
            pod.terminating, pod.ready = True, False
        else:
            body.pod = None
        if own:
            world.wipe(body)
        if body.claim is not None:
            body.claim.earlier = True
    world.status = ClusterStatus()
    world.uid = f"{world.uid}-again"
    world.edit(bootstrap_again=False, schedule=None, kept_stopped=frozenset())
    world.past.clear()


def restart_container(world: DiskWorld, _: Random, body: Body) -> None:
    world.restart_container(body.name)


def lose_zone(world: DiskWorld, _: Random, body: Body) -> None:
    """Cut the nodes of a zone off, or of one member in three if there are no zones."""
    zones = world.zones or 3
    world.dead_nodes = {
        other.pod.node
        for other in world.bodies.values()
        if other.pod is not None and other.pod.node and other.ordinal % zones == body.ordinal % zones
        if not (in_pod(other.pod) and other.pod.data)
    }


def some_with_pods(world: DiskWorld, random: Random) -> set[str]:
    """Return at least two members with pods, if there are two."""
    names = sorted(name for name, body in world.bodies.items() if body.pod is not None)
    return set(random.sample(names, random.randint(min(2, len(names)), len(names))))


def client_excludes(world: DiskWorld, _: Random, body: Body) -> None:
    """Let another client take the vote of a member away, if the database has a manager that can.

    Not that of the last manager that can be elected: once it is down, nothing brings such a database back.
    """
    if world.available and world.candidates() - world.exclusions - {body.name}:
        world.exclusions |= {body.name}


def client_drains(world: DiskWorld, _: Random, body: Body) -> None:
    """Let another client of the database move the data of a member away."""
    world.draining |= {body.name}


def client_limits(world: DiskWorld, _: Random, __: Body) -> None:
    """Let another client of the database limit where copies may be placed."""
    world.edit(allocation=o.Allocation.PRIMARIES, limited=True)


FAULTS: Mapping[str, Fault] = {
    "evict": evict,
    "no place": leave_no_place,
    "silence": lambda world, _, __: world.edit(answers=False),
    "stuck": lambda world, _, body: world.edit(stuck={body.name}),
    "writes not seen": lambda world, _, __: world.edit(settled_writes=False),
    "old caches": lambda world, random, _: world.edit(lag=random.randint(1, 3)),
    "scaled to zero": scale_to_zero,
    "StatefulSet deleted": delete_workload,
    "claim deleted": delete_claim,
    "node lost": lose_node,
    "container": restart_container,
    "crashes": lambda world, _, body: world.edit(stumbling={body.name}),
    "does not form": lambda world, _, __: world.edit(may_form=False),
    "mute agent": lambda world, _, body: world.edit(mute={body.name}),
    "late configuration": lambda world, random, _: world.edit(propagation=random.choice([0.0, 30.0, 120.0])),
    "created again": create_again,
    "volume lost": lose_volume,
    "all managers lost": lose_all,
    "most managers lost": lose_most,
}
SEVERAL: Mapping[str, Fault] = {
    "mute agents": lambda world, random, _: world.edit(mute=some_with_pods(world, random)),
    "several stuck": lambda world, random, _: world.edit(stuck=some_with_pods(world, random)),
    "zone lost": lose_zone,
    "no slots": lambda world, _, __: world.edit(slots=0),
    "client drains": client_drains,
    "client excludes": client_excludes,
    "client limits": client_limits,
}
"""Faults of several members at once, and what another client of the database sets."""
