"""Snapshots that the operator takes by itself at times of a schedule, and how long they are kept."""

from typing import Annotated

from msgspec import Meta, field

from stateward.api.kinds.security import Lifetime
from stateward.api.kinds.snapshots.snapshot import SnapshotContent
from stateward.api.kinds.snapshots.times import Times
from stateward.api.kinds.snapshots.verification import SnapshotVerification, VerificationStatus
from stateward.api.values.base import API_VERSION, Condition, Metadata, Record


class SnapshotRetention(Record):
    """How long snapshots of a schedule are kept; without a limit all are.

    The last successful one is never deleted, and no successful one while a later one failed.
    """

    max_count: Annotated[
        Annotated[int, Meta(ge=1, le=10000)] | None,
        Meta(description="At most this many successful snapshots are kept."),
    ] = None
    min_count: Annotated[
        Annotated[int, Meta(ge=1, le=10000)] | None,
        Meta(description="This many successful snapshots are kept whatever their age."),
    ] = None
    max_age: Annotated[Lifetime | None, Meta(description="Older snapshots are deleted, for example 30d.")] = None


class SearchSnapshotScheduleSpec(SnapshotContent, kw_only=True):
    """When snapshots are taken, what is in them, and how long they are kept."""

    schedule: Annotated[
        Times, Meta(description="Minute, hour, day of month, month and day of week as in a crontab, in UTC.")
    ]
    retention: Annotated[
        SnapshotRetention | None, Meta(description="How long snapshots are kept; for ever if left out.")
    ] = None
    verify: Annotated[
        SnapshotVerification | None,
        Meta(
            description="When the newest snapshot is restored into a throw-away cluster of one member, to show that"
            " it can be. Needs an operator with --verify-snapshots. Default: never."
        ),
    ] = None
    paused: Annotated[bool, Meta(description="Take, delete and verify no snapshots.")] = False


class ScheduledSnapshot(Record):
    """A successful snapshot of a schedule."""

    name: Annotated[str, Meta(description="The snapshot in the repository.")]
    start_time: Annotated[str, Meta(description="When the database began it.")] = ""
    end_time: Annotated[str, Meta(description="When the database finished it.")] = ""
    size_bytes: Annotated[int | None, Meta(description="Bytes of all files that it needs.")] = None


class SnapshotFailure(Record):
    """A snapshot of a schedule that did not succeed."""

    name: Annotated[str, Meta(description="The snapshot.")]
    time: Annotated[str, Meta(description="When the operator saw that it had failed.")] = ""
    reason: Annotated[str, Meta(description="The reason of the database.")] = ""


class SearchSnapshotScheduleStatus(Record):
    """What is known of the snapshots of a schedule."""

    observed_generation: Annotated[int, Meta(description="The generation that this status describes.")] = 0
    cluster_uuid: Annotated[str, Meta(description="Identity of the database that this status is about.")] = field(
        default="", name="clusterUUID"
    )
    running: Annotated[str, Meta(description="The snapshot that is being taken; written before it is started.")] = ""
    started: Annotated[bool, Meta(description="Whether the database has begun it.")] = False
    last_schedule_time: Annotated[str, Meta(description="The last time of the schedule that is dealt with.")] = ""
    next_schedule_time: Annotated[str, Meta(description="The next time of the schedule; empty if it is paused.")] = ""
    last_success: Annotated[
        ScheduledSnapshot | None, Meta(description="The newest successful snapshot in the repository.")
    ] = None
    last_failure: Annotated[SnapshotFailure | None, Meta(description="The last snapshot that did not succeed.")] = None
    count: Annotated[int, Meta(description="Snapshots of this schedule in the repository.")] = 0
    verification: Annotated[
        VerificationStatus | None, Meta(description="Which snapshot was restored last, and what it waits for.")
    ] = None
    activity: Annotated[str, Meta(description="One sentence: what is in progress, or why it waits.")] = ""
    conditions: Annotated[
        list[Condition],
        Meta(description="Ready, Reconciling and Stalled as kstatus defines them.", extra={"map_keys": ["type"]}),
    ] = field(default_factory=list)


class SearchSnapshotSchedule(Record):
    """Snapshots of a search cluster that the operator takes and deletes by itself."""

    metadata: Metadata
    spec: Annotated[SearchSnapshotScheduleSpec, Meta(description="The desired state.")]
    status: Annotated[SearchSnapshotScheduleStatus, Meta(description="What is known of the snapshots.")] = (
        SearchSnapshotScheduleStatus()
    )
    api_version: str = API_VERSION
    kind: str = "SearchSnapshotSchedule"
