"""Snapshots of the database: the one with which a new cluster begins, and the one before an upgrade."""

from msgspec import Struct


class Restore(Struct, frozen=True, tag=True):
    """The SearchRestore of a new cluster, as its own controller reports it."""

    name: str
    ours: bool = True
    """Whether this very cluster resource owns it."""
    done: bool = False
    stalled: bool = False
    """Whether it needs manual intervention, or a new try does not come soon."""
    message: str = ""
    snapshot: str = ""
    """The snapshot that was chosen; empty before that."""
    documents: int = 0


class SnapshotGate(Struct, frozen=True):
    """The snapshot that an upgrade needs before it begins."""

    repository: str
    max_age: float
    """How old it may be, in seconds."""


class Saved(Struct, frozen=True, tag=True):
    """The newest successful snapshot with all indices, as the database reports it."""

    name: str = ""
    """Empty if there is none."""
    time: float = 0.0
    """When the database began it, in seconds since the epoch."""
    why: str = ""
    """Why a newer one does not count, as a clause; empty if there is no newer one."""
