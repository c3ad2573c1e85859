"""The status while reconciliation fails: the failure is added once, and nothing else that was known is lost."""

from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus, WaitStatus
from stateward.api.values.conditions import condition
from stateward.planning.report.reconcile_failure import REASON, failure_status

BEFORE = ClusterStatus(
    observed_generation=3,
    waiting=[
        WaitStatus(
            subject="c-hot-1",
            reason="RepairNotSafe",
            message="it holds the last copy",
            since_time="1970-01-01T00:01:00Z",
        )
    ],
    conditions=[condition("Ready", status=True, reason="Ready", message=""), condition("Paused", False, "Runs", "")],
)


def test_a_failure_is_reported_once_since_it_began_beside_everything_that_waits() -> None:
    first = failure_status(BEFORE, "c", "it fails with KeyError", 120.0)
    again = failure_status(first, "c", "it fails with ValueError", 180.0)
    assert [(wait.subject, wait.reason, wait.message) for wait in again.waiting] == [
        ("c", REASON, "it fails with ValueError"),
        ("c-hot-1", "RepairNotSafe", "it holds the last copy"),
    ]
    assert again.waiting[0].since_time == first.waiting[0].since_time == "1970-01-01T00:02:00Z"
    assert replace(again, activity="", waiting=[], conditions=[]) == replace(BEFORE, waiting=[], conditions=[])


def test_the_conditions_say_that_it_is_stalled_and_no_other_condition_changes() -> None:
    failed = failure_status(BEFORE, "c", "it fails with KeyError", 120.0)
    assert {each.type: each.status for each in failed.conditions} == {
        "Ready": "False",
        "Reconciling": "False",
        "Stalled": "True",
        "Paused": "False",
    }
