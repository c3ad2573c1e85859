"""Hooks for metrics: what the runtime reports about itself."""

from typing import Protocol


class WatchObserver(Protocol):
    """Receives reports about the watches; `store` is the store's name."""

    def heard(self, store: str) -> None:
        """Count one event of a watch."""
        ...

    def listed(self, store: str, objects: int, seconds: float) -> None:
        """Record that a whole state was read, and how long it took."""
        ...

    def restarted(self, store: str, reason: str) -> None:
        """Record that a watch broke or ended and restarts."""
        ...

    def unreadable(self, store: str, more: int) -> None:
        """Add to the number of objects that cannot be read now; `more` is negative if there are fewer."""
        ...


class QueueObserver(Protocol):
    """Receives reports about a workqueue; times in seconds."""

    def depth(self, ready: int, delayed: int) -> None:
        """Record the numbers of ready and of delayed keys."""
        ...

    def started(self, waited: float) -> None:
        """Record how long a key was ready before a worker took it."""
        ...

    def finished(self, took: float, *, failed: bool) -> None:
        """Record how long the work on a key took and whether it failed."""
        ...


class Unobserved:
    """Both observers without any effect."""

    def heard(self, store: str) -> None:
        """Do nothing."""

    def listed(self, store: str, objects: int, seconds: float) -> None:
        """Do nothing."""

    def restarted(self, store: str, reason: str) -> None:
        """Do nothing."""

    def unreadable(self, store: str, more: int) -> None:
        """Do nothing."""

    def depth(self, ready: int, delayed: int) -> None:
        """Do nothing."""

    def started(self, waited: float) -> None:
        """Do nothing."""

    def finished(self, took: float, *, failed: bool) -> None:
        """Do nothing."""
