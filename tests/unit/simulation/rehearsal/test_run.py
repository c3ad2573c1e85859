"""One run: without faults it is the forecast, and a seed repeats it."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.simulation.forecast.forecast import run_forecast
from stateward.simulation.rehearsal.faults import Kind
from stateward.simulation.rehearsal.rehearsal import Rehearsal, one_run
from stateward.simulation.rehearsal.run import play
from stateward.simulation.rehearsal.timings import FIXED, drawn
from tests.unit.simulation.rehearsal.samples import START, USUAL, Watched, fault, settled, upgrade

KINDS = st.sampled_from(list(Kind))
SECONDS = st.floats(0.0, 2000.0)


@pytest.mark.parametrize("copies", [1, 2])
def test_without_faults_and_with_the_usual_timings_a_run_is_the_plan(copies: int) -> None:
    start = upgrade(copies)
    planned = run_forecast(start, START, USUAL)
    run = play(start, START, drawn(USUAL, FIXED, 1), 1)
    assert run.completed
    assert run.seconds == planned.ended_at - START


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), kinds=st.sets(KINDS))
def test_a_seed_repeats_its_run(seed: int, kinds: set[Kind]) -> None:
    rehearsal = Rehearsal(upgrade(), START, USUAL, kinds=tuple(sorted(kinds)))
    first, second = one_run(rehearsal, seed), one_run(rehearsal, seed)
    assert msgspec.structs.asdict(first) == msgspec.structs.asdict(second)


@given(kind=KINDS, seconds=SECONDS, number=st.integers(0, 2))
def test_a_fault_of_a_settled_cluster_never_gives_it_a_second_copy(kind: Kind, seconds: float, number: int) -> None:
    """In a cluster with changes a fault may spare a member the restart that it would have had."""
    run = Watched(settled(), fault(kind, f"logs-hot-{number}", seconds=seconds)).outcome
    assert play(settled(), START, USUAL, 0).single.seconds == 0.0
    assert run.single.seconds >= (0.0 if kind is Kind.DISK else min(seconds, 60.0) - 0.001)


@settings(max_examples=40)
@given(kind=KINDS, seconds=st.one_of(SECONDS, st.just(float("inf"))), at=st.floats(0.0, 700.0), data=st.data())
def test_every_run_ends_and_its_measures_fit_together(
    kind: Kind, seconds: float, at: float, data: st.DataObject
) -> None:
    start = upgrade()
    names = data.draw(st.sets(st.sampled_from([m.name for m in start.members]), min_size=1, max_size=4))
    run = Watched(start, fault(kind, *sorted(names), seconds=seconds, at=at))
    outcome = run.outcome
    assert outcome.completed or outcome.waits_for[0]
    assert outcome.red.seconds <= outcome.refused.seconds + 1e-6
    assert outcome.red.seconds <= outcome.single.seconds + 1e-6
    if outcome.completed:
        assert {m.pod.version for m in run.end.members if m.pod is not None} == {"2.19.5"}


def test_the_step_in_progress_at_the_fault_is_named() -> None:
    run = Watched(upgrade(), fault(Kind.NODE, "logs-hot-0", at=10.0))
    assert run.outcome.during.startswith("the recreation of logs-")
