"""Events of a snapshot schedule: each one is sent once, when it is new."""

import pytest

from stateward.api.kinds.snapshots.schedule import ScheduledSnapshot, SearchSnapshotScheduleStatus, SnapshotFailure
from stateward.api.kinds.snapshots.verification import FailedVerification, VerificationStatus, VerifiedSnapshot
from stateward.operator.declared.snapshots.schedule import has_failed, news

Status = SearchSnapshotScheduleStatus
ONE, TWO = (Status(last_success=ScheduledSnapshot(name=name)) for name in ("one", "two"))
FAILED, AGAIN = (Status(last_failure=SnapshotFailure(name=name)) for name in ("one", "two"))
GOOD = Status(verification=VerificationStatus(last_success=VerifiedSnapshot(name="one")))
BETTER = Status(verification=VerificationStatus(last_success=VerifiedSnapshot(name="two")))
BAD = Status(verification=VerificationStatus(last_failure=FailedVerification(name="one")))
WORSE = Status(verification=VerificationStatus(last_failure=FailedVerification(name="two")))


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        (Status(), Status(), []),
        (Status(), ONE, ["SnapshotTaken"]),
        (ONE, ONE, []),
        (ONE, TWO, ["SnapshotTaken"]),
        (ONE, Status(), []),
        (Status(), GOOD, ["SnapshotVerified"]),
        (GOOD, GOOD, []),
        (GOOD, BETTER, ["SnapshotVerified"]),
        (GOOD, Status(), []),
        (Status(), BAD, ["VerificationFailed"]),
        (BAD, BAD, []),
        (BAD, WORSE, ["VerificationFailed"]),
        (BAD, Status(), []),
        (Status(), FAILED, []),
    ],
)
def test_what_is_new_is_told_once(before: Status, after: Status, reasons: list[str]) -> None:
    assert [reason for _, reason, _ in news(before, after)] == reasons


@pytest.mark.parametrize(
    ("before", "after", "failed"),
    [
        (Status(), FAILED, True),
        (FAILED, FAILED, False),
        (FAILED, AGAIN, True),
        (FAILED, Status(), False),
        (Status(), ONE, False),
    ],
)
def test_each_failed_snapshot_is_counted_once(before: Status, after: Status, failed: bool) -> None:
    assert has_failed(before, after) is failed
