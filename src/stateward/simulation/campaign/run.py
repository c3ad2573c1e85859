"""One run: a world, a user, the operator, faults for a while, then peace, and what must hold in the end."""

import asyncio
import gc
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import cast

from msgspec import Struct

from stateward.api.values.base import Json
from stateward.simulation.campaign.engine_setups import SCENES
from stateward.simulation.campaign.quiet_hours import QuietTime
from stateward.simulation.faults.faults import FaultTargets, Swarm
from stateward.simulation.people.profiles import Profile, profile_of
from stateward.simulation.properties.invariants import Violation, Watchdog
from stateward.simulation.timing.bounds import GRACE, STEPS, Bounds, Exhausted, Interrupted, interrupted_after
from stateward.simulation.timing.loop import WorldLoop
from stateward.simulation.world import listening, trace_text
from stateward.simulation.world.engine_products import DEFAULT
from stateward.simulation.world.operators import Process
from stateward.simulation.world.world import Layout

PATIENCE = 3 * 3600.0
"""Seconds of virtual time within which the desired state must be reached once faults have stopped."""
QUIET = 1200.0
"""Seconds of virtual time for which nothing may be written then."""

YEAR = 120.0
"""The factor from a storm to ordinary operation: a minute between two faults becomes two hours, ten faults and edits a
day.
"""
ON_DUTY = 900.0
"""Seconds after which the simulated user intervenes in an unsettled cluster, in ordinary operation."""

AGENT_IMAGE = "stateward:simulated"


class Plan(Struct, frozen=True):
    """The parameters of a run, apart from its seed. `chaos` is in seconds of virtual time."""

    engine: str = DEFAULT.engine
    chaos: float = 3600.0
    slower: float = 1.0
    """By how much the pauses between faults are longer than in a storm; see `YEAR`."""
    only: frozenset[str] | None = None
    """Names of the active faults; None lets the seed choose."""
    layout: Layout | None = None
    spec: Json | None = None
    processes: int | None = None
    calm_start: bool | None = None
    agents: bool | None = None
    """Whether pods have agents; None lets the seed choose."""
    profile: str | None = None
    """The name of a profile; None lets the seed choose if nothing else is given, and "" is the plain swarm."""
    trace: bool = False
    bounds: Bounds = Bounds()


class Outcome(Struct, frozen=True):
    """What came of a run."""

    seed: int
    violations: tuple[Violation, ...]
    hours: float
    """Hours of virtual time."""
    counts: Mapping[str, int]
    skipped: float = 0.0
    """Those of the hours that were passed over, because nothing could happen in them."""
    story: tuple[tuple[float, str], ...] = ()
    spec: Json = {}
    """The spec at the beginning, of a run that violated something."""


def simulate_one(seed: int, plan: Plan | None = None) -> tuple[Outcome, float]:
    """Run one seed to its end; return its outcome, which is the same every time, and the real seconds it took.

    A run that reaches a limit of its plan ends there, and has violated `bound`.
    """
    began = time.perf_counter()
    plan = plan or Plan()
    gc.collect()
    gc.disable()
    runner = asyncio.Runner(loop_factory=WorldLoop)
    try:
        loop = cast("WorldLoop", runner.get_loop())
        run, seconds = Run(seed, plan, loop), plan.bounds.seconds(plan.chaos)
        loop.limit(steps=plan.bounds.steps, seconds=seconds)
        try:
            with interrupted_after(seconds + GRACE):
                return runner.run(run.go()), time.perf_counter() - began
        except (Exhausted, Interrupted) as error:
            loop.limit(steps=STEPS, seconds=GRACE)
            return run.exhausted(str(error)), time.perf_counter() - began
    finally:
        with suppress(Exhausted):  # What is cancelled at the end of a run that spins may spin as well.
            runner.close()
        gc.enable()


