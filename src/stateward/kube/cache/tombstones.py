"""Records deletions by UID, so that an old version that arrives late does not restore an object.

Without this, a watch event in transit during a deletion would put the object back into the cache, and a plan would
count a member that is gone.
"""

from collections import OrderedDict

from stateward.kube.objects.versions import is_older

_REMEMBERED = 10_000


class Tombstones:
    """The UIDs of the latest deletions, each with the version in which it was gone (empty: permanently)."""

    def __init__(self, limit: int = _REMEMBERED) -> None:
        self._limit = limit
        self._gone: OrderedDict[str, str] = OrderedDict()

    def bury(self, uid: str, version: str = "") -> None:
        """Record that the object was gone in `version`, or (empty) that it can never come back."""
        known = self._gone.get(uid)
        if known == "" or (known is not None and is_older(version, known)):
            return
        self._gone[uid] = version
        self._gone.move_to_end(uid)
        # A late answer is at most one request timeout late; ten thousand deletions are far more than that.
        if len(self._gone) > self._limit:
            self._gone.popitem(last=False)

    def covers(self, uid: str, version: str) -> bool:
        """Whether this version of the object is from before its deletion.

        An object that only stopped matching a selector may match again later, in a newer version.
        """
        if uid not in self._gone:
            return False
        gone_at = self._gone[uid]
        return not gone_at or version == gone_at or is_older(version, gone_at) is True
