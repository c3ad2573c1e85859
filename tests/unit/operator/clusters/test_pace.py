"""Resyncs of settled clusters are spread in time, so that no event waits behind a burst of them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus, WaitStatus
from stateward.kube.objects.metadata import Key
from stateward.operator.clusters.pace import (
    BUSY_SECONDS,
    CLOSELY_SECONDS,
    LASTING_SECONDS,
    RECENTLY_SECONDS,
    SETTLED_SECONDS,
    STATE_SECONDS,
    STATUS_SECONDS,
    STUCK_SECONDS,
    StatusPace,
    changes_soon,
    next_reconciliation,
    repeats_previous_round,
    seconds_without_progress,
)
from stateward.planning.facts.debounce import SETTLING
from stateward.planning.model.actions import ConfigureDatabase, Drain
from stateward.planning.model.intent import Wait
from stateward.planning.model.observation import Database, Health, Phase, Unknown
from stateward.planning.model.times import rfc3339
from stateward.planning.plan import plan
from tests.support.moved_clock import MovedClock
from tests.unit.simulation.rehearsal.samples import START, settled

times = st.floats(min_value=0, max_value=4e9, allow_nan=False)


@given(st.text(max_size=20), times)
def test_a_busy_cluster_is_checked_soon_whatever_it_is_called(name: str, now: float) -> None:
    assert next_reconciliation(Key("x", name), settled=False, now=now) == BUSY_SECONDS


@given(st.text(max_size=20), times)
def test_a_settled_cluster_is_never_left_alone_for_long_nor_asked_at_once(name: str, now: float) -> None:
    assert SETTLED_SECONDS / 2 <= next_reconciliation(Key("x", name), settled=True, now=now) <= SETTLED_SECONDS * 1.5


@pytest.mark.parametrize("late", [-0.01, 0.0, 0.5, 5.0])
def test_from_the_second_check_on_the_period_is_kept_even_when_a_look_was_late(late: float) -> None:
    key, now = Key("x", "logs"), 1_800_000_000.0
    moment = now + next_reconciliation(key, settled=True, now=now)
    after = moment + late + next_reconciliation(key, settled=True, now=moment + late)
    assert after - moment == pytest.approx(SETTLED_SECONDS)


def test_clusters_that_were_checked_together_are_spread_over_the_whole_period() -> None:
    delays = (next_reconciliation(Key("x", f"c-{number}"), settled=True, now=1.8e9) for number in range(600))
    by_second = Counter(int(delay) for delay in delays)
    # A burst would be 600 in one second; an even spread is 10.
    assert max(by_second.values()) <= 30
    assert len(by_second) >= 55


@pytest.mark.parametrize(
    ("closely", "idle", "seconds"),
    [
        (False, 0.0, BUSY_SECONDS),
        (False, 600.0, BUSY_SECONDS),
        (True, 100.0, CLOSELY_SECONDS),
        (True, 600.0, 3.0),
        (False, 2000.0, 10.0),
        (False, 6000.0, STUCK_SECONDS),
        (True, 1e7, STUCK_SECONDS),
    ],
)
def test_the_longer_nothing_moves_the_rarer_are_the_checks(*, closely: bool, idle: float, seconds: float) -> None:
    assert next_reconciliation(Key("x", "logs"), settled=False, now=1e9, closely=closely, idle=idle) == pytest.approx(
        seconds
    )


@pytest.mark.parametrize(
    ("closely", "idle", "seconds"),
    [
        (False, 0.0, BUSY_SECONDS),
        (False, 30.0, 3.0),
        (False, 300.0, 30.0),
        (False, 600.0, SETTLED_SECONDS),
        (False, 1e7, SETTLED_SECONDS),
        (True, 100.0, CLOSELY_SECONDS),
    ],
)
def test_a_silent_database_is_asked_again_after_a_tenth_of_its_silence(
    *, closely: bool, idle: float, seconds: float
) -> None:
    found = next_reconciliation(Key("x", "a"), settled=False, now=1e9, closely=closely, silent=True, idle=idle)
    assert found == pytest.approx(seconds)


def test_what_ends_soon_without_an_event_is_looked_at_closely() -> None:
    calm = settled()
    nothing = plan(calm, START)
    assert not changes_soon(calm, nothing, 0.0)
    begun = tuple(replace(m, pod=m.pod and replace(m.pod, phase=Phase.STOP)) for m in calm.members[:1])
    assert changes_soon(replace(calm, members=(*begun, *calm.members[1:])), nothing, 600.0)
    settling = Wait(subject="logs", reason=SETTLING, message="a Secret changed a second ago")
    assert changes_soon(calm, replace(nothing, waits=(settling,)), 600.0)
    assert isinstance(calm.database, Database)
    yellow = replace(calm, database=replace(calm.database, health=Health.YELLOW))
    assert changes_soon(yellow, nothing, 0.0)
    assert not changes_soon(yellow, nothing, RECENTLY_SECONDS)
    assert not changes_soon(replace(calm, database=Unknown("it does not answer")), nothing, 0.0)


def test_a_new_reason_to_wait_is_a_change_like_any_progress() -> None:
    wait = WaitStatus(subject="logs", reason="NotSafeYet", message="because", since_time=rfc3339(900.0))
    assert seconds_without_progress(ClusterStatus(), 1000.0) == 0.0
    assert seconds_without_progress(ClusterStatus(last_progress_time=rfc3339(100.0)), 1000.0) == 900.0
    assert seconds_without_progress(ClusterStatus(last_progress_time=rfc3339(100.0), waiting=[wait]), 1000.0) == 100.0
    assert seconds_without_progress(ClusterStatus(last_progress_time=rfc3339(1001.0)), 1000.0) == 0.0


def test_a_round_that_only_does_what_the_one_before_did_moves_nothing_on() -> None:
    refused, more = (Drain(why="x", members=frozenset(members)) for members in ({"c-0"}, {"c-0", "c-1"}))
    assert repeats_previous_round((), ())
    assert repeats_previous_round((), (refused,))
    assert repeats_previous_round((refused,), (refused, more))
    assert not repeats_previous_round((refused,), ())
    assert not repeats_previous_round((more,), (refused,))
    assert not repeats_previous_round((refused, ConfigureDatabase(why="x")), (refused,))


def test_a_status_without_anything_urgent_is_written_when_it_lasts_and_at_most_once_in_some_seconds() -> None:
    clock, key = MovedClock(), Key("x", "logs")
    pace = StatusPace(clock)
    assert pace.seconds_left(key) == LASTING_SECONDS
    clock.later(LASTING_SECONDS)
    assert pace.seconds_left(key) <= 0
    pace.wrote(key)
    assert pace.seconds_left(key) == STATUS_SECONDS
    assert pace.seconds_left(key, "Starting") == STATE_SECONDS
    assert pace.seconds_left(Key("x", "other")) == LASTING_SECONDS
    clock.later(STATUS_SECONDS)
    assert pace.seconds_left(key) <= 0
    pace.wrote(key)
    pace.forget(key)
    assert pace.seconds_left(key) == LASTING_SECONDS


def test_a_state_is_written_when_it_lasts_and_a_status_that_is_again_as_written_is_not() -> None:
    clock, key = MovedClock(), Key("x", "logs")
    pace = StatusPace(clock)
    clock.later(1000.0)
    pace.seconds_left(key, "Down")
    clock.later(LASTING_SECONDS / 2)
    assert pace.seconds_left(key, "Starting") == LASTING_SECONDS
    pace.same(key)
    clock.later(LASTING_SECONDS)
    assert pace.seconds_left(key, "Starting") == LASTING_SECONDS


@pytest.mark.parametrize("period", [0.5, 1.0, 3.0, 7.0])
def test_states_that_never_last_are_written_at_a_bounded_rate(period: float) -> None:
    clock, key = MovedClock(), Key("x", "logs")
    pace, written, last = StatusPace(clock), 0, 0.0
    for step in range(int(600 / 0.5)):
        if pace.seconds_left(key, step * 0.5 // period) <= 0:
            pace.wrote(key)
            written, last = written + 1, step * 0.5
        clock.later(0.5)
    assert written <= 600 / STATE_SECONDS
    assert last >= 600 - 2 * STATUS_SECONDS, "however quickly they change, people see them"