class Run:
    """Puts the parts of a run together and lets them go."""

    def __init__(self, seed: int, plan: Plan, loop: asyncio.AbstractEventLoop) -> None:
        chance = random.Random(f"{seed}/run")  # noqa: S311 - a run is repeated by its seed
        self.seed, self.plan = seed, plan
        self.scene = SCENES[plan.engine]
        profile, drawn = chosen(plan, seed, self.scene.profiles), chance.choice(self.scene.layouts)
        self.world = self.scene.world(seed, plan.layout or (profile and profile.layout) or drawn, loop)
        if profile is not None:
            self.world.ground.count(f"profile: {profile.name}")
        self.violations: list[Violation] = []
        self.stage = "nothing yet"
        """What the run is about now, for a message."""
        self.watchdog = Watchdog(self.world, self.violations)
        if plan.trace:
            self.world.ground.story = []
        by_chance = random.Random(f"{seed}/agents").random() < 0.6  # noqa: S311 - a run is repeated by its seed
        self.agents = first_said(plan.agents, profile and profile.agents, by_chance)
        count = plan.processes or chance.choice((1, 1, 1, 2))
        self._several = count > 1
        self.processes = [self._process(n) for n in range(count)]
        spec = self.scene.spec(chance, profile)
        often = () if profile is None else profile.edits
        self.spec = deepcopy(plan.spec) if plan.spec else spec
        self.user = self.scene.user(self.world, deepcopy(self.spec), often)
        self.user.wrong = lambda text: self._violated("edit", text)
        stage = FaultTargets(self.world, self.processes, self.user, self.world.ground.stream("faults"))
        self.swarm = Swarm(stage, (self.scene.faults, self.scene.weather), plan.only, plan.slower, profile)
        self.calm_start = first_said(plan.calm_start, profile and profile.calm_start, chance.random() < 0.6)

    async def go(self) -> Outcome:
        """Live through the run."""
        self.world.ground.loop.set_exception_handler(self._broken)
        with listening.to(self._heard):
            for process in self.processes:
                process.start()
            self.user.create()
            self.stage = "the creation of the cluster"
            if self.calm_start:
                await self.until_formed()
            self.stage = "the time with faults"
            self.swarm.begin()
            await self.live(self.plan.chaos)
            self.swarm.end()
            await asyncio.sleep(60.0)
            self.user.calm_down()
            self.stage = "the time in which the desired state has to be reached"
            await self.settle()
            for process in self.processes:
                process.kill()
        return self.outcome()

    async def until_formed(self) -> None:
        """Wait until the database is there, and put some indices into it."""
        for _ in range(120):
            await asyncio.sleep(5.0)
            if not self.unmet():
                self.scene.fill(self.world)
                await asyncio.sleep(60.0)
                return
        self._violated("g", f"the cluster was not created: {'; '.join(self.unmet()[:4])}")

    def unmet(self) -> list[str]:
        """Return the differences from the desired state."""
        return self.scene.unmet(self.world)

    async def live(self, seconds: float) -> None:
        """Let time pass; if faults are rare, the quiet time between them is skipped."""
        if self.plan.slower <= 1.0:
            await asyncio.sleep(seconds)
            return
        ground, calm = self.world.ground, QuietTime(self.world, lambda: self.swarm.fair)
        end = ground.passed + seconds
        while ground.passed < end:
            await asyncio.sleep(min(30.0, max(1.0, end - ground.passed)))
            calm.look(end - ground.passed)
            if calm.unmet_for() > ON_DUTY:
                ground.tell("somebody sees to the cluster")
                ground.count("user: sees to the cluster")
                self.user.create()
                self.user.calm_down()
                self.user.heed()
                calm.seen()

    async def settle(self, quiet: float = QUIET) -> None:
        """Wait until the desired state is reached, and see that it stays and that nothing is written then."""
        for _ in range(int(PATIENCE / 30)):
            await asyncio.sleep(30.0)
            if self.violations or not self.unmet():
                break
            self.user.heed()
        missing = self.unmet()
        if missing and not self.violations:
            self._violated("g", f"the desired state was not reached: {'; '.join(missing[:6])}")
        if missing:
            return
        self.stage = "the time in which nothing may be written"
        await asyncio.sleep(180.0)
        before = self.watchdog.writes
        pods = {pod.uid for pod in self.world.store.all("/pods")}
        await asyncio.sleep(quiet)
        missing = self.unmet()
        if missing:
            self._violated("g", f"the desired state did not stay: {'; '.join(missing[:6])}")
        if self.watchdog.writes != before:
            latest = ", ".join(self.watchdog.latest)
            self._violated(
                "e", f"a settled cluster caused {self.watchdog.writes - before} writes, the latest: {latest}"
            )
        if pods != {pod.uid for pod in self.world.store.all("/pods")}:
            self._violated("e", "pods were made anew in a settled cluster")

    def exhausted(self, reached: str) -> Outcome:
        """Return what came of it until it reached a limit."""
        last = self.world.ground.last
        said = f"; the last that was told: {last}" if last else ""
        self._violated("bound", f"seed {self.seed} was ended in {self.stage}: it {reached}{said}")
        return self.outcome()

    def outcome(self) -> Outcome:
        """Return what came of it."""
        for loss in self.world.databases.damage.losses:
            self._violated("i", f"{loss.documents} acknowledged documents of {loss.shard} are lost")
        story = tuple(self.world.ground.story or ())
        ground = self.world.ground
        hours, skipped = ground.passed / 3600, ground.skipped / 3600
        spec = self.spec if self.violations else {}
        return Outcome(self.seed, tuple(self.violations), hours, ground.counts, skipped, story, spec)

    def _process(self, number: int) -> Process:
        # A lease is renewed every few seconds, which costs much; a single process needs none.
        elected = number > 0 or self._several
        process = self.scene.process(self.world, f"op{number}", leader_elect=elected)
        process.audit = self.watchdog
        process.looked = self.watchdog.looked
        process.saw = self.watchdog.saw
        process.missed = self.watchdog.missed
        process.stopping = self.watchdog.stopping
        process.agent_image = AGENT_IMAGE if self.agents else ""
        process.failed = lambda error: self._violated("crash", f"{type(error).__name__}: {error}")
        return process

    def _heard(self, event: str, values: Mapping[str, object]) -> None:
        """Hear the operator's log."""
        error = values.get("exc_info")
        if isinstance(error, BaseException) and not listening.expected(error):
            self._violated("crash", f"{event}: {type(error).__name__}: {error}")
        if event == "action":
            self.world.ground.count(f"action: {values.get('action')}")
            name, member, why = (str(values.get(key, "")) for key in ("action", "member", "why"))
            self.world.ground.tell(trace_text.action(name, member, why))

    def _broken(self, _loop: object, context: Mapping[str, object]) -> None:
        """Record an uncaught error: in the world itself, or in a task without a waiter."""
        self._violated("crash", f"{context.get('message')}: {context.get('exception')!r}")

    def _violated(self, letter: str, message: str) -> None:
        self.world.ground.tell(f"VIOLATION [{letter}] {message}")
        self.violations.append(Violation(letter, self.world.now, message))


def chosen(plan: Plan, seed: int, profiles: Sequence[Profile]) -> Profile | None:
    """Return the profile of a run: none if the plan gives cluster and faults, or for ordinary operation."""
    if plan.profile is not None:
        return next((profile for profile in profiles if profile.name == plan.profile), None)
    free = plan.only is None and plan.layout is None and plan.spec is None and plan.slower <= 1.0
    return profile_of(seed, profiles) if free else None


def first_said(*words: bool | None) -> bool:
    """Return the first of several values that was set; the last one always is."""
    return next(word for word in words if word is not None)
