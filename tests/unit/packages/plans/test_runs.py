"""Installations in a world in memory, with random edits and crashes, reach their desired state.

The world is the least that one needs: objects by identity, and what an operator records of an installation. Each look
may die after any write; nothing else is remembered.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateward.packages.format.records import Package
from stateward.packages.plans.choice import Chosen, State, choose, join
from stateward.packages.plans.progress import Result, Run, Stage, StepName, advance, ready, stage
from stateward.packages.plans.steps import stamped, superfluous, work_of
from stateward.packages.rendering.objects import Identity, identity_of
from stateward.packages.rendering.rendering import Place, Use, places
from stateward.packages.rendering.step_objects import render_plan
from stateward.packages.restarts.dependencies import dependencies, template_path
from stateward.packages.restarts.digests import Key, digests_of
from stateward.packages.restarts.restarts import annotated, judge
from tests.unit.packages.samples import OPERATOR, shop

KEY = Key(b"of the tests")
WEB = Identity("apps", "Deployment", "prod", "web")
CONFIG = Identity("", "ConfigMap", "prod", "web-config")
VERSIONS = {
    package.digest: package
    for package in (
        shop(),
        shop(operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"')),
        shop(app=("image: shop:", "image: store:")),
        shop(config=("data:\n", "data:\n  more: a key\n")),
    )
}
SCALE = "  scale:\n    phases: [{name: scale, steps: [{name: app, tasks: [app]}]}]\n"
SCALED = shop(
    {"operator.yaml": OPERATOR.replace("1.2.0", "2.0.0") + SCALE},
    params=("default: 2, description", "default: 2, trigger: scale, description"),
)
VERSIONS[SCALED.digest] = SCALED


class CrashError(Exception):
    """The operator dies."""


@dataclass
class World:
    """One installation and its objects; `writes_left` is when the operator dies."""

    wanted: State
    objects: dict[Identity, dict[str, Any]] = field(default_factory=dict[Identity, dict[str, Any]])
    installed: State | None = None
    running: tuple[Chosen, Run] | None = None
    done: list[tuple[str, State]] = field(default_factory=list[tuple[str, State]])
    now: float = 0.0
    restarts: int = 0
    writes_left: int | None = None

    def package(self, state: State) -> Package:
        return VERSIONS[state.digest]

    def use(self, state: State) -> Use:
        return Use(self.package(state), "web", "prod", state.values)

    def write(self) -> None:
        if self.writes_left == 0:
            raise CrashError
        self.writes_left = None if self.writes_left is None else self.writes_left - 1

    def apply(self, body: dict[str, Any]) -> None:
        body["metadata"].setdefault("namespace", "prod")
        identity = identity_of(body)
        live = self.objects.get(identity)
        path = template_path(body)
        if path is not None:
            used = dependencies(body)
            sources = {(i.kind, i.name): found for i, found in self.objects.items() if i.kind == "ConfigMap"}
            body = annotated(body, judge(live, used, digests_of(used, sources, KEY), KEY))
        self.write()
        if identity == WEB and live is not None and live["spec"]["template"] != body["spec"]["template"]:
            self.restarts += 1
        self.objects[identity] = body

    def delete(self, identity: Identity) -> None:
        self.write()
        self.objects.pop(identity._replace(namespace=identity.namespace or "prod"), None)

    def look(self) -> None:
        """Run one round of an operator; raises CrashError."""
        self.now += 1.0
        if self.running is None:
            chosen = choose(self.package(self.wanted), self.installed, self.wanted)
            if not isinstance(chosen, Chosen):
                return
            self.write()
            self.running = (chosen, Run(chosen.plan, self.now))
        chosen, run = self.running
        again = join(self.package(self.wanted), self.installed, chosen, self.wanted)
        if isinstance(again, Chosen):
            self.write()
            chosen, run = again, Run(again.plan, self.now)
            self.running = (chosen, run)
        self.go_on(chosen, run)

    def go_on(self, chosen: Chosen, run: Run) -> None:
        package, use = self.package(chosen.state), self.use(chosen.state)
        results: dict[StepName, Result] = {}
        for name in ready(package, run, self.now):
            place = next(at for at in places(package, run.plan) if (at.phase, at.step.name) == name)
            self.carry_out(use, place)
            results[name] = Result(Stage.DONE)
        run = advance(run, results, self.now)
        self.write()
        self.running = (chosen, run)
        if stage(package, run) is Stage.DONE:
            self.prune(use)
            self.write()
            self.installed, self.running = chosen.state, None
            self.done.append((chosen.plan, chosen.state))

    def carry_out(self, use: Use, place: Place) -> None:
        work = work_of(use, place)
        for rendered in work.apply:
            self.apply(stamped(use, place, rendered.body))
        for rendered in work.delete:
            self.delete(rendered.identity)

    def prune(self, use: Use) -> None:
        every = [place for plan in use.package.operator.plans for place in places(use.package, plan)]
        for identity in superfluous(tuple(self.objects), use, every):
            self.delete(identity)

    def settle(self, dies_after: tuple[int, ...] = ()) -> None:
        """Run rounds until nothing is left to do; the operator dies after this many writes, and another continues."""
        deaths = list(dies_after)
        for _ in range(200):
            self.writes_left = deaths.pop(0) if deaths else None
            try:
                self.look()
            except CrashError:
                continue
            if (
                self.running is None
                and not deaths
                and not choose(self.package(self.wanted), self.installed, self.wanted)
            ):
                return
        raise AssertionError("it never comes to rest")

    @property
    def at_rest(self) -> bool:
        """Whether nothing runs and nothing is to be run."""
        return self.running is None and choose(self.package(self.wanted), self.installed, self.wanted) is None

    @property
    def template(self) -> Any:
        return self.rendered(WEB)["spec"]["template"]

    def rendered(self, identity: Identity) -> Any:
        """Return an object as the package renders it for the wanted state."""
        bodies = (rendered.body for rendered in render_plan(self.use(self.wanted), "deploy"))
        return next(body for body in bodies if identity_of(body)._replace(namespace="prod") == identity)


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "COUNT": st.integers(1, 3),
        "MODE": st.sampled_from(["slow", "fast"]),
        "EXTRA": st.booleans(),
        "RATE": st.sampled_from([0.5, 2]),
        "STORAGE": st.sampled_from(["1Gi", "2Gi"]),
    },
)
STATES = st.builds(State, digest=st.sampled_from(sorted(set(VERSIONS) - {SCALED.digest})), values=VALUES)
DEATHS = st.lists(st.integers(0, 6), max_size=4).map(tuple)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(edits=st.lists(st.tuples(STATES, DEATHS), min_size=1, max_size=4))
def test_after_every_edit_and_any_crash_the_objects_are_what_the_package_renders(
    edits: list[tuple[State, tuple[int, ...]]],
) -> None:
    world = World(edits[0][0])
    for state, deaths in edits:
        world.wanted = state
        world.settle(deaths)
        wanted = {
            rendered.identity._replace(namespace="prod"): rendered.body
            for rendered in render_plan(world.use(state), "deploy")
        }
        assert set(world.objects) == set(wanted)
        assert world.objects[CONFIG]["data"] == wanted[CONFIG]["data"]
        assert world.objects[WEB]["spec"]["replicas"] == wanted[WEB]["spec"]["replicas"]


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(first=STATES, second=STATES, deaths=DEATHS)
def test_pods_restart_once_if_what_they_use_or_their_template_has_changed_and_never_else(
    first: State, second: State, deaths: tuple[int, ...]
) -> None:
    world = World(first)
    world.settle()
    data, template = world.rendered(CONFIG)["data"], world.template
    assert world.restarts == 0
    world.wanted = second
    world.settle(deaths)
    changed = world.rendered(CONFIG)["data"] != data or world.template != template
    assert world.restarts == int(changed)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(states=st.lists(STATES, min_size=2, max_size=5), looks=st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_edits_in_the_middle_of_a_run_end_where_the_last_one_says(states: list[State], looks: list[int]) -> None:
    world = World(states[0])
    for state, count in zip(states, looks, strict=False):
        world.wanted = state
        for _ in range(count):
            world.look()
    world.settle()
    assert world.objects[CONFIG]["data"] == world.rendered(CONFIG)["data"]
    assert world.installed is not None
    assert world.installed.digest == world.wanted.digest


def test_a_trigger_runs_its_plan_and_leaves_the_rest_alone() -> None:
    world = World(State(shop().digest, {}))
    world.settle()
    before = dict(world.objects)
    world.wanted = replace(world.wanted, values={"FILE": "other.sql"})
    world.settle()
    job = world.objects.pop(Identity("batch", "Job", "prod", "backup-job"))
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == ["other.sql"]
    assert world.objects == before


def test_a_trigger_that_comes_while_another_plan_runs_comes_after_it() -> None:
    world = World(State(shop().digest, {}))
    world.settle()
    world.wanted = replace(world.wanted, values={"MODE": "fast"})
    world.look()
    world.wanted = replace(world.wanted, values={"MODE": "fast", "FILE": "other.sql"})
    world.settle()
    assert world.restarts == 1
    assert Identity("batch", "Job", "prod", "backup-job") in world.objects


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(count=st.integers(1, 4), mode=st.sampled_from(["slow", "fast"]), deaths=DEATHS)
def test_an_upgrade_and_a_value_of_another_plan_are_two_runs_in_order_through_any_crash(
    count: int, mode: str, deaths: tuple[int, ...]
) -> None:
    old = State(shop().digest, {"COUNT": 3})
    world = World(old)
    world.settle()
    wanted = State(SCALED.digest, {"COUNT": count, "MODE": mode})
    world.wanted = wanted
    world.settle(deaths)
    first = State(SCALED.digest, {"COUNT": 3, "MODE": mode})
    assert world.done[1:] == [("deploy", first), *([] if count == 3 else [("scale", wanted)])]
    assert world.objects[WEB]["spec"]["replicas"] == count
