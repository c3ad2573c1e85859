"""The progress of each watch that feeds a store, and the own writes that it has not shown yet."""

from collections.abc import Iterable

from stateward.kube.objects.versions import is_older, reaches


class Source:
    """One watch: its progress, and the own writes that it has not shown yet."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.version = ""
        self.synced = False
        # By UID: the version of the own write, or None for a permanent deletion.
        self._ahead: dict[str, str | None] = {}

    def expect(self, uid: str, version: str) -> None:
        """Record an own write that the watch has not reached yet."""
        self._ahead[uid] = version

    def expect_end(self, uid: str) -> None:
        """Record the own deletion of an object."""
        self._ahead[uid] = None

    def lags(self, uid: str) -> bool:
        """Whether an own write to this object has not been seen yet."""
        if uid not in self._ahead:
            return False
        wanted = self._ahead[uid]
        if wanted is not None and reaches(self.version, wanted):
            del self._ahead[uid]
            return False
        return True

    def hear(self, uid: str, version: str) -> None:
        """Record a version of an object from the watch."""
        self.progress(version)
        wanted = self._ahead.get(uid)
        if wanted is not None and reaches(version, wanted):
            del self._ahead[uid]

    def hear_end(self, uid: str, version: str) -> None:
        """Record the deletion of an object from the watch."""
        self.progress(version)
        self._ahead.pop(uid, None)

    def progress(self, version: str) -> None:
        """Record that everything up to `version` has been sent."""
        if version and is_older(version, self.version) is not True:
            self.version = version

    def restart(self, version: str, present: Iterable[str]) -> None:
        """Record a whole state at `version` with the objects of these UIDs."""
        self.version = version
        self.synced = True
        there = frozenset(present)
        self._ahead = {
            uid: wanted
            for uid, wanted in self._ahead.items()
            # A state from before the write says nothing about it; one of unknown age comes from after it.
            if (uid in there if wanted is None else is_older(version, wanted))
        }


class Sources:
    """All watches of a store, by namespace; the empty namespace is a watch on everything."""

    def __init__(self, namespaces: Iterable[str]) -> None:
        self._sources = {namespace: Source(namespace) for namespace in namespaces}
        if not self._sources:
            raise ValueError("a store needs at least one source; use an empty namespace for everything")

    def covers(self, namespace: str) -> bool:
        """Whether objects of a namespace belong to the store."""
        return "" in self._sources or namespace in self._sources

    def of(self, namespace: str) -> Source:
        """Return the watch that covers a namespace; raise KeyError if there is none."""
        return self._sources.get("") or self._sources[namespace]

    @property
    def synced(self) -> bool:
        """Whether all have delivered their whole state at least once."""
        return not self.unfilled

    @property
    def unfilled(self) -> tuple[str, ...]:
        """The namespaces of those that have not."""
        return tuple(namespace for namespace, source in self._sources.items() if not source.synced)
