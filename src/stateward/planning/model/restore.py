"""The restore of the snapshot with which a new cluster begins."""

from msgspec import Struct


class Restore(Struct, frozen=True):
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
