"""The next step of the verification of a schedule's snapshots, decided from what exists."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.kinds.search_object import SearchObject
from stateward.api.kinds.snapshots.restore import RestoredIndex, RestorePhase, SearchRestoreStatus
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.engines.search.snapshots.throwaway import Source
from stateward.engines.search.snapshots.verification import PATIENCE, Do, Part, Seen, Wanted, decide, refused
from stateward.planning.model.times import parse_time, rfc3339
from tests.unit.operator.declared.world import CLUSTER, HOME

MIDNIGHT = parse_time("2026-01-01T00:00:00Z") or 0.0
MADE = "2025-12-31T23:50:00Z"
VERIFY = {"schedule": "0 */6 * * *", "timeLimit": "1h"}
RUNNING = {"snapshot": "hourly-1", "startTime": "2026-01-01T00:00:00Z"}
OURS = Part("uid", ours=True)
READY = replace(OURS, ready=True)
WEDGED = replace(OURS, stalled="Refused", message="it cannot")


def wanted(seconds: float = 60, known: dict[str, Any] | None = None, **spec: Any) -> Wanted:
    """Return a schedule some seconds after midnight, with what its status has of verifications."""
    document = {
        "metadata": {"name": "hourly", "namespace": HOME, "uid": "u", "creationTimestamp": MADE},
        "spec": {
            "cluster": {"kind": "OpenSearchCluster", "name": "logs"},
            "repository": "files",
            "schedule": "0 * * * *",
            "verify": VERIFY,
            **spec,
        },
        "status": {"verification": known or {}},
    }
    return Wanted(msgspec.convert(document, SearchSnapshotSchedule), MIDNIGHT + seconds)


def seen(**parts: Any) -> Seen:
    """Return a cluster of the schedule with its parts."""
    return replace(Seen(allowed=True, cluster=OURS), **parts)


@pytest.mark.parametrize(
    ("found", "makes"),
    [
        (wanted(), True),
        (wanted(-60), False),
        (wanted(paused=True), False),
        (wanted(verify=None), False),
        (wanted(-60, RUNNING), True),
        (wanted(-60, RUNNING, paused=True), True),
        (wanted(60, RUNNING, verify=None), False),
        (wanted(60, {**RUNNING, "ended": True}), False),
        (wanted(60, {**RUNNING, "ended": True}, verify=None), False),
    ],
)
def test_a_cluster_is_made_for_a_verification_that_is_due_or_has_begun(found: Wanted, makes: bool) -> None:
    assert found.makes_cluster() is makes


@pytest.mark.parametrize(
    ("found", "concerns"),
    [
        (wanted(), True),
        (wanted(verify=None), False),
        (wanted(60, RUNNING, verify=None), True),
        (wanted(verify={"schedule": "0 0 30 2 *"}), False),
        (wanted(60, RUNNING, verify={"schedule": "0 0 30 2 *"}), True),
    ],
)
def test_nothing_is_read_without_a_verification(found: Wanted, concerns: bool) -> None:
    assert found.concerns_cluster() is concerns


def test_a_verification_is_overdue_after_two_times_without_success() -> None:
    assert wanted().overdue() == MIDNIGHT + 6 * 3600
    success = {"lastSuccess": {"name": "hourly-1", "time": "2026-01-01T06:30:00Z"}}
    assert wanted(known=success).overdue() == MIDNIGHT + 18 * 3600
    assert wanted(verify={"schedule": "0 0 30 2 *"}).overdue() == parse_time(MADE)
    assert wanted(paused=True).overdue() is None
    assert wanted(verify=None).overdue() is None


def test_what_is_known_of_a_verification_is_cleared_once_its_cluster_is_gone() -> None:
    known = {**RUNNING, "ended": True, "stalledTime": "2026-01-01T00:01:00Z", "stalledMessage": "it cannot"}
    for found in (wanted(known=known), wanted(known=known, verify=None), wanted(known=RUNNING, verify=None)):
        step = decide(found, seen(cluster=None))
        assert step.do is Do.NOTE
        assert step.status == replace_known(found, snapshot="", start_time="", ended=False)
    assert decide(wanted(verify=None), seen(cluster=None)).do is Do.NOTHING


def replace_known(found: Wanted, **fields: Any) -> Any:
    return msgspec.structs.replace(found.known, stalled_time="", stalled_message="", **fields)


@pytest.mark.parametrize(
    ("found", "cluster", "does"),
    [
        (wanted(known=RUNNING), OURS, Do.WAIT),
        (wanted(known=RUNNING), replace(OURS, terminating=True), Do.WAIT),
        (wanted(known=RUNNING, verify=None), OURS, Do.DELETE),
        (wanted(known=RUNNING, verify=None), replace(OURS, terminating=True), Do.WAIT),
        (wanted(known={**RUNNING, "ended": True}), OURS, Do.DELETE),
        (wanted(), OURS, Do.DELETE),
        # It belongs to someone else.
        (wanted(known=RUNNING), replace(OURS, ours=False), Do.WAIT),
        (wanted(known=RUNNING, verify=None), replace(OURS, ours=False), Do.NOTE),
    ],
)
def test_a_cluster_is_deleted_only_if_it_is_of_the_schedule_and_not_asked_for(
    found: Wanted, cluster: Part, does: Do
) -> None:
    assert decide(found, seen(cluster=cluster)).do is does


SUCCESS = {"lastSuccess": {"name": "hourly-1"}}
SOURCE = Source(msgspec.convert(CLUSTER, OpenSearchCluster), CLUSTER["spec"])
DECLARED = msgspec.convert(
    {
        "metadata": {"name": "files", "namespace": HOME},
        "spec": {
            "cluster": {"kind": "OpenSearchCluster", "name": "logs"},
            "object": "snapshotRepository/files",
            "body": {"type": "fs", "settings": {}},
        },
    },
    SearchObject,
)
FREE = Seen(allowed=True, source=SOURCE, declared=DECLARED)
"""Nothing is in the way of a throw-away cluster."""


def with_success(found: Wanted) -> Wanted:
    """Return a schedule that has a successful snapshot."""
    status = msgspec.convert({"verification": msgspec.to_builtins(found.known), **SUCCESS}, type(found.schedule.status))
    return replace(found, schedule=msgspec.structs.replace(found.schedule, status=status))


def test_a_verification_begins_with_the_newest_snapshot_and_then_has_its_cluster() -> None:
    step = decide(with_success(wanted()), FREE)
    assert (step.do, step.status.snapshot, step.status.start_time) == (Do.NOTE, "hourly-1", "2026-01-01T00:01:00Z")
    assert step.status.last_schedule_time == "2026-01-01T00:00:00Z"
    assert step.status.next_schedule_time == "2026-01-01T06:00:00Z"
    step = decide(wanted(known=RUNNING), FREE)
    assert (step.do, step.made is not None) == (Do.MAKE, True)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"allowed": False}, "VerificationDisabled"),
        ({"source": None}, "ClusterMissing"),
        ({"declared": None}, "RepositoryNotDeclared"),
        ({"remains": "Pod logs-0"}, "VerificationEnds"),
        ({"cluster": replace(OURS, ours=False)}, "VerificationNameTaken"),
    ],
)
def test_no_cluster_is_made_while_something_is_in_the_way(parts: dict[str, Any], reason: str) -> None:
    for found in (with_success(wanted()), wanted(known=RUNNING)):
        step = decide(found, replace(FREE, **parts))
        assert (step.do, step.status.reason, step.made) == (Do.WAIT, reason, None)


def test_nothing_begins_without_a_snapshot_or_while_the_schedule_is_paused() -> None:
    step = decide(wanted(), FREE)
    assert (step.do, step.status.reason) == (Do.WAIT, "NoSnapshot")
    for found in (wanted(-60), wanted(paused=True)):
        step = decide(with_success(found), FREE)
        assert (step.do, step.status.snapshot) == (Do.NOTHING, "")
    assert step.status.next_schedule_time == ""


def test_a_verification_without_a_cluster_ends_at_its_time_limit() -> None:
    assert not decide(wanted(3599, RUNNING), FREE).status.ended
    assert decide(wanted(3600, RUNNING), FREE).status.ended


@pytest.mark.parametrize("part", ["repository", "restore"])
def test_a_part_of_others_is_told(part: str) -> None:
    step = decide(wanted(known=RUNNING), seen(**{"repository": READY, part: replace(READY, ours=False)}))
    assert (step.do, step.status.reason) == (Do.WAIT, "VerificationNameTaken")


def test_the_message_is_that_of_the_last_part_that_says_something() -> None:
    cluster, repository = replace(OURS, message="pods start"), replace(OURS, message="it waits")
    for parts, text in (
        ({"cluster": cluster, "repository": repository}, "it waits"),
        ({"cluster": cluster, "repository": OURS}, "pods start"),
        ({"repository": OURS}, "its cluster is being formed"),
        ({"repository": READY, "restore": replace(OURS, message="half")}, "half"),
        ({"repository": READY, "restore": OURS}, "the restore begins"),
    ):
        assert decide(wanted(known=RUNNING), seen(**parts)).status.activity == f"hourly-1 is being restored: {text}"


DONE = SearchRestoreStatus(
    phase=RestorePhase.DONE,
    indices=[RestoredIndex(name="a", source="a"), RestoredIndex(name="b", source="b")],
    documents=7,
)


def test_a_restore_that_is_done_is_a_success() -> None:
    step = decide(wanted(90.4, RUNNING), seen(repository=READY, restore=READY, restored=DONE))
    success = step.status.last_success
    assert success is not None
    assert (step.do, step.status.ended, success.name) == (Do.NOTE, True, "hourly-1")
    assert (success.time, success.seconds) == (rfc3339(MIDNIGHT + 90.4), 90)
    assert (success.indices, success.documents) == (2, 7)


def test_a_restore_of_others_proves_nothing() -> None:
    theirs = replace(READY, ours=False, stalled="RestoreFailed", message="it failed")
    for restored in (DONE, SearchRestoreStatus()):
        step = decide(wanted(known=RUNNING), seen(repository=READY, restore=theirs, restored=restored))
        assert (step.status.ended, step.status.last_success, step.status.last_failure) == (False, None, None)


@pytest.mark.parametrize(("reason", "ended"), [("RestoreFailed", True), ("RestoreRefused", True), ("Other", False)])
def test_a_restore_that_ends_in_failure_ends_the_verification(reason: str, ended: bool) -> None:
    stuck = replace(OURS, stalled=reason, message="it failed")
    step = decide(
        wanted(known=RUNNING), seen(repository=READY, restore=stuck, restored=SearchRestoreStatus(phase="Failed"))
    )
    assert step.status.ended is ended
    assert (step.status.last_failure is not None) is ended
    if step.status.last_failure is not None:
        assert step.status.last_failure.reason == "it failed"


@pytest.mark.parametrize(("seconds", "ended"), [(3599, False), (3600, True)])
def test_a_verification_ends_at_its_time_limit(seconds: float, ended: bool) -> None:
    step = decide(wanted(seconds, RUNNING), seen(repository=replace(OURS, message="it waits")))
    assert step.status.ended is ended
    if step.status.last_failure is not None:
        assert step.status.last_failure.reason.endswith("(spec.verify.timeLimit): it waits")


SINCE = "2026-01-01T00:00:30Z"


@pytest.mark.parametrize(
    ("stalled", "parts", "after"),
    [
        # Nothing stalls: a time that is known stays, since what stalls tries again and does not stall for a moment.
        ("", {"repository": OURS}, ""),
        (SINCE, {"repository": OURS}, SINCE),
        # Something stalls: from now on, or from then.
        ("", {"repository": WEDGED}, "2026-01-01T00:01:00Z"),
        (SINCE, {"repository": WEDGED}, SINCE),
        (SINCE, {"repository": READY, "restore": WEDGED}, SINCE),
        # A step forward.
        (SINCE, {"repository": READY, "declared": None}, ""),
        (SINCE, {"repository": READY, "restore": OURS, "restored": SearchRestoreStatus(phase="Restoring")}, ""),
        (SINCE, {"repository": READY, "restore": OURS, "restored": SearchRestoreStatus()}, SINCE),
        (SINCE, {"repository": READY, "restore": WEDGED, "restored": SearchRestoreStatus(phase="Restoring")}, SINCE),
    ],
)
def test_the_time_since_which_something_stalls_is_kept_until_a_step_forward(
    stalled: str, parts: dict[str, Any], after: str
) -> None:
    found = wanted(60, {**RUNNING, "stalledTime": stalled, "stalledMessage": "before" if stalled else ""})
    status = decide(found, seen(**parts)).status
    assert status.stalled_time == after
    assert bool(status.stalled_message) is bool(after)


@pytest.mark.parametrize(("seconds", "ended"), [(PATIENCE - 1, False), (PATIENCE, True)])
def test_what_stalls_for_long_ends_the_verification(seconds: float, ended: bool) -> None:
    known = {**RUNNING, "stalledTime": RUNNING["startTime"], "stalledMessage": "it could not"}
    step = decide(wanted(seconds, known), seen(repository=WEDGED))
    assert step.status.ended is ended
    if step.status.last_failure is not None:
        assert step.status.last_failure.reason == "it could not"


def test_a_refusal_before_a_verification_has_begun_is_no_failure() -> None:
    for found in (wanted(), wanted(known={**RUNNING, "ended": True}), wanted(verify=None)):
        status = refused(found, "exceeded quota")
        assert (status.reason, status.last_failure) == ("VerificationRefused", None)
