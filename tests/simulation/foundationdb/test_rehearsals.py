"""What a rehearsal says of a change is what the whole simulation then does: the same members, and the same costs."""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from stateward.api.kinds.foundationdb import FoundationDBCluster, FoundationDBSpec
from stateward.engines.foundationdb.database.commands import Printed
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.forecast.durations import Durations
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.foundationdb import FoundationDBFamily
from stateward.operator.objects.kinds import FOUNDATIONDB
from stateward.operator.objects.live import read_live
from stateward.operator.objects.translate import observation
from stateward.planning.model.observation import Database, Observation
from stateward.planning.plan import Plan
from stateward.simulation.foundationdb.commandline import Run
from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.rehearsal.faults import Fault
from stateward.simulation.rehearsal.foundationdb.rules import FoundationRules
from stateward.simulation.rehearsal.foundationdb.world import FoundationWorld
from stateward.simulation.rehearsal.run import Outcome, play
from stateward.simulation.rehearsal.world import RehearsedWorld
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import NAME, Scenario, pools


class ModelRules(FoundationRules, frozen=True):
    """The rules with the durations of the simulation's own databases."""

    def world(
        self, start: Observation, now: float, durations: Durations, faults: Iterable[Fault] = ()
    ) -> RehearsedWorld:
        return FoundationWorld(start, now, durations, self.cluster, Timing(), faults)


class ScenarioShell:
    """Runs commands in the pods of a scenario, without a network in between."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario

    async def run(self, pod: str, command: str, seconds: int) -> Printed:
        namespace, _, name = pod.partition("/")
        client = self.scenario.world.foundationdb.pods[Key(namespace, name)].client()
        database = self.scenario.database
        run = Run(lambda request: database.ask(client, request), asyncio.sleep, database.identity)
        return Printed(*await run.execute(command, float(seconds)))


async def rehearsed(scenario: Scenario, **edit: Any) -> tuple[Outcome, Observation]:
    """Return what a rehearsal says of an edit, and how the cluster is at its end."""
    family = FoundationDBFamily(ScenarioShell(scenario), scenario.process.agent_image)
    api: Any = scenario.process.api
    existing = await read_live(api, Key(NAMESPACE, NAME), FOUNDATIONDB)
    cluster = existing.cluster
    assert isinstance(cluster, FoundationDBCluster)
    changed = replace(cluster, spec=msgspec.convert({**msgspec.to_builtins(cluster.spec), **edit}, FoundationDBSpec))
    target = family.target(existing)
    assert isinstance(target, FoundationTarget)
    database = await family.engine.observe(replace(target, proves=False))
    assert isinstance(database, Database), database
    start = replace(observation(existing, family.desired(changed), database, family.container), live=True)
    rules = ModelRules(changed)
    assert rules.known(start)
    seen = [start]

    def watch(_: float, now: Observation, __: Plan) -> None:
        seen.append(now)

    usual = Durations(start=6.0, stop=1.0, rate=Timing().moving)
    return play(start, scenario.world.now, usual, 0, None, watch, rules=rules), seen[-1]


async def made(scenario: Scenario, **edit: Any) -> float:
    """Make an edit, and return how many seconds the operator takes for it."""
    begun = scenario.world.now
    scenario.unavailable = scenario.short = 0.0
    scenario.edit(**edit)
    assert await scenario.until(lambda: not scenario.ready(), 60.0)
    assert await scenario.until(scenario.ready), scenario.doing
    return scenario.world.now - begun


@pytest.mark.parametrize(
    "edit",
    [{"version": "7.1.67"}, {"pools": pools(storage=6)}, {"pools": pools(storage=4)}],
    ids=["version", "grown", "shrunk"],
)
async def test_a_rehearsal_says_what_the_simulation_does(edit: dict[str, Any]) -> None:
    scenario = Scenario()
    with scenario.logged():
        await scenario.begin()
        said, end = await rehearsed(scenario, **edit)
        took = await made(scenario, **edit)
    scenario.check()
    assert said.completed
    assert {m.name for m in end.members if m.alive} == scenario.members()
    assert (said.red.times, scenario.short) == (0, 0.0)
    # The scenario looks every second, and the world draws what each step takes.
    assert abs(said.refused.seconds - scenario.unavailable) <= 3.0
    assert said.seconds / 3.0 <= took <= said.seconds * 3.0 + 10.0


async def test_a_coordinator_that_is_replaced_is_one_no_longer_in_both() -> None:
    scenario = Scenario()
    with scenario.logged():
        await scenario.begin()
        leaving = min(scenario.coordinators())
        edit = {"members": {"replace": [leaving]}}
        said, end = await rehearsed(scenario, **edit)
        await made(scenario, **edit)
    scenario.check()
    assert said.completed
    assert isinstance(end.database, Database)
    assert leaving not in end.database.voters | scenario.coordinators()
    assert {m.name for m in end.members if m.alive} == scenario.members()
    assert len(end.database.voters) == len(scenario.coordinators())
