"""Drawn durations: around the usual ones, and the same for the same seed."""

from math import log
from statistics import median, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.forecast.durations import REACTION, Durations, News
from stateward.simulation.rehearsal.timings import FIXED, Spread, StartFactors, drawn

USUAL = Durations(starts={"hot": 90.0})


def test_without_spread_everything_takes_as_long_as_usual() -> None:
    found = drawn(USUAL, FIXED, 7)
    assert found.start_of("hot", "logs-hot-0") == 90.0
    assert (found.stop, found.rate, found.reopen, found.grow) == (USUAL.stop, USUAL.rate, USUAL.reopen, USUAL.grow)


def test_the_settings_of_the_database_are_not_drawn() -> None:
    found = drawn(USUAL, Spread(), 7)
    assert (found.at_once, found.delay) == (USUAL.at_once, USUAL.delay)


@given(seed=st.integers())
def test_a_seed_repeats_its_durations(seed: int) -> None:
    first, second = drawn(USUAL, Spread(), seed), drawn(USUAL, Spread(), seed)
    assert (first.stop, first.rate, first.reopen, first.grow) == (second.stop, second.rate, second.reopen, second.grow)
    assert [first.start_of("hot", "a") for _ in range(3)] == [second.start_of("hot", "a") for _ in range(3)]


def test_starts_vary_around_the_usual_one_by_the_measured_spread() -> None:
    logs = [drawn(USUAL, Spread(start=0.4, usual=0.0), seed).start_of("hot", "a") / 90.0 for seed in range(400)]
    assert median(logs) == pytest.approx(1.0, abs=0.06)
    assert 0.3 < stdev(logs) < 0.6


def test_each_start_of_a_member_is_drawn_apart_from_all_others() -> None:
    alone, mixed = StartFactors(1, Spread(start=0.3)), StartFactors(1, Spread(start=0.3))
    wanted = [alone("a", False), alone("a", False)]
    found = [mixed("a", False), mixed("b", False), mixed("a", False)]
    assert [found[0], found[2]] == wanted
    assert len(set(found)) == 3


def test_first_starts_of_new_members_vary_more_around_the_same_usual_one() -> None:
    spread = Spread(start=0.3, first=0.4, usual=0.0)
    logs = [log(drawn(USUAL, spread, seed).start_of("hot", "a", new=True) / 90.0) for seed in range(400)]
    assert median(logs) == pytest.approx(0.0, abs=0.06)
    assert stdev(logs) == pytest.approx(0.5, abs=0.06)


def test_the_usual_start_is_drawn_once_for_all_starts_of_a_run() -> None:
    runs = [drawn(USUAL, Spread(start=0.0, usual=0.5), seed) for seed in range(200)]
    pairs = [(run.start_of("hot", "a"), run.start_of("hot", "b")) for run in runs]
    assert all(first == second for first, second in pairs)
    assert 0.4 < stdev(log(first / 90.0) for first, _ in pairs) < 0.6


def test_a_change_is_noticed_at_once_or_after_twice_the_usual_time_or_in_between() -> None:
    found = drawn(USUAL, Spread(), 7)
    reactions = [found.reaction_to(News.SILENT, closely=False) for _ in range(400)]
    assert all(0.0 <= seconds <= 2 * REACTION for seconds in reactions)
    assert median(reactions) == pytest.approx(REACTION, abs=0.2)
    assert min(reactions) < 0.1 < 2 * REACTION - 0.1 < max(reactions)
    again = drawn(USUAL, Spread(), 7)
    assert [again.reaction_to(News.SILENT, closely=False) for _ in range(400)] == reactions


def test_what_kubernetes_reports_is_noticed_sooner() -> None:
    silent = USUAL.reaction_to(News.SILENT, closely=False)
    assert USUAL.reaction_to(News.EVENT, closely=False) == USUAL.reaction_to(News.SILENT, closely=True) < silent
