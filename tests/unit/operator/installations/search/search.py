"""One search: an installation, some edits and faults, the end of all faults, and users who follow the advice."""

import asyncio
import traceback
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random
from typing import Any
from unittest.mock import patch

import structlog.testing

from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import ApiError, Status, error_for
from stateward.kube.timing.virtual_time import VirtualClock, VirtualTimeLoop
from stateward.operator.restarts.control import RestartControl, Setting
from stateward.simulation.apiserver.network import Network, Rates
from tests.support.background import at_work
from tests.unit.operator.installations.search import checks
from tests.unit.operator.installations.search.users import EDITS, FAULTS, RIVAL, User, owned
from tests.unit.operator.installations.world import HOME, World

PATIENCE = 8000
"""Seconds until the installation must be ready after the last fault."""
QUIET = 2000
"""Seconds without a write that show that nothing is left to do."""
OFTEN = ("values", "values", "request", "object edited")
"""Edits and faults that occur more often, once more for each time that they are here."""
THEIRS = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "theirs", "annotations": {"stateward.dev/restart-on-change": "true"}},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "theirs"}},
        "template": {
            "metadata": {"labels": {"app": "theirs"}},
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "image": "x",
                        "envFrom": [{"configMapRef": {"name": "c0"}}, {"secretRef": {"name": "s0"}}],
                    }
                ]
            },
        },
    },
}
"""A workload of others under restart control, which uses data of the package."""


class RefusingNetwork(Network):
    """A network in which some requests are refused as conflicts, or because rights are missing for a while."""

    def refuse(self) -> ApiError | None:
        if self.rng.random() < self.rates.error / 2:
            code, reason = self.rng.choice(((409, "Conflict"), (403, "Forbidden"), (401, "Unauthorized")))
            return error_for(Status(kind="Status", code=code, reason=reason, message="no"))
        return super().refuse()


@asynccontextmanager
async def operators(world: World, api: Any = None) -> AsyncGenerator[None]:
    """Have the controllers of installations and of restarts at work."""
    clock, rng = VirtualClock(), world.context.stream("restarts")
    recorder = EventRecorder(api or world.api, "stateward.dev/test", "restarts", clock=clock, rng=rng)
    restarts = RestartControl(Setting(api or world.api, recorder, clock, "stateward", rng=rng))
    async with world.operator(api), at_work(recorder.run(), restarts.run()):
        yield


