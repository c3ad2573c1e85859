"""One run: a world with a user and the operator, a time with faults, a quiet period, and the final checks."""

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
from stateward.kube.timing.checked_clock import TOLERANCE
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.campaign.declared import ROTATION, SECURITY, DeclaredPart, drawn, drawn_secured
from stateward.simulation.campaign.engine_setups import ENGINE_SETUPS
from stateward.simulation.campaign.quiet_period import QuietPeriod
from stateward.simulation.faults.faults import FaultSchedule
from stateward.simulation.faults.targets import FaultTargets
from stateward.simulation.opensearch.node import Node
from stateward.simulation.properties.invariants import Violation, Watchdog
from stateward.simulation.properties.one_database import volumes_of_another
from stateward.simulation.timing import wrong_clock
from stateward.simulation.timing.bounds import GRACE, STEPS, Bounds, Exhausted, Interrupted, interrupted_after
from stateward.simulation.timing.loop import WorldLoop
from stateward.simulation.users.profiles import POOL_SCALE_WRITTEN, Profile, profile_of
from stateward.simulation.users.user import BOOTSTRAP_CONFIRMED
from stateward.simulation.world import log_capture, trace_text
from stateward.simulation.world.engine_products import DEFAULT
from stateward.simulation.world.operators import Process
from stateward.simulation.world.world import Layout

PATIENCE = 3 * 3600.0
"""Seconds of virtual time within which the desired state must be reached once faults have stopped."""
QUIET = 1200.0
"""Seconds of virtual time after that in which nothing may be written."""
RESIZES = 10
"""How often a pool that scales may change its size after the desired state is reached."""

YEAR = 120.0
"""The factor from a storm to ordinary operation: a minute between two faults becomes two hours, ten faults and edits a
day.
"""
INTERVENTION_DELAY = 900.0
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
    quiet_start: bool | None = None
    agents: bool | None = None
    """Whether pods have agents; None lets the seed choose."""
    profile: str | None = None
    """The name of a profile; None lets the seed choose if nothing else is set, and "" means no profile."""
    declared: bool | None = None
    """Whether users declare objects of the database; None lets the seed choose if nothing else is set."""
    secured: bool | None = None
    """Whether the cluster is secured, and users of the database are declared too; None lets the seed choose if it has
    chosen declared objects.
    """
    wrong_clocks: bool | None = None
    """Whether operators start with wrong clocks; None lets the seed choose if nothing else is set."""
    trace: bool = False
    bounds: Bounds = Bounds()


class Outcome(Struct, frozen=True):
    """The result of a run."""

    seed: int
    violations: tuple[Violation, ...]
    hours: float
    """Hours of virtual time."""
    counts: Mapping[str, int]
    skipped: float = 0.0
    """The skipped part of these hours, in which no event was due."""
    trace_lines: tuple[tuple[float, str], ...] = ()
    spec: Json = {}
    """The initial spec of a run with violations."""


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
                return runner.run(run.execute()), time.perf_counter() - began
        except (Exhausted, Interrupted) as error:
            loop.limit(steps=STEPS, seconds=GRACE)
            return run.exhausted(str(error)), time.perf_counter() - began
    finally:
        with suppress(Exhausted):  # Cancelled tasks of an endless run may be endless too.
            runner.close()
        gc.enable()


