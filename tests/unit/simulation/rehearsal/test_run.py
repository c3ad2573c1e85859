"""One run: without faults it is the forecast, and a seed repeats it."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.forecast.forecast import run_forecast
from stateward.simulation.rehearsal.faults import Kind
from stateward.simulation.rehearsal.rehearsal import Rehearsal, one_run
from stateward.simulation.rehearsal.run import play
from stateward.simulation.rehearsal.timings import FIXED, drawn
from tests.unit.cli.clusters import changed, running
from tests.unit.simulation.rehearsal.samples import START, USUAL, Watched, fault, restart, settled, upgrade

KINDS = st.sampled_from(list(Kind))
SECONDS = st.floats(0.0, 2000.0)


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "an upgrade": lambda spec: spec.update(version="2.19.5"),
    "an upgrade of safe sets": lambda spec: spec.update(version="2.19.5", update={"maxUnavailable": "100%"}),
    "a change of the configuration": lambda spec: spec.update(config={"indices.recovery.max_bytes_per_sec": "80mb"}),
    "more members": lambda spec: spec["pools"][1].update(replicas=5),
    "fewer members": lambda spec: spec["pools"][1].update(replicas=2),
    "more managers": lambda spec: spec["pools"][0].update(replicas=5),
    "fewer managers": lambda spec: spec["pools"][0].update(replicas=1),
    "larger volumes": lambda spec: spec["pools"][1].update(storage={"size": "40Gi"}),
    "smaller volumes": lambda spec: spec["pools"][1].update(storage={"size": "10Gi"}),
    "a pool less": lambda spec: spec["pools"].pop(2),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("agents", [False, True])
def test_without_faults_and_with_the_usual_timings_a_run_is_the_plan(edit: str, *, agents: bool) -> None:
    before = running()
    members = tuple(replace(m, pod=m.pod and replace(m.pod, agent=agents)) for m in before.members)
    start = replace(changed(EDITS[edit], replace(before, members=members)), live=True)
    planned = run_forecast(start, START, USUAL)
    run = play(start, START, drawn(USUAL, FIXED, 1), 1)
    assert run.completed
    assert run.seconds == planned.ended_at - START > 0.0


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
    start = data.draw(st.sampled_from([upgrade(), restart()]))
    names = data.draw(st.sets(st.sampled_from([m.name for m in start.members]), min_size=1, max_size=4))
    run = Watched(start, fault(kind, *sorted(names), seconds=seconds, at=at))
    outcome = run.outcome
    assert outcome.completed or outcome.waits_for[0]
    assert outcome.red.seconds <= outcome.refused.seconds + 1e-6
    assert outcome.red.seconds <= outcome.single.seconds + 1e-6
    if outcome.completed:
        assert {m.pod.version for m in run.end.members if m.pod is not None} == {start.desired.version}


def test_the_step_in_progress_at_the_fault_is_named() -> None:
    run = Watched(upgrade(), fault(Kind.NODE, "logs-hot-0", at=10.0))
    assert run.outcome.during.startswith("the recreation of logs-")