class Search:
    """One search, made from one number."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - nothing here is secret
        self.story: list[str] = []
        self.world = World()
        self.user = User(self.world, self.random, self.note)
        self.truth = checks.Truth(self.world, self.user)

    def note(self, text: str) -> None:
        self.story.append(f"{self.world.context.now:9.1f} {text}")

    async def run(self) -> None:
        """Run the search; raises AssertionError if a promise is broken, or the installation does not become ready."""
        if self.random.random() < 0.5:
            self.world.server.create("apps/deployments", HOME, THEIRS, "another")
        self.user.ask()
        for _ in range(self.random.randint(1, 4)):
            await self.unrest()
        await self.settle()
        await self.compare()
        await self.edit_once_more()
        await self.request_once_more()
        await self.remove()
        assert not self.truth.lies, self.truth.lies[:3]

    def stream(self) -> Random:
        """Return another source of random numbers."""
        return Random(self.random.random())  # noqa: S311 - nothing here is secret

    def mortal(self, most: int, probability: float) -> Any:
        """Return a client that fails and is late, and often dies after some writes."""
        random = self.random
        way = RefusingNetwork(self.stream(), self.world.context.count)
        left = random.randint(1, most) if random.random() < probability else PATIENCE
        if random.random() < probability:
            rate, breaks = random.choice([0, 0.05, 0.2]), random.choice([(0.0, 0.0), (5.0, 60.0)])
            way.rates = Rates(rate, lost=random.choice([0, rate]), slow=rate / 10, stream=breaks)
            way.rates.lag, way.rates.stale = random.choice([0, 0, 1, 5]), random.choice([0, 0, 5, 30])

        def wrote(_verb: str, kind: str) -> None:
            nonlocal left
            left -= kind != "events.k8s.io/events"
            if left == 0:
                self.note("the operator dies")
                way.dead = True

        way.write_done = wrote
        return self.world.client(way)

    async def unrest(self) -> None:
        """Let edits and faults happen while an operator is at work, which may die; some happen while there is none."""
        async with operators(self.world, self.mortal(40, 0.6)):
            for _ in range(self.random.randint(1, 5)):
                await asyncio.sleep(self.random.choice([0.1, 0.5, 2, 5, 20, 100, 700]))
                self.disturb()
            await asyncio.sleep(self.random.choice([0.1, 1, 10, 60]))
        self.user.check_foreign()
        if self.random.random() < 0.3:
            self.disturb()

    def disturb(self) -> None:
        self.user.check_foreign()
        what = self.random.choice([*EDITS, *FAULTS, *OFTEN])
        (EDITS[what] if what in EDITS else FAULTS[what])(self.user)

    async def settle(self) -> None:
        """End all faults, and let users follow the advice until the installation is ready and nothing is left to do."""
        await asyncio.sleep(310)  # packages that were away are back
        self.note("the end of all faults")
        self.user.correct()
        if self.random.random() < 0.4:
            self.user.values = self.user.family.values()
        self.user.ask()
        async with operators(self.world):
            await self.until_ready()
            await asyncio.sleep(60)
            if self.world.status().get("removed") or self.user.lost:
                self.user.request("deploy")  # brings back what a requested plan has deleted, and edits without a key
            elif self.random.random() < 0.3:
                self.user.edit_object()
                self.user.delete_object()
            await asyncio.sleep(120)
            await self.until_ready()
            await asyncio.sleep(60)
            version = self.world.store.version
            await asyncio.sleep(QUIET)
            assert self.world.store.version == version, f"{self.world.store.version - version} writes without a reason"

    async def until_ready(self) -> None:
        end, get = self.world.context.now + PATIENCE, self.world.get
        while (
            get("Installation", RIVAL) or not get("Installation", "web") or not self.world.ready() or self.user.leaves
        ):
            assert self.world.context.now < end, f"never ready: {self.world.statuses()}"
            self.user.follow()
            await asyncio.sleep(30)

    async def compare(self) -> None:
        """Compare with a new installation of the same package and values."""
        fresh, user = World(), self.user
        fresh.written = self.world.written
        kept = self.world.status()["installed"].get("parameters", {})
        values = user.values | {k: v for k, v in kept.items() if k == user.family.immutable}
        for stored in self.world.store.all("stateward.dev/swpackages"):
            fresh.server.create(stored.kind, HOME, stored.doc | {"metadata": {"name": stored.key.name}})
        fresh.install(user.package, **values)
        async with operators(fresh):
            await fresh.until(fresh.ready, 3000)
            await asyncio.sleep(20)
        wrong = checks.difference(owned(fresh), owned(self.world))
        assert not wrong, f"not as a new installation: {wrong}"

    def objects(self) -> checks.Objects:
        found = {key: stored.doc for key, stored in owned(self.world).items()}
        theirs = self.world.get("Deployment", "theirs")
        return found | ({("Deployment", "theirs"): theirs} if theirs else {})

    async def edit_once_more(self) -> None:
        """Restart the operator, and change values while operators die: exactly what has to restart and run does."""
        before = self.objects()
        self.world.rollouts.clear()
        self.world.jobs.clear()
        async with operators(self.world):
            await asyncio.sleep(20)
        assert not self.world.rollouts | self.world.jobs, "a restart of the operator restarted pods or Jobs"
        was = self.user.values
        self.user.edit_values()
        async with operators(self.world, self.mortal(12, 0.5)):
            await asyncio.sleep(self.random.choice([1, 5, 20, 120]))
        async with operators(self.world):
            await asyncio.sleep(30)
            if self.world.condition("Stalled").get("reason") == "ParametersDisagree":
                self.user.values = was
                self.user.ask()
            await self.until_ready()
            await asyncio.sleep(60)
        checks.check_restarts(before, self.objects(), self.world.rollouts)
        checks.check_jobs(before, self.objects(), self.world.jobs)

    async def request_once_more(self) -> None:
        """Have the plan `backup` run while operators die: its Job runs once."""
        self.world.jobs.clear()
        async with operators(self.world, self.mortal(12, 0.7)):
            self.user.request("backup")
            await asyncio.sleep(self.random.choice([1, 5, 20, 120]))
        async with operators(self.world):
            await asyncio.sleep(5)
            await self.until_ready()
        run, expected = self.world.status()["run"], Counter({"j1": 1} if self.world.get("Job", "j1") else {})
        assert (run["plan"], run["stage"]) == ("backup", "Done"), run
        assert self.world.jobs == expected, f"the plan backup created {self.world.jobs}"

    async def remove(self) -> None:
        """Delete the installation while things fail: only volume claims are left, and objects of others."""
        if self.random.random() < 0.5:
            self.user.create_foreign()
        async with operators(self.world, self.mortal(15, 0.5)):
            await asyncio.sleep(self.random.choice([0, 5]))
            self.user.uninstall()
            await asyncio.sleep(self.random.choice([0.5, 5, 100]))
        async with operators(self.world):
            await self.world.until(lambda: self.world.get("Installation", "web") is None, 3000)
            await asyncio.sleep(10)
        self.user.check_foreign()
        stays = "PersistentVolumeClaim" if self.user.keeps else ""  # perhaps those of an earlier installation
        left = [key for key in owned(self.world) if key[0] != stays]
        assert not left, f"left after the deletion: {left}"


async def run(seed: int) -> tuple[list[str], Exception | None]:
    """Run one search; return its story and what went wrong."""
    made = Search(seed)
    keys = made.stream().randbytes  # digests depend on a key, and the order of some requests on digests
    with structlog.testing.capture_logs() as logs, patch("secrets.token_bytes", keys):
        try:
            await made.run()
            errors = [entry for entry in logs if entry.get("exc_info")]
            assert not errors, f"errors are logged: {errors[:2]}"
        except Exception as error:  # noqa: BLE001 - an error of a controller is a finding like any other
            return made.story, error
    return made.story, None


def search(seed: int) -> str:
    """Run one search in virtual time; return its story and what is wrong, or nothing if nothing is."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        story, error = runner.run(run(seed))
    if error is None:
        return ""
    where = traceback.format_exception(error)[-2].strip()
    return "\n".join([*story, f"seed {seed}: {error!r:.200}", str(error), where])
