"""One run: the episodes of a seed on one cluster, one after the other, until the time is over."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from random import Random

from msgspec import Struct

from sandbox.errors import SandboxError
from stateward.kube.objects.errors import ApiError
from tests.chaos.clients import Clients
from tests.chaos.edits import Wanted, edited, first
from tests.chaos.faults import FAULTS, Aim, mount_clock
from tests.chaos.history import Broken, Operation, Verdict, judge, red_spells
from tests.chaos.one_zone import OneZone, healthy, in_one_zone
from tests.chaos.schedule import OF_DATA, Edit, Episode, Fault, Timed, destroys, episodes
from tests.chaos.world import NAME, PAUSE, ZONES, World, picked, wait
from tests.e2e.clusters import Database, condition, settled
from tests.e2e.secured import Client, DirectDatabase, client, ready

SETTLED_WITHIN = 1500.0
"""Seconds from the end of an episode's faults until the cluster must be healthy and have what is wanted."""
SPREAD_WITHIN = 120.0
"""Seconds from then until no shard has its copies in one zone alone."""


class Story(Struct):
    """What happened in one episode; times in seconds since the run began."""

    number: int
    began: float
    lines: list[str]
    settled_after: float = 0.0


class Outcome(Struct, frozen=True):
    """The result of a run."""

    seed: int
    secured: bool
    hours: float
    episodes: tuple[Story, ...]
    verdict: Verdict
    health: dict[str, int]
    """How often the database said each, once a second."""
    violations: tuple[str, ...]
    history: tuple[Operation, ...]
    final: dict[str, int | None] | None
    """What was read of each acknowledged key in the end; None if that failed."""


