"""How fast a disk fills: from few measurements, robust against outliers, and silent when it is not known."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.planning.model.observation import DiskSample
from stateward.planning.steps.upkeep.fill_rate import (
    ENOUGH_SECONDS,
    HORIZON,
    LIMIT,
    PERIOD,
    SHORTEST,
    fill_rate,
    full_at,
    with_sample,
)

HOUR = 3600.0


def measured(used: list[int], every: float = HOUR) -> tuple[DiskSample, ...]:
    return tuple(DiskSample(i * every, value) for i, value in enumerate(used))


def test_a_steady_rate_is_found() -> None:
    assert fill_rate(measured([100 + 7200 * i for i in range(10)])) == 2.0


def test_a_copy_that_arrives_and_leaves_does_not_change_the_rate() -> None:
    used = [7200 * i for i in range(12)]
    used[4] += 10**9
    used[5] += 10**9
    used[6] += 10**9
    assert fill_rate(measured(used)) == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("hours", [0, 3, 5])
def test_a_short_time_says_nothing(hours: int) -> None:
    assert fill_rate(measured(list(range(hours + 1)))) is None


def test_few_measurements_say_nothing() -> None:
    assert fill_rate(measured([1, 2, 3], 4 * HOUR)) is None


def test_the_time_when_a_disk_is_full_follows_from_the_last_measurement() -> None:
    known = measured([3600 * i for i in range(10)])
    assert full_at(known, 20 * 3600) == 20 * HOUR
    assert full_at(known, 0) == 9 * HOUR


def test_a_disk_that_does_not_fill_is_never_full() -> None:
    assert full_at(measured([9, 8, 7, 6, 5, 4, 3, 2]), 100) is None
    assert full_at(measured([9] * 8), 100) is None
    assert full_at((), 100) is None


def test_no_forecast_goes_beyond_a_year() -> None:
    known = measured([3600 * i for i in range(10)])
    assert full_at(known, 9 * 3600 + int(HORIZON)) is not None
    assert full_at(known, 9 * 3600 + int(HORIZON) + 1) is None


@given(st.lists(st.floats(1, 100_000), min_size=1, max_size=300))
def test_few_measurements_cover_the_whole_time(pauses: list[float]) -> None:
    now, began = 0.0, 0.0
    kept: tuple[DiskSample, ...] = ()
    for pause in pauses:
        now += pause
        began = began or now
        kept = with_sample(kept, DiskSample(now, 1))
        assert 1 <= len(kept) <= LIMIT
        assert [s.at for s in kept] == sorted({s.at for s in kept})
        assert all(b.at - a.at >= SHORTEST for a, b in pairwise(kept))
        assert now - kept[0].at <= PERIOD
        assert kept[0].at == began or began < now - PERIOD
        assert now - kept[-1].at < max(SHORTEST, PERIOD / LIMIT)


def test_a_day_of_measurements_is_enough_and_does_not_fill_the_status() -> None:
    kept: tuple[DiskSample, ...] = ()
    for minute in range(24 * 60):
        kept = with_sample(kept, DiskSample(minute * 60.0, minute))
    assert len(kept) <= LIMIT
    times = [sample.at for sample in kept]
    assert max(times) - min(times) > ENOUGH_SECONDS
    assert fill_rate(kept) == pytest.approx(1 / 60)


def test_a_clock_that_was_set_back_drops_what_it_makes_the_future() -> None:
    kept = with_sample(measured([1, 2, 3]), DiskSample(HOUR, 9))
    assert [s.at for s in kept] == [0.0, HOUR]
