"""Restores of a schedule's snapshots into a throw-away cluster, which show that they can be restored."""

from typing import Annotated

from msgspec import Meta

from stateward.api.kinds.security import Lifetime
from stateward.api.kinds.shapes import RESOURCES, ByteSize
from stateward.api.kinds.snapshots.times import Times
from stateward.api.values.base import Json, Record


class SnapshotVerification(Record, kw_only=True):
    """When the newest snapshot of a schedule is restored into a cluster of one member, which is deleted afterwards."""

    schedule: Annotated[
        Times, Meta(description="Minute, hour, day of month, month and day of week as in a crontab, in UTC.")
    ]
    storage_size: Annotated[
        ByteSize | None,
        Meta(
            description="Size of the member's volume. Default: that of the largest pool with data, and at least one"
            " and a half times the size of the snapshot."
        ),
    ] = None
    resources: Annotated[
        Json | None,
        Meta(
            description="Resource requests and limits of the database container. Default: those of that pool.",
            extra={"shape": RESOURCES},
        ),
    ] = None
    time_limit: Annotated[
        Lifetime, Meta(description="How long it may take, for example 6h; after it, the verification has failed.")
    ] = "6h"


class VerifiedSnapshot(Record):
    """A snapshot that was restored with all its primaries."""

    name: Annotated[str, Meta(description="The snapshot.")]
    time: Annotated[str, Meta(description="When all its documents were counted.")] = ""
    indices: Annotated[int, Meta(description="Restored indices and data streams.")] = 0
    documents: Annotated[int | None, Meta(description="Documents in them.")] = None
    seconds: Annotated[int, Meta(description="How long it took, with the creation of the cluster.")] = 0


class FailedVerification(Record):
    """A snapshot that could not be restored."""

    name: Annotated[str, Meta(description="The snapshot.")]
    time: Annotated[str, Meta(description="When the operator gave up.")] = ""
    reason: Annotated[str, Meta(description="What was in the way.")] = ""


class VerificationStatus(Record):
    """What is known of the verifications of a schedule."""

    snapshot: Annotated[
        str, Meta(description="The snapshot that is being verified; empty if none is. Written before anything is made.")
    ] = ""
    start_time: Annotated[str, Meta(description="When its verification began.")] = ""
    stalled_time: Annotated[
        str, Meta(description="Since when it does not get on because something stalls; empty if nothing does.")
    ] = ""
    stalled_message: Annotated[str, Meta(description="What stalled last, in a sentence.")] = ""
    ended: Annotated[bool, Meta(description="Whether the result is known, and the throw-away cluster may go.")] = False
    last_schedule_time: Annotated[str, Meta(description="The last time of the schedule that is dealt with.")] = ""
    next_schedule_time: Annotated[str, Meta(description="The next time of the schedule; empty if it is paused.")] = ""
    last_success: Annotated[VerifiedSnapshot | None, Meta(description="The last snapshot that was restored.")] = None
    last_failure: Annotated[
        FailedVerification | None, Meta(description="The last snapshot that could not be restored.")
    ] = None
    reason: Annotated[str, Meta(description="What it waits for, in one word for programs; empty if nothing.")] = ""
    activity: Annotated[str, Meta(description="One sentence: what is in progress, or why it waits.")] = ""