class Run:
    """The state of a run: what the user wants now, what the clients saw, and what was broken."""

    def __init__(self, world: World, seed: int, say: Callable[[str], None]) -> None:
        self._world, self._seed, self._say = world, seed, say
        self._wanted = first(secured=world.secured)
        self._stories: list[Story] = []
        self._violations: list[str] = []
        self._broken: list[Broken] = []

    async def play(self, hours: float) -> Outcome:
        """Form the cluster, and play episodes until the time is over; returns the judgement.

        Raises AssertionError if the cluster is not formed.
        """
        await mount_clock(self._world)
        await self._apply(self._wanted)
        await self._world.clusters.until(NAME, ready if self._world.secured else settled, seconds=900)
        async with door(self._world) as database:
            clients = Clients(database, Random(self._seed))  # noqa: S311 - which key comes next
            async with clients.at_work():
                await self._episodes(clients, time.monotonic() + hours * 3600)
            return await self._outcome(clients, hours)

    async def _episodes(self, clients: Clients, end: float) -> None:
        for episode in episodes(self._seed):
            if time.monotonic() > end or self._violations:
                return
            story = Story(episode.number, clients.now, [])
            self._stories.append(story)
            try:
                await self._episode(episode, story, clients)
            except ExceptionGroup as failed:
                # The history of the run is kept: it tells what had been seen until then.
                self._break(f"episode {episode.number} could not be carried out: {failed.exceptions!r}")

    async def _episode(self, episode: Episode, story: Story, clients: Clients) -> None:
        async def timed(fault: Timed) -> None:
            await wait(fault.at)
            zones = await order.strike(fault.fault) if fault.fault in OF_DATA else ZONES
            where = "" if len(zones) > 1 else f", in zone {min(zones)}, where a member restarts"
            self._note(story, clients, f"{fault.fault} for {fault.seconds:.0f} s{where}")
            begin = clients.now
            async with FAULTS[fault.fault](self._world, Aim(fault.seconds, fault.pick, zones)) as target:
                self._broken.append(Broken(story.number, f"{fault.fault} ({target})", begin, clients.now))
                self._note(story, clients, f"{fault.fault} ends: {target}")

        order = OneZone(self._world, clients)
        self._world.hit.clear()
        async with asyncio.TaskGroup() as group:
            for fault in episode.faults:
                if fault.fault is Fault.CERTIFICATE_EXPIRED and not self._world.secured:
                    self._note(story, clients, "no certificate expires: this cluster has none")
                else:
                    group.create_task(timed(fault))
            group.create_task(self._edit(episode, story, clients, order))
        began = clients.now
        await self._until_settled(story, clients)
        story.settled_after = clients.now - began
        self._note(story, clients, f"settled {story.settled_after:.0f} s after the last fault")

    async def _edit(self, episode: Episode, story: Story, clients: Clients, order: OneZone) -> None:
        if episode.edit is Edit.NONE:
            return
        await wait(episode.edit_at)
        if destroys(episode):
            await self._world.hit.wait()
        before, member = self._wanted, picked(await self._world.data_members(), episode.pick)
        await order.begin(episode.edit)
        self._note(story, clients, f"edit: {episode.edit}" + (f", {member}" if episode.edit is Edit.REPLACE else ""))
        await self._apply(edited(before, episode.edit, member))
        order.stored.set()
        if episode.edit is Edit.WRONG_VERSION:
            await wait(60)
            self._note(story, clients, "edit: the version of before")
            await self._apply(before)
        order.complete.set()

    async def _apply(self, wanted: Wanted) -> None:
        """Store a spec; a user tries again while the API server does not answer."""
        await self._world.answered(lambda: self._world.clusters.apply(NAME, **wanted.spec()))
        self._wanted = wanted

    async def _until_settled(self, story: Story, clients: Clients) -> None:
        try:
            for node in await self._world.nodes():
                await asyncio.to_thread(self._world.sandbox.wait_node, node, ready=True, seconds=240)
            done = await self._world.clusters.until(NAME, healthy, seconds=SETTLED_WITHIN)
        except (AssertionError, SandboxError) as error:
            self._break(f"episode {story.number} does not end: {error}")
            return
        if condition(done, "Stalled") == "True":
            self._break(f"episode {story.number}: Ready and Stalled at once")
        left = await self._world.answered(clients.database.left_behind)
        if left:
            self._break(f"episode {story.number}: settings are left in the database: {left}")
        if together := await self._together(clients):
            self._break(f"episode {story.number}: all copies are in one zone: {', '.join(together)}")

    async def _together(self, clients: Clients) -> list[str]:
        """Return the shards whose copies stay in one zone."""
        end = clients.now + SPREAD_WITHIN
        while True:
            rows = await self._world.answered(
                lambda: clients.database.ask("_cat/shards?format=json&h=index,shard,state,node")
            )
            if not (found := in_one_zone(rows)) or clients.now > end:
                return found
            await wait(PAUSE)

    async def _outcome(self, clients: Clients, hours: float) -> Outcome:
        final: dict[str, int | None] | None = None
        try:
            async with asyncio.timeout(120):
                final = await clients.final()
        except (ApiError, TimeoutError) as error:
            self._break(f"what was written cannot be read in the end: {error!r}")
        verdict = judge(clients.history, final)
        violations = (*self._violations, *red_spells(clients.red, self._broken), *verdict.violations)
        health = dict(clients.health)
        stories, history = tuple(self._stories), tuple(clients.history)
        return Outcome(self._seed, self._world.secured, hours, stories, verdict, health, violations, history, final)

    def _note(self, story: Story, clients: Clients, words: str) -> None:
        line = f"{clients.now:8.0f} s  {words}"
        story.lines.append(line)
        self._say(f"[{story.number}] {line}")

    def _break(self, words: str) -> None:
        self._violations.append(words)
        self._say(f"VIOLATION: {words}")


@asynccontextmanager
async def door(world: World) -> AsyncGenerator[Database]:
    """Give the database through a door of the sandbox, which stays open while the API server is off."""
    clusters = world.clusters
    if world.secured:
        async with client(world.sandbox, clusters, NAME) as person:
            yield DirectDatabase(clusters.api, clusters.namespace, NAME, person)
        return
    async with Client.plain(world.sandbox, f"{NAME}.{clusters.namespace}.svc") as person:
        yield DirectDatabase(clusters.api, clusters.namespace, NAME, person)
