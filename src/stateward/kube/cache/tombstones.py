"""Records deletions by UID, so that an old version that arrives late does not restore an object.

Without this, a watch event in transit during a deletion would put the object back into the cache, and a plan would
count a member that is gone.
"""

from collections import OrderedDict
from typing import NamedTuple

from stateward.kube.objects.versions import is_older

_REMEMBERED = 10_000


class _End(NamedTuple):
    """The end of an object: the version in which it was gone (empty: not known), and whether it can never come back."""

    version: str
    permanent: bool


class Tombstones:
    """The ends of the latest deleted objects, by UID."""

    def __init__(self, limit: int = _REMEMBERED) -> None:
        self._limit = limit
        self._gone: OrderedDict[str, _End] = OrderedDict()

    def bury(self, uid: str, version: str = "") -> None:
        """Record that the object was gone in `version`, or (empty) that it can never come back."""
        known = self._gone.get(uid, _End("", permanent=False))
        later = known.version if not version or is_older(version, known.version) else version
        self._gone[uid] = _End(later, permanent=known.permanent or not version)
        self._gone.move_to_end(uid)
        # A late answer is at most one request timeout late; ten thousand deletions are far more than that.
        if len(self._gone) > self._limit:
            self._gone.popitem(last=False)

    def covers(self, uid: str, version: str) -> bool:
        """Whether this version of the object is from before its deletion.

        An object that only stopped matching a selector may match again later, in a newer version.
        """
        end = self._gone.get(uid)
        return end is not None and (end.permanent or version == end.version or is_older(version, end.version) is True)

    def version(self, uid: str) -> str:
        """Return the version in which the object was gone; empty if it was not, or if that is not known."""
        return self._gone[uid].version if uid in self._gone else ""
