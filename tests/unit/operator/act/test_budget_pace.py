"""Disruption budgets are tightened at once, and relaxed when they have been allowed to for some seconds."""

from stateward.kube.objects.metadata import Key
from stateward.operator.act.budget_pace import RELAX_SECONDS, BudgetPace
from stateward.planning.safety.disruption_budget import Budget
from tests.support.moved_clock import MovedClock

KEY = Key("prod", "logs")
OPEN, CLOSED = Budget("data", ("data",), 3, 1), Budget("data", ("data",), 3, 0)


def test_a_budget_is_tightened_at_once_also_in_a_busy_cluster() -> None:
    assert BudgetPace(MovedClock()).paced(KEY, [CLOSED], {"data": 2}, settled=False) == (CLOSED,)


def test_a_budget_is_relaxed_at_once_in_a_settled_cluster() -> None:
    assert BudgetPace(MovedClock()).paced(KEY, [OPEN], {"data": 3}, settled=True) == (OPEN,)


def test_a_budget_that_does_not_exist_yet_is_written_as_it_is() -> None:
    assert BudgetPace(MovedClock()).paced(KEY, [OPEN], {}, settled=False) == (OPEN,)


def test_in_a_busy_cluster_a_budget_is_relaxed_when_it_could_be_for_some_seconds_without_interruption() -> None:
    clock = MovedClock()
    pace = BudgetPace(clock)
    for _ in range(2):
        assert pace.paced(KEY, [OPEN], {"data": 3}, settled=False) == (CLOSED,)
        clock.later(RELAX_SECONDS - 0.1)
        assert pace.paced(KEY, [OPEN], {"data": 3}, settled=False) == (CLOSED,)
        assert pace.paced(KEY, [CLOSED], {"data": 3}, settled=False) == (CLOSED,)
    pace.paced(KEY, [OPEN], {"data": 3}, settled=False)
    clock.later(RELAX_SECONDS)
    assert pace.paced(KEY, [OPEN], {"data": 3}, settled=False) == (OPEN,)


def test_a_deleted_cluster_leaves_nothing_to_the_next_one_of_its_name() -> None:
    clock = MovedClock()
    pace = BudgetPace(clock)
    pace.paced(KEY, [OPEN], {"data": 3}, settled=False)
    pace.forget(KEY)
    clock.later(RELAX_SECONDS)
    assert pace.paced(KEY, [OPEN], {"data": 3}, settled=False) == (CLOSED,)
