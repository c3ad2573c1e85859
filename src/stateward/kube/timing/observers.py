"""Hooks for metrics: what the runtime reports of itself, to whoever wants to count it."""

from typing import Protocol


class WatchObserver(Protocol):
    """Hears how the watches are doing; `store` is the store's name."""

    def heard(self, store: str) -> None:
        """Count one event of a watch."""
        ...

    def listed(self, store: str, objects: int, seconds: float) -> None:
        """Note a whole state that was read, and how long that took."""
        ...

    def restarted(self, store: str, reason: str) -> None:
        """Note that a watch broke or ended and is made again."""
        ...

    def unreadable(self, store: str) -> None:
        """Count one object that could not be read."""
        ...


class QueueObserver(Protocol):
    """Hears how a work queue is doing; times in seconds."""

    def depth(self, ready: int, delayed: int) -> None:
        """Note how many keys are ready and how many wait for their time."""
        ...

    def started(self, waited: float) -> None:
        """Note how long a key was ready before a worker took it."""
        ...

    def finished(self, took: float, *, failed: bool) -> None:
        """Note how long the work on a key took and whether it failed."""
        ...


class Unobserved:
    """Both observers, for when nobody counts."""

    def heard(self, store: str) -> None:
        """Do nothing."""

    def listed(self, store: str, objects: int, seconds: float) -> None:
        """Do nothing."""

    def restarted(self, store: str, reason: str) -> None:
        """Do nothing."""

    def unreadable(self, store: str) -> None:
        """Do nothing."""

    def depth(self, ready: int, delayed: int) -> None:
        """Do nothing."""

    def started(self, waited: float) -> None:
        """Do nothing."""

    def finished(self, took: float, *, failed: bool) -> None:
        """Do nothing."""
