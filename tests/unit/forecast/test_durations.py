"""Durations of restarts in kept pods: a forecast absence is as long as the measured one."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.forecast.durations import (
    CROWD,
    REACTION,
    RECENTLY,
    SOON_SHARE,
    STEP,
    Durations,
    in_a_kept_pod,
    in_a_new_pod,
)
from stateward.forecast.forecast import Forecast, run_forecast
from stateward.kube.queue import event_pace
from stateward.operator.clusters import pace
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Observation, Phase, Schedule
from tests.unit.cli.clusters import NOW, changed, running


@cache
def restart() -> Observation:
    """Return a cluster with an agent in each pod, just after a setting was changed."""
    before = running()
    members = tuple(replace(m, pod=m.pod and replace(m.pod, agent=True)) for m in before.members)
    setting = {"indices.recovery.max_bytes_per_sec": "80mb"}
    return replace(changed(lambda spec: spec.update(config=setting), replace(before, members=members)), live=True)


def absences(found: Forecast) -> dict[str, float]:
    """Return by member the seconds from the request to stop its process until the end of its restart."""
    at = {
        (kind, action.member): step.at
        for step in found.steps
        for action in step.made.actions
        for kind in (a.StopProcess, a.FinishRestart)
        if isinstance(action, kind)
    }
    return {name: at[a.FinishRestart, name] - begin for (kind, name), begin in at.items() if kind is a.StopProcess}


@settings(max_examples=20, deadline=None)
@given(hot=st.floats(3.0, 300.0), stop=st.floats(0.1, 60.0))
def test_a_restart_in_a_kept_pod_takes_as_long_as_it_was_measured(hot: float, stop: float) -> None:
    """The rounds of the operator within an absence are part of the measured time, and count once."""
    durations = Durations(restarts={"hot": hot, "managers": 9.0, "gateway": 9.0}, stop=stop)
    found = absences(run_forecast(restart(), NOW, durations))
    assert len(found) == len(restart().members)
    for name, seconds in found.items():
        assert seconds == pytest.approx(hot if "-hot-" in name else 9.0, abs=0.01)


@given(st.floats(3.0, 10_000.0))
def test_the_start_of_a_new_pod_and_the_absence_in_a_kept_one_follow_from_each_other(absence: float) -> None:
    assert in_a_kept_pod(in_a_new_pod(absence)) == pytest.approx(absence)


def test_an_absence_that_was_not_measured_follows_from_the_start_of_new_pods() -> None:
    found = absences(run_forecast(restart(), NOW, Durations(start=30.0)))
    assert list(found.values()) == [pytest.approx(30.0, abs=0.01)] * len(restart().members)


@cache
def all_at_once() -> Observation:
    """Return the cluster of `restart` without a change, of which a coordinated restart was just asked for."""
    before = running()
    members = tuple(replace(m, pod=m.pod and replace(m.pod, agent=True)) for m in before.members)
    return replace(before, members=members, schedule=Schedule(Phase.SCHEDULE_COORDINATED.value), live=True)


@pytest.mark.parametrize(
    ("known", "expected"), [({}, 30.0 * CROWD), ({"hot": 40.0, "managers": 40.0, "gateway": 40.0}, 40.0)]
)
def test_members_that_all_start_at_once_take_longer_than_one_alone(known: dict[str, float], expected: float) -> None:
    found = absences(run_forecast(all_at_once(), NOW, Durations(start=30.0, together=known)))
    assert len(found) == len(all_at_once().members)
    assert max(found.values()) == pytest.approx(expected, abs=STEP)


def test_new_pods_of_all_members_at_once_take_longer_than_one_alone() -> None:
    secured = replace(changed(lambda spec: spec.update(security={"enabled": True}), running()), live=True)
    taken = {crowd: run_forecast(secured, NOW, Durations(start=30.0, crowd=crowd)).seconds for crowd in (1.0, CROWD)}
    one, all_of_them = taken[1.0], taken[CROWD]
    assert one is not None
    assert all_of_them == pytest.approx(one + 30.0 * (CROWD - 1.0), abs=STEP)


def test_the_forecast_has_the_pace_of_the_operator() -> None:
    """The forecast may import nothing of the operator, so its numbers are held against the operator's here."""
    assert event_pace.SECONDS == STEP
    assert pace.BUSY_SECONDS / 2 == REACTION
    assert pytest.approx(pace.CLOSELY_SECONDS / 2) == REACTION * SOON_SHARE
    assert pace.RECENTLY_SECONDS == RECENTLY
