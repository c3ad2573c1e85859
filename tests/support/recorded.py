"""A sequence of steps on a database, its state after each step, and a player for real databases and models.

The same steps run on a real database and on its model, through the same API and the same driver.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec import Struct

from stateward.engines.connection.base import Call, Engine, EngineError, Target, Transport
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resources import PODS, STATEFUL_SETS
from stateward.planning.model.observation import Allocation, Copy, CopyState, Database, Unit, Unknown

AWAY = "(away)"
"""A voter that is not in the cluster: only its id is known, and that is another one in every run."""
DEADLINE = 300.0
"""Seconds that one step may take."""


class Step(Struct, frozen=True, omit_defaults=True):
    """One thing that is done. `who` may be `@leader`, or `@voter` for a manager that votes and does not lead."""

    does: str
    who: str = ""
    what: str = ""
    replicas: int = 0
    calm: float = 8.0
    """Seconds for which nothing may change before the picture counts as what came of the step."""


class Picture(Struct, frozen=True, omit_defaults=True):
    """The state that the driver reads, in short form; copies are `p|r STATE member why`."""

    health: str
    leader: str
    nodes: dict[str, str]
    voters: tuple[str, ...]
    shards: dict[str, tuple[str, ...]]
    excluded: tuple[str, ...] = ()
    draining: tuple[str, ...] = ()
    allocation: str = "all"

    @property
    def moving(self) -> bool:
        """Whether copies are recovering or relocating."""
        return any(word in copy for copies in self.shards.values() for copy in copies for word in (" init", " reloc"))


class Scene(Struct, frozen=True):
    """A step, with names in place of what it said in general, and what came of it; None is no answer."""

    step: Step
    picture: Picture | None


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a sequence is played: one cluster, and who answers for it. The operator does not run meanwhile."""

    api: Api
    engine: Engine
    transport: Transport
    where: "Where"
    cluster: Key
    identity: str = ""

    async def target(self) -> Target:
        """Return the members that may be asked now."""
        endpoints = await self.where.endpoints()
        return Target(endpoints, f"{self.cluster.namespace}.{self.cluster.name}", self.identity)

    async def look(self) -> Picture | None:
        """Return what the driver sees; None without an answer."""
        found = await self.engine.observe(await self.target())
        return None if isinstance(found, Unknown) else picture(found, self.cluster.name)

    def key(self, member: str) -> Key:
        """Return where a member's StatefulSet is."""
        return Key(self.cluster.namespace, f"{self.cluster.name}-{member}")

    async def pod(self, member: str) -> Pod:
        """Return a member's pod."""
        return await self.api.get(PODS, Key(self.cluster.namespace, f"{self.cluster.name}-{member}-0"))


class Where(Protocol):
    """How the database is reached."""

    async def endpoints(self) -> tuple[str, ...]:
        """Return the base URLs of the members that can be asked."""
        ...


def picture(found: Database, cluster: str) -> Picture:
    """Return a database's answer in short words."""
    short = {name: name.removeprefix(f"{cluster}-") for name in found.nodes}
    units = [unit for unit in found.units if not unit.name.startswith(".")]
    return Picture(
        health=found.health.value,
        leader=short.get(found.leader, ""),
        nodes={short[n.name]: f"{n.version} {'data' if n.data else 'voting'}" for n in found.nodes.values()},
        voters=tuple(sorted(short.get(voter, AWAY) for voter in found.voters)),
        shards={unit.name: tuple(sorted(copy_words(unit, copy, short) for copy in unit.copies)) for unit in units},
        excluded=tuple(sorted(name.removeprefix(f"{cluster}-") for name in found.voting_exclusions)),
        draining=tuple(sorted(name.removeprefix(f"{cluster}-") for name in found.draining)),
        allocation=found.allocation.value,
    )


def copy_words(unit: Unit, copy: Copy, short: dict[str, str]) -> str:
    """Return where a copy stands."""
    role = "p" if copy.primary else "r"
    if copy.state is CopyState.UNASSIGNED:
        # The text after it is the database's own explanation, and another one in every version.
        why = copy.why.partition(";")[0].partition(":")[0]
        return f"{role} unassigned {why}{' held' if copy.held else ''}"
    state = {CopyState.STARTED: "started", CopyState.INITIALIZING: "init", CopyState.RELOCATING: "reloc"}[copy.state]
    stale = "" if copy.in_sync or copy.state is CopyState.INITIALIZING else " stale"
    return f"{role} {state} {short.get(copy.member, AWAY)}{stale}"


