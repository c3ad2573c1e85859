"""What is counted of the snapshots of schedules."""

from typing import Protocol

from stateward.api.kinds.snapshots.verification import VerifiedSnapshot
from stateward.kube.objects.metadata import Key


class SnapshotMetrics(Protocol):
    """Shows whether schedules succeed, and whether their snapshots can be restored."""

    def scheduled(self, schedule: Key, cluster: str, success: float | None, overdue: float | None) -> None:
        """Record the last success of a schedule, and when people are to be told; None: never, as while it is paused.

        Both are in seconds since the epoch.
        """
        ...

    def verified(self, schedule: Key, cluster: str, success: VerifiedSnapshot | None, overdue: float | None) -> None:
        """Record the last verification that succeeded, and when people are to be told; None: never."""
        ...

    def snapshot_failed(self, schedule: Key, cluster: str) -> None:
        """Count a snapshot that did not succeed."""
        ...

    def unscheduled(self, schedule: Key) -> None:
        """Drop the series of a schedule that is gone."""
        ...


class Unmeasured:
    """Metrics without a reader."""

    def scheduled(self, schedule: Key, cluster: str, success: float | None, overdue: float | None) -> None:
        """Do nothing."""

    def verified(self, schedule: Key, cluster: str, success: VerifiedSnapshot | None, overdue: float | None) -> None:
        """Do nothing."""

    def snapshot_failed(self, schedule: Key, cluster: str) -> None:
        """Do nothing."""

    def unscheduled(self, schedule: Key) -> None:
        """Do nothing."""
