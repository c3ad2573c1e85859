"""A failing run is made small: what is not needed for the failure goes, and what is needed stays."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from stateward.api.values.base import Json
from stateward.simulation.campaign.run import Outcome, Plan
from stateward.simulation.campaign.shrinking import ATTEMPTS, SEEDS, Runs, shrink
from stateward.simulation.properties.invariants import Violation

FAULTS = [f"fault {letter}" for letter in "abcdefghij"]
SPEC: Json = {"pools": [{"name": "managers", "replicas": 3}, {"name": "hot", "replicas": 4}, {"name": "gateway"}]}


def size(spec: Json | None) -> int:
    return sum(pool.get("replicas", 1) for pool in (spec or SPEC)["pools"])


def outcome(seed: int, plan: Plan, *, fails: bool, letter: str = "c", message: str = "a member is down") -> Outcome:
    occurred = {f"fault: {name}": 1 for name in FAULTS if plan.only is None or name in plan.only}
    broken = (Violation(letter, 9.0, message),) if fails else ()
    return Outcome(seed, broken, 1.0, occurred | {"profile: network and file faults": 1}, 0.0, (), plan.spec or SPEC)


def needing(faults: frozenset[str], seconds: float, members: int) -> Runs:
    """Return runs that fail only with these faults, at least so long and with so many members."""

    def runs(cases: Sequence[tuple[int, Plan]]) -> list[Outcome]:
        return [outcome(seed, plan, fails=holds(plan)) for seed, plan in cases]

    def holds(plan: Plan) -> bool:
        enough = plan.only is None or faults <= plan.only
        return enough and plan.chaos >= seconds and size(plan.spec) >= members

    return runs


@settings(max_examples=60)
@given(st.frozensets(st.sampled_from(FAULTS), max_size=3), st.integers(1, 30), st.integers(1, 8))
def test_what_the_failure_does_not_need_goes_and_all_else_stays(
    faults: frozenset[str], minutes: int, members: int
) -> None:
    plan = Plan(chaos=3600.0)
    found = shrink(outcome(5, plan, fails=True), plan, needing(faults, minutes * 60.0, members))
    assert found.plan.only == faults
    assert minutes * 60 <= found.plan.chaos < max(minutes * 60 * 2, 121)
    assert size(found.plan.spec) == members
    assert (found.plan.processes, found.plan.agents, found.plan.profile) == (1, False, "")
    assert found.attempts <= ATTEMPTS


def test_a_run_that_fails_only_as_it_is_stays_as_it_is() -> None:
    plan = Plan(chaos=600.0)
    found = shrink(outcome(5, plan, fails=True), plan, lambda cases: [outcome(s, p, fails=False) for s, p in cases])
    assert (found.seed, found.plan) == (5, plan)


def test_another_violation_is_not_mistaken_for_the_same() -> None:
    plan = Plan(chaos=600.0)

    def other(letter: str, message: str) -> Runs:
        return lambda cases: [outcome(s, p, fails=True, letter=letter, message=message) for s, p in cases]

    assert shrink(outcome(5, plan, fails=True), plan, other("e", "a member is down")).plan == plan
    late = outcome(5, plan, fails=True, letter="g", message="the desired state was not reached: no pod")
    assert shrink(late, plan, other("g", "the cluster was not created: no pod")).plan == plan
    assert shrink(late, plan, other("g", "the desired state was not reached: pods")).plan != plan


def test_a_smaller_run_is_tried_with_several_seeds() -> None:
    plan, tried = Plan(chaos=600.0), set[int]()

    def runs(cases: Sequence[tuple[int, Plan]]) -> list[Outcome]:
        tried.update(seed for seed, _ in cases)
        return [outcome(seed, plan, fails=seed != 5) for seed, plan in cases]

    found = shrink(outcome(5, plan, fails=True), plan, runs)
    assert len(tried) >= SEEDS
    assert found.seed != 5


def test_the_attempts_are_limited() -> None:
    plan = Plan(chaos=3600.0)
    assert shrink(outcome(5, plan, fails=True), plan, needing(frozenset(), 0.0, 1), attempts=3).attempts == 3


@pytest.mark.parametrize("needed", [True, False])
def test_wrong_clocks_stay_if_the_failure_needs_them(needed: bool) -> None:
    plan = Plan(chaos=3600.0)

    def runs(cases: Sequence[tuple[int, Plan]]) -> list[Outcome]:
        return [outcome(seed, each, fails=bool(each.wrong_clocks) or not needed) for seed, each in cases]

    failed = outcome(5, plan, fails=True)
    failed = structs.replace(failed, counts={**failed.counts, "operator started with a wrong clock": 2})
    assert shrink(failed, plan, runs).plan.wrong_clocks is needed