async def play(ground: Ground, steps: Sequence[Step]) -> AsyncGenerator[Scene]:
    """Play steps one after the other; yield what comes of each."""
    seen = await ground.look()
    for general in steps:
        step = msgspec.structs.replace(general, who=named(general.who, seen))
        async with asyncio.timeout(DEADLINE):
            await do(ground, step)
            seen = await settled(ground, step)
        yield Scene(step, seen)


def named(who: str, seen: Picture | None) -> str:
    """Return the member that is meant."""
    if not who.startswith("@"):
        return who
    assert seen is not None
    if who == "@leader":
        return seen.leader
    return next(voter for voter in seen.voters if voter not in (seen.leader, AWAY))


async def do(ground: Ground, step: Step) -> None:
    """Do what a step says."""
    target = await ground.target()
    member = frozenset({f"{ground.cluster.name}-{step.who}"} if step.who else ())
    match step.does:
        case "stop":
            await scale(ground, step.who, 0)
        case "start":
            await scale(ground, step.who, 1)
        case "upgrade":
            await another_image(ground, step.who, step.what)
        case "create":
            await create_index(ground, step)
        case "drain":
            await ground.engine.drain(target, member)
        case "take the vote":
            await ground.engine.exclude_voters(target, member)
        case "limit":
            await ground.engine.limit_allocation(target, Allocation.PRIMARIES)
        case "restore":
            await ground.engine.restore_allocation(target)
        case _:
            assert step.does == "wait", step.does


async def scale(ground: Ground, member: str, replicas: int) -> None:
    await ground.api.patch(STATEFUL_SETS, ground.key(member), {"spec": {"replicas": replicas}}, kind=PatchKind.MERGE)


async def another_image(ground: Ground, member: str, version: str) -> None:
    """Change the version that a stopped member's next pod runs."""
    workload = await ground.api.get(STATEFUL_SETS, ground.key(member))
    containers = workload.spec.template.spec.containers
    at = next(i for i, container in enumerate(containers) if "search:" in container.image)
    image = containers[at].image.rpartition(":")[0] + f":{version}"
    change = [{"op": "replace", "path": f"/spec/template/spec/containers/{at}/image", "value": image}]
    await ground.api.patch(STATEFUL_SETS, ground.key(member), change, kind=PatchKind.JSON)


async def create_index(ground: Ground, step: Step) -> None:
    """Create an index of one shard; with `who`, its first copy goes there, and nothing is asked of later ones."""
    only = f"{ground.cluster.name}-{step.who}" if step.who else None
    place = "index.routing.allocation.include._name"
    settings = {"index.number_of_shards": 1, "index.number_of_replicas": step.replicas, place: only}
    await send(ground, f"/{step.what}", {"settings": settings}, {"wait_for_active_shards": "1", "timeout": "30s"})
    if only is not None:
        await send(ground, f"/{step.what}/_settings", {place: None}, {})


async def send(ground: Ground, path: str, body: dict[str, object], params: dict[str, str]) -> None:
    target = await ground.target()
    answer = await ground.transport.send(Call(target.endpoints[0], "PUT", path, params, body, 30.0))
    if answer.status >= 400:
        raise EngineError(answer.body.decode())


async def settled(ground: Ground, step: Step) -> Picture | None:
    """Return what is seen once a step has come to its end and nothing has changed for a while."""
    seen, since = await ground.look(), asyncio.get_running_loop().time()
    while True:
        await asyncio.sleep(1.0)
        now, found = asyncio.get_running_loop().time(), await ground.look()
        if found != seen:
            seen, since = found, now
        still = now - since >= step.calm and (seen is None or not seen.moving)
        if still and arrived(step, seen):
            return seen


def arrived(step: Step, seen: Picture | None) -> bool:
    """Return whether the picture is one after the step, and not still the one before it."""
    if step.does == "start" and step.what != "silent":
        return seen is not None and step.who in seen.nodes
    if step.does == "stop":
        return seen is None if step.what == "silent" else seen is not None and step.who not in seen.nodes
    return seen is not None or step.what == "silent"
