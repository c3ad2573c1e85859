"""What to do about one snapshot that is taken by hand, and what to report of it. Pure.

A snapshot carries the identity of its resource. So a lost answer leads to the same snapshot again, two requests never
make two, and a snapshot of the same name that belongs to another client is neither used nor deleted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search_object import Claim
from stateward.api.kinds.snapshots.snapshot import (
    SearchSnapshot,
    SearchSnapshotSpec,
    SearchSnapshotStatus,
    SnapshotContent,
    SnapshotShards,
)
from stateward.api.values.base import GROUP, Json
from stateward.api.values.problem import Problem
from stateward.engines.search.declared.decision import Decision, Do, doubt
from stateward.engines.search.declared.writes import Request
from stateward.engines.search.snapshots.records import Snapshot
from stateward.engines.search.snapshots.selection import pattern_problems
from stateward.planning.model.times import rfc3339

MARK, UID = f"{GROUP}/search-snapshot", f"{GROUP}/uid"
"""Notes in a snapshot: namespace and name of its resource, and its identity in Kubernetes."""
OF_USERS = ("*", "-.*", ".ds-*", "-.ds-.*")
"""All indices but those of the database itself. Their names begin with a dot, and so do those of data streams."""
MOST_FAILURES, LONGEST = 5, 300
"""Failures in the status, and characters of each."""
FOREIGN = "the repository has a snapshot {name} that this resource has not taken; choose another name"


def problems(spec: SearchSnapshotSpec) -> Iterator[Problem]:
    """Yield what is wrong with a spec, besides its shape."""
    yield from pattern_problems(spec.indices)


def name_of(found: SearchSnapshot) -> str:
    """Return the name of a resource's snapshot in the repository."""
    return found.spec.snapshot or found.metadata.name


@dataclass(frozen=True)
class DesiredSnapshot:
    """What a resource asks for; `owner` is its namespace and name."""

    name: str
    spec: SearchSnapshotSpec
    status: SearchSnapshotStatus
    owner: str
    uid: str

    @property
    def marks(self) -> dict[str, str]:
        """The notes in the snapshot."""
        return marks(self.owner, self.uid)


def marks(owner: str, uid: str) -> dict[str, str]:
    """Return the notes in the snapshot of a resource; `owner` is its namespace and name."""
    return {MARK: owner, UID: uid}


def decide(desired: DesiredSnapshot, found: Snapshot | None) -> Decision:
    """Return what to do about a snapshot that is wanted."""
    if found is not None:
        mine = found.marked(desired.marks)
        return Decision(Do.NOTHING) if mine else Decision(Do.STOP, "SnapshotExists", FOREIGN.format(name=desired.name))
    if desired.status.claim == Claim.OWNED:
        return Decision(Do.STOP, "SnapshotMissing", "the snapshot was taken and is no longer in the repository")
    if not desired.status.claim:
        return Decision(Do.CLAIM, claim=Claim.CREATING)
    return Decision(Do.SEND, request=creation(desired.spec, desired.name, desired.marks))


def creation(spec: SnapshotContent, name: str, marks: dict[str, str]) -> Request:
    """Return the request that starts a snapshot; the database refuses a second one of the same name."""
    body: Json = {
        "indices": list(spec.indices or OF_USERS),
        "include_global_state": spec.include_global_state,
        "partial": spec.partial,
        "metadata": marks,
    }
    return Request("PUT", f"/_snapshot/{spec.repository}/{name}", {"wait_for_completion": "false"}, body)


def remove(desired: DesiredSnapshot, found: Snapshot | None, versions: frozenset[str], *, restoring: bool) -> Decision:
    """Return what to do about the snapshot of a deleted resource: NOTHING lets the resource go."""
    if desired.spec.deletion_policy is Retention.RETAIN or found is None or not found.marked(desired.marks):
        return Decision(Do.NOTHING)
    if restoring:
        return Decision(Do.WAIT, "Restoring", "indices are being restored from the snapshot")
    request = deletion(desired.spec.repository, desired.name)
    return doubt(versions) or Decision(Do.SEND, "Deleting", "the snapshot is being deleted", request)


def deletion(repository: str, name: str) -> Request:
    """Return the request that deletes a snapshot, or stops one that is in progress."""
    return Request("DELETE", f"/_snapshot/{repository}/{name}")


def observed(status: SearchSnapshotStatus, found: Snapshot, size: int | None) -> SearchSnapshotStatus:
    """Return the status of a snapshot that belongs to the resource; `size` in bytes, None if it is not known."""
    shards = SnapshotShards(total=found.shards.total, successful=found.shards.successful, failed=found.shards.failed)
    return replace(
        status,
        snapshot=found.snapshot,
        claim=Claim.OWNED,
        state=found.state,
        version=found.version,
        start_time=time_of(found.start_time_in_millis),
        end_time="" if found.running else time_of(found.end_time_in_millis),
        size_bytes=None if found.running else size,
        indices=len(found.indices),
        shards=None if found.running else shards,
        failures=first_reasons(found) or None,
    )


def first_reasons(found: Snapshot) -> list[str]:
    """Return the first reasons of a failure, shortened."""
    return [reason[:LONGEST] for reason in found.reasons[:MOST_FAILURES]]


def time_of(milliseconds: int) -> str:
    """Return a time of the database as Kubernetes writes it; empty if there is none."""
    return rfc3339(milliseconds / 1000) if milliseconds else ""


def complaint(found: Snapshot) -> str:
    """Return in a sentence what is wrong with a finished snapshot."""
    said = "; ".join(first_reasons(found)) or "the database gives no reason"
    if found.shards.total:
        return f"{found.state}: {found.shards.failed} of {found.shards.total} shards are not saved: {said}"
    return f"{found.state}: {said}"
