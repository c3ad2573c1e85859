"""The forecast in the status: when a change begins, when it is another one, and when it has ended."""

from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus, ForecastStatus
from stateward.planning.model.member import Changing
from stateward.planning.model.observation import Observation, Refusal
from stateward.planning.plan import plan
from stateward.planning.report.current_forecast import current_forecast
from stateward.planning.report.status import parse_time, rfc3339
from tests.unit.planning.world import World, hot, managers, settled


def upgrading() -> World:
    return settled(managers(), hot(), indices=((2,),)).edit(version="2.19.5")


def found(obs: Observation, before: ClusterStatus, now: float) -> ForecastStatus | None:
    return current_forecast(obs, plan(obs, now), before, now)


def test_a_change_has_one_begin_from_its_first_step_until_the_cluster_is_settled() -> None:
    world, begins = upgrading(), set[str]()
    first = rfc3339(world.now)
    while not world.plan().settled:
        world.tick()
        if world.status.forecast is not None:
            begins.add(world.status.forecast.start_time)
    world.tick()
    assert begins == {first}
    assert world.status.forecast is None


def test_the_duration_that_was_filled_in_stays() -> None:
    world = upgrading().ticks(2)
    assert world.status.forecast is not None
    full = replace(world.status.forecast, change="upgrade", duration_seconds=300)
    world.status = replace(world.status, forecast=full)
    assert world.ticks(2).status.forecast == full


def test_a_failure_is_no_change_whose_end_could_be_forecast() -> None:
    world = settled(managers(), hot(), indices=((2,),)).kill("c-hot-1")
    for _ in range(4):
        world.tick()
        assert world.status.forecast is None
    assert world.status.ready != "6/6"


def test_an_edit_begins_another_change() -> None:
    world = upgrading().ticks(2)
    edited = replace(world.observe(), generation=2)
    other = found(edited, world.status, world.now + 5)
    assert other == ForecastStatus(start_time=rfc3339(world.now + 5))


def test_data_that_changes_begins_another_change_and_data_that_has_caused_it_does_not() -> None:
    world = upgrading().ticks(2)
    assert world.status.forecast is not None
    began = parse_time(world.status.forecast.start_time) or 0.0
    for since, same in ((began + 0.9, True), (began + 15.0, False)):
        obs = replace(world.observe(), changing=Changing(since, since))
        assert (found(obs, world.status, world.now) == world.status.forecast) is same


def test_a_pause_ends_the_comparison() -> None:
    world = upgrading().ticks(2)
    obs = world.observe()
    paused = replace(obs, desired=replace(obs.desired, paused=True))
    assert found(paused, world.status, world.now) is None


def test_a_change_that_is_refused_does_not_begin() -> None:
    world = upgrading()
    world.refusals = (Refusal("spec.version", "InvalidSpec", "there is no such version"),)
    assert world.ticks(1).status.forecast is None
