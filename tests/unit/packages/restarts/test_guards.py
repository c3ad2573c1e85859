"""Guards of a restart: a user's pause, a time window, and changes that have not settled."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.api.values.settling import LONGEST_SETTLE_SECONDS, SETTLE_SECONDS
from stateward.packages.restarts.guards import (
    ANNOTATION_PAUSED,
    ANNOTATION_WINDOW,
    MOST_USED,
    hold,
    settling,
    too_many,
    touched,
)

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_a_workload_without_guards_is_not_held() -> None:
    assert hold({}, NOON) is None
    assert hold({ANNOTATION_PAUSED: "false"}, NOON) is None


@pytest.mark.parametrize("value", ["true", "True", "true\n"])
def test_a_paused_workload_waits_for_the_user_that_paused_it(value: str) -> None:
    held = hold({ANNOTATION_PAUSED: value}, NOON)
    assert held is not None
    assert (held.reason, held.seconds) == ("RestartPaused", None)


@pytest.mark.parametrize(
    ("window", "hours"),
    [("11:00-13:00", None), ("12:00-12:30", None), ("22:00-04:30", 10), ("13:00-14:00", 1), ("10:00-12:00", 22)],
)
def test_a_window_holds_until_it_opens(window: str, hours: int | None) -> None:
    held = hold({ANNOTATION_WINDOW: window}, NOON)
    assert (held.seconds if held else None) == (None if hours is None else hours * 3600)


@pytest.mark.parametrize("hour", [22, 23, 0, 4])
def test_a_window_may_go_past_midnight(hour: int) -> None:
    assert hold({ANNOTATION_WINDOW: "22:00-05:00"}, NOON.replace(hour=hour)) is None


@settings(deadline=None)
@given(minutes=st.integers(0, 24 * 60 - 1))
def test_when_the_time_of_a_window_has_come_it_is_open(minutes: int) -> None:
    now = NOON + timedelta(minutes=minutes)
    held = hold({ANNOTATION_WINDOW: "03:15-03:20"}, now)
    if held is not None and held.seconds is not None:
        assert 0 < held.seconds <= 24 * 3600
        assert hold({ANNOTATION_WINDOW: "03:15-03:20"}, now + timedelta(seconds=held.seconds)) is None


@pytest.mark.parametrize("window", ["always", "25:00-26:00", "22:00", "1:00-2:00"])
def test_a_window_that_cannot_be_read_holds_and_says_what_is_accepted(window: str) -> None:
    held = hold({ANNOTATION_WINDOW: window}, NOON)
    assert held is not None
    assert held.reason == "RestartWindowInvalid"
    assert repr(window) in held.message
    assert "22:00-04:30" in held.message


def test_changes_settle_when_nothing_more_comes() -> None:
    first = settling(None, "a", 100.0)
    assert first.left(100.0) == SETTLE_SECONDS
    assert settling(first, "a", 103.0) == first
    second = settling(first, "b", 103.0)
    assert second.left(106.0) == SETTLE_SECONDS - 3
    assert second.left(108.0) <= 0


def test_a_stream_of_changes_puts_a_restart_off_only_so_long() -> None:
    changes = settling(None, "0", 0.0)
    for second in range(1, int(LONGEST_SETTLE_SECONDS)):
        changes = settling(changes, str(second), float(second))
        assert changes.left(float(second)) > 0
    assert settling(changes, "end", LONGEST_SETTLE_SECONDS).left(LONGEST_SETTLE_SECONDS) <= 0


def test_changes_that_were_not_read_yet_settle_from_the_last_received_one() -> None:
    heard = touched(touched(None, 100.0), 103.0)
    read = settling(heard, "a", 105.0)
    assert read.left(105.0) == SETTLE_SECONDS - 2
    assert settling(read, "a", 108.0).left(108.0) <= 0
    assert touched(read, 107.0).left(108.0) == SETTLE_SECONDS - 1
    stream = heard
    for second in range(104, 100 + int(LONGEST_SETTLE_SECONDS)):
        stream = touched(stream, float(second))
    assert settling(stream, "end", 100 + LONGEST_SETTLE_SECONDS).left(100 + LONGEST_SETTLE_SECONDS) <= 0


def test_a_workload_that_uses_too_many_objects_is_told_so() -> None:
    assert too_many(MOST_USED) is None
    held = too_many(MOST_USED + 1)
    assert held is not None
    assert (held.reason, held.seconds) == ("RestartSourcesTooMany", None)
    assert "501" in held.message
