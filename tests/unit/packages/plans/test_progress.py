"""The progress of a plan: order, waiting, retries, failures, and no state outside of the record."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.packages.format.records import Package
from stateward.packages.plans.progress import (
    ENDED,
    LONGEST_DELAY_SECONDS,
    Result,
    Run,
    Stage,
    StepName,
    StepProgress,
    advance,
    next_look,
    ready,
    stage,
)
from tests.unit.packages.samples import OPERATOR, shop

SHAPE = """\
  shaped:
    strategy: {plan}
    phases:
    - name: a
      strategy: {phase}
      steps: [{{name: "1", tasks: [app]}}, {{name: "2", tasks: [app]}}]
    - name: b
      strategy: {phase}
      steps: [{{name: "3", tasks: [app]}}]
"""
ALL = (("a", "1"), ("a", "2"), ("b", "3"))


def package(plan: str = "serial", phase: str = "serial") -> Package:
    return shop({"operator.yaml": OPERATOR + SHAPE.format(plan=plan, phase=phase)})


def run(results: Mapping[StepName, Result] | None = None, timeout: float = 0.0) -> Run:
    return advance(Run("shaped", 0.0, timeout=timeout), results or {}, 0.0)


def done(*names: StepName) -> dict[StepName, Result]:
    return {name: Result(Stage.DONE) for name in names}


@pytest.mark.parametrize(
    ("plan", "phase", "first"),
    [
        ("serial", "serial", ALL[:1]),
        ("serial", "parallel", ALL[:2]),
        ("parallel", "serial", (ALL[0], ALL[2])),
        ("parallel", "parallel", ALL),
    ],
)
def test_steps_come_in_the_order_that_the_strategies_say(plan: str, phase: str, first: tuple[StepName, ...]) -> None:
    assert ready(package(plan, phase), run(), 0.0) == first


def test_a_step_that_waits_for_health_is_tried_until_it_is_done_and_the_next_comes_after_it() -> None:
    waiting = run({ALL[0]: Result(Stage.WAITING, "1 of 2 pods are ready")})
    assert ready(package(), waiting, 1.0) == ALL[:1]
    assert waiting.step(ALL[0]).message == "1 of 2 pods are ready"
    assert ready(package(), advance(waiting, done(ALL[0]), 2.0), 2.0) == ALL[1:2]


def test_an_error_that_may_pass_is_tried_again_after_a_growing_delay() -> None:
    now, found, delays = 0.0, run(), list[float]()
    for _ in range(10):
        found = advance(found, {ALL[0]: Result(Stage.RETRYING, "no answer")}, now)
        assert ready(package(), found, now) == ()
        delay = next_look(found, now)
        assert delay is not None
        delays.append(delay)
        now += delay
        assert ready(package(), found, now) == ALL[:1]
    assert delays[:3] == [2.0, 4.0, 8.0]
    assert max(delays) == LONGEST_DELAY_SECONDS


def test_a_fatal_error_ends_the_plan() -> None:
    failed = run({ALL[0]: Result(Stage.FAILED, "the job has failed")})
    assert stage(package("parallel"), failed) is Stage.FAILED
    assert ready(package("parallel"), failed, 0.0) == ()


def test_a_step_that_takes_too_long_fails_and_says_what_it_waited_for() -> None:
    waiting = run({ALL[0]: Result(Stage.WAITING, "0 of 1 pods are ready")}, timeout=60.0)
    assert next_look(waiting, 20.0) == 40.0
    late = advance(waiting, {ALL[0]: Result(Stage.WAITING, "0 of 1 pods are ready")}, 60.0)
    assert late.step(ALL[0]).stage is Stage.FAILED
    assert late.step(ALL[0]).message == "did not finish within 60 seconds: 0 of 1 pods are ready"


def test_a_step_that_became_late_between_two_attempts_is_looked_at_when_the_next_one_is_due() -> None:
    """To look for it until then would be a hot loop, of up to two minutes."""
    found = run(timeout=60.0)
    for now in (0.0, 2.0, 6.0, 14.0, 30.0):
        assert ready(package(), found, now) == ALL[:1]
        found = advance(found, {ALL[0]: Result(Stage.RETRYING, "no answer")}, now)
    assert next_look(found, 30.0) == 30.0
    assert ready(package(), found, 60.0) == ()
    assert next_look(found, 60.0) == 2.0
    assert advance(found, {ALL[0]: Result(Stage.RETRYING, "no answer")}, 62.0).step(ALL[0]).stage is Stage.FAILED


def test_a_plan_without_steps_is_done() -> None:
    empty = shop({"operator.yaml": OPERATOR + "  shaped: {phases: []}\n"})
    assert stage(empty, run()) is Stage.DONE


RESULTS = st.sampled_from([Stage.DONE, Stage.WAITING, Stage.RETRYING, Stage.FAILED])


@settings(deadline=None)
@given(
    plan=st.sampled_from(["serial", "parallel"]),
    phase=st.sampled_from(["serial", "parallel"]),
    script=st.lists(st.lists(RESULTS, min_size=3, max_size=3), max_size=12),
)
def test_whatever_happens_the_order_holds_and_a_plan_ends_only_when_it_is_over(
    plan: str, phase: str, script: list[list[Stage]]
) -> None:
    shaped, found, now = package(plan, phase), run(), 0.0
    for row in script:
        tried = ready(shaped, found, now)
        if plan == "serial" and any(name[0] == "b" for name in tried):
            assert all(found.step(name).stage is Stage.DONE for name in ALL[:2])
        if phase == "serial" and ALL[1] in tried:
            assert found.step(ALL[0]).stage is Stage.DONE
        assert not any(found.step(name).stage in ENDED for name in tried)
        found = advance(found, {name: Result(row[ALL.index(name)]) for name in tried}, now)
        now += next_look(found, now) or 1.0
    ended = stage(shaped, found)
    stages = {found.step(name).stage for name in ALL}
    assert (ended is Stage.DONE) == (stages == {Stage.DONE})
    assert (ended is Stage.FAILED) == (Stage.FAILED in stages)
    assert ended in ENDED or ready(shaped, found, now + LONGEST_DELAY_SECONDS)


def test_steps_that_have_not_been_tried_are_not_late() -> None:
    found = advance(run(timeout=60.0), {ALL[0]: Result(Stage.WAITING)}, 100.0)
    everything = advance(found, {ALL[1]: Result(Stage.WAITING)}, 100.0)
    pending = replace(found, steps={**found.steps, ALL[1]: StepProgress()})
    assert next_look(pending, 101.0) == next_look(everything, 101.0) == 59.0


@pytest.mark.parametrize("ahead", [LONGEST_DELAY_SECONDS + 1, 1e9])
def test_a_step_whose_next_attempt_was_stored_by_a_clock_that_was_ahead_is_tried_at_once(ahead: float) -> None:
    found = run()
    late = replace(found, steps={ALL[0]: StepProgress(Stage.RETRYING, "", 0.0, 1, 100.0 + ahead)})
    assert ready(package(), late, 100.0) == ALL[:1]
    assert next_look(late, 100.0) is None
    soon = replace(found, steps={ALL[0]: StepProgress(Stage.RETRYING, "", 0.0, 1, 100.0 + LONGEST_DELAY_SECONDS)})
    assert ready(package(), soon, 100.0) == ()


@given(st.floats(min_value=0, max_value=1e9))
def test_a_step_that_began_ahead_has_its_time_from_now(ahead: float) -> None:
    late = replace(run(timeout=60.0), steps={ALL[0]: StepProgress(Stage.WAITING, "", 100.0 + ahead)})
    found = advance(late, {ALL[0]: Result(Stage.WAITING)}, 100.0)
    assert found.step(ALL[0]) == StepProgress(Stage.WAITING, "", 100.0)
    assert advance(found, {ALL[0]: Result(Stage.WAITING)}, 159.0).step(ALL[0]).stage is Stage.WAITING
    assert advance(found, {ALL[0]: Result(Stage.WAITING)}, 160.0).step(ALL[0]).stage is Stage.FAILED