class Run:
    """Assembles the parts of a run and executes them."""

    def __init__(self, seed: int, plan: Plan, loop: asyncio.AbstractEventLoop) -> None:
        rng = random.Random(f"{seed}/run")  # noqa: S311 - the seed repeats the run
        self.seed, self.plan = seed, plan
        self.setup = ENGINE_SETUPS[plan.engine]
        profile, layout = chosen(plan, seed, self.setup.profiles), rng.choice(self.setup.layouts)
        self.world = self.setup.world(seed, plan.layout or (profile and profile.layout) or layout, loop)
        if profile is not None:
            self.world.context.count(f"profile: {profile.name}")
        self.violations: list[Violation] = []
        self.stage = "the start"
        """The current stage of the run, for messages."""
        self.watchdog = Watchdog(self.world, self.violations)
        self.world.databases.on_forming.append(self._on_forming)
        able = bool(self.setup.declared_faults)
        declares = able and first_set(plan.declared, free(plan) and plan.profile is None and drawn(seed))
        self.secured = declares and first_set(plan.secured, plan.declared is None and drawn_secured(seed))
        self.declared = DeclaredPart(self.world, self.violations, secured=self.secured) if declares else None
        if plan.trace:
            self.world.context.trace_lines = []
        by_chance = random.Random(f"{seed}/agents").random() < 0.6  # noqa: S311 - the seed repeats the run
        self.agents = first_set(plan.agents, profile and profile.agents, by_chance)
        count = plan.processes or rng.choice((1, 1, 1, 2))
        self._several = count > 1
        self.processes = [self._process(n) for n in range(count)]
        wrong_clocks = first_set(plan.wrong_clocks, free(plan) and wrong_clock.drawn(seed))
        self.world.clock_error = TOLERANCE if wrong_clocks else 0.0
        for process in self.processes:
            process.pool_scales = profile is not None and POOL_SCALE_WRITTEN in profile.frequent_faults
        spec = self.setup.spec(rng, profile)
        frequent_edits = () if profile is None else profile.edits
        if self.secured:
            spec["security"] = dict(SECURITY)
        self.spec = deepcopy(plan.spec) if plan.spec else spec
        self.user = self.setup.user(self.world, deepcopy(self.spec), frequent_edits)
        self.user.validation_failed = lambda text: self._violated("edit", text)
        stage = FaultTargets(self.world, self.processes, self.user, self.world.context.stream("faults"))
        faults = self.setup.faults
        if self.declared is not None:
            stage.declarations = self.declared.declarations
            faults = (*faults, *self.setup.declared_faults)
        self.fault_schedule = FaultSchedule(stage, (faults, self.setup.lasting_faults), plan.only, plan.slower, profile)
        self.quiet_start = first_set(plan.quiet_start, profile and profile.quiet_start, rng.random() < 0.6)

    async def execute(self) -> Outcome:
        """Execute the run."""
        self.world.context.loop.set_exception_handler(self._on_uncaught_error)
        with log_capture.to(self._on_log_event):
            for process in self.processes:
                process.start()
            self.user.create()
            if self.declared is not None:
                self.declared.declarations.begin()
            self.stage = "the creation of the cluster"
            if self.quiet_start:
                await self.until_formed()
                if self.secured:
                    await asyncio.sleep(ROTATION)
            self.stage = "the time with faults"
            self.fault_schedule.begin()
            await self.live(self.plan.chaos)
            self.fault_schedule.end()
            await asyncio.sleep(60.0)
            self.user.request_satisfiable_spec()
            if self.declared is not None:
                self.declared.declarations.make_satisfiable()
            self.stage = "the time to reach the desired state"
            await self.settle()
            for process in self.processes:
                process.kill()
        return self.outcome()

    async def until_formed(self) -> None:
        """Wait until the cluster is formed, and write some data."""
        for _ in range(120):
            await asyncio.sleep(5.0)
            if not self.setup.unmet(self.world):
                self.setup.fill(self.world)
                await asyncio.sleep(60.0)
                return
        self._violated("g", f"the cluster was not created: {'; '.join(self.setup.unmet(self.world)[:4])}")

    def unmet(self) -> list[str]:
        """Return the differences from the desired state."""
        return [*self.setup.unmet(self.world), *(self.declared.unmet() if self.declared is not None else [])]

    async def live(self, seconds: float) -> None:
        """Let time pass; if faults are rare, skip the quiet periods between them."""
        if self.plan.slower <= 1.0:
            await asyncio.sleep(seconds)
            return
        context, quiet_period = (
            self.world.context,
            QuietPeriod(self.world, lambda: self.fault_schedule.requests_unaffected),
        )
        end = context.passed + seconds
        while context.passed < end:
            await asyncio.sleep(min(30.0, max(1.0, end - context.passed)))
            quiet_period.skip_if_quiet(end - context.passed)
            if quiet_period.unmet_for() > INTERVENTION_DELAY:
                context.trace("a user intervenes")
                context.count("user: intervention")
                self.user.create()
                self.user.request_satisfiable_spec()
                self.user.resolve_waits()
                quiet_period.user_intervened()

    async def settle(self, quiet: float = QUIET) -> None:
        """Wait until the desired state is reached; check that it stays and that nothing is written then."""
        for _ in range(int(PATIENCE / 30)):
            await asyncio.sleep(30.0)
            if self.violations or not self.unmet():
                break
            self.user.resolve_waits()
            if self.declared is not None:
                self.declared.declarations.resolve()
        missing = self.unmet()
        if missing and not self.violations:
            self._violated("g", f"the desired state was not reached: {'; '.join(missing[:6])}")
        if missing:
            return
        self.stage = "the time in which nothing may be written"
        pods = await self._settled_pods()
        before, requests = self.watchdog.writes, self._requests
        await asyncio.sleep(quiet)
        missing = self.unmet()
        if missing:
            self._violated("g", f"the desired state did not stay: {'; '.join(missing[:6])}")
        if not before <= self.watchdog.writes <= before + self._measurements(quiet):
            latest = ", ".join(self.watchdog.latest)
            self._violated(
                "e", f"a settled cluster caused {self.watchdog.writes - before} writes, the latest: {latest}"
            )
        if self._requests != requests:
            self._violated("e", f"a settled cluster's objects were written {self._requests - requests} times")
        if pods != self._pods():
            self._violated("e", "pods were recreated in a settled cluster")

    async def _settled_pods(self) -> frozenset[str]:
        """Wait until no pod has come or gone for three minutes, and return their UIDs.

        A pool that scales by rules grows in several steps; between two of them it is as the spec asks.
        """
        pods = self._pods()
        for _ in range(RESIZES):
            before = pods
            await asyncio.sleep(180.0)
            pods = self._pods()
            if pods == before:
                break
        return pods

    def _pods(self) -> frozenset[str]:
        return frozenset(pod.uid for pod in self.world.store.all("/pods"))

    @property
    def _requests(self) -> int:
        """How many requests have changed objects in databases."""
        return self.declared.requests if self.declared is not None else 0

    def _measurements(self, quiet: float) -> int:
        """Return how often measurements of pools may be written: of disks once an hour, of loads once a minute."""
        resource = self.world.resource()
        pools = items(resource.doc, "spec", "pools") if resource is not None else []
        disks = sum(bool(part(pool, "storage").get("grow")) for pool in pools)
        return disks + (int(quiet / 60) + 1) * sum(bool(part(pool, "scaling").get("rules")) for pool in pools)

    def exhausted(self, reached: str) -> Outcome:
        """Return the result of a run that reached a limit."""
        last = self.world.context.last
        said = f"; the last event: {last}" if last else ""
        self._violated("bound", f"seed {self.seed} was ended in {self.stage}: it {reached}{said}")
        return self.outcome()

    def outcome(self) -> Outcome:
        """Return the result."""
        for loss in self.world.databases.damage.losses:
            self._violated("i", f"{loss.documents} acknowledged documents of {loss.shard} are lost")
        trace_lines = tuple(self.world.context.trace_lines or ())
        context = self.world.context
        hours, skipped = context.passed / 3600, context.skipped / 3600
        spec = self.spec if self.violations else {}
        return Outcome(self.seed, tuple(self.violations), hours, context.counts, skipped, trace_lines, spec)

    def _process(self, number: int) -> Process:
        # Lease renewals cost much time; a single process needs no lease.
        elected = number > 0 or self._several
        process = self.setup.process(self.world, f"op{number}", leader_elect=elected)
        process.audit = self.watchdog
        process.cluster_observed = self.watchdog.cluster_observed
        process.ensemble_observed = self.watchdog.ensemble_observed
        process.answer_lost = self.watchdog.answer_lost
        process.stopping = self.watchdog.stopping
        process.agent_image = AGENT_IMAGE if self.agents else ""
        process.failed = lambda error: self._violated("crash", f"{type(error).__name__}: {error}")
        if self.declared is not None:
            self.declared.attach(process)
        return process

    def _on_log_event(self, event: str, values: Mapping[str, object]) -> None:
        """Handle an event of the operator's log."""
        if self.declared is not None:
            self.declared.logged(event, values)
        error = values.get("exc_info")
        if isinstance(error, BaseException) and not log_capture.expected(error):
            self._violated("crash", f"{event}: {type(error).__name__}: {error}")
        if event == "action":
            self.world.context.count(f"action: {values.get('action')}")
            name, member, why = (str(values.get(key, "")) for key in ("action", "member", "why"))
            self.world.context.trace(trace_text.action(name, member, why))

    def _on_forming(self, node: Node) -> None:
        """Check that a database that is formed is the only one; a user may have confirmed that another one is lost."""
        beside = volumes_of_another(self.world, node)
        if beside and not self.world.context.counts.get(BOOTSTRAP_CONFIRMED):
            self._violated(
                "s", f"{node.name} forms a database, and the volumes of {', '.join(beside)} hold another one"
            )

    def _on_uncaught_error(self, _loop: object, context: Mapping[str, object]) -> None:
        """Record an uncaught error of the world or of a task."""
        self._violated("crash", f"{context.get('message')}: {context.get('exception')!r}")

    def _violated(self, letter: str, message: str) -> None:
        self.world.context.trace(f"VIOLATION [{letter}] {message}")
        self.violations.append(Violation(letter, self.world.now, message))


def chosen(plan: Plan, seed: int, profiles: Sequence[Profile]) -> Profile | None:
    """Return the profile of a run: none if the plan gives cluster and faults, or for ordinary operation."""
    if plan.profile is not None:
        return next((profile for profile in profiles if profile.name == plan.profile), None)
    return profile_of(seed, profiles) if free(plan) else None


def free(plan: Plan) -> bool:
    """Return whether a plan is of a storm, and leaves cluster and faults to the seed."""
    return plan.only is None and plan.layout is None and plan.spec is None and plan.slower <= 1.0


def first_set(*words: bool | None) -> bool:
    """Return the first of several values that was set; the last one always is."""
    return next(word for word in words if word is not None)
