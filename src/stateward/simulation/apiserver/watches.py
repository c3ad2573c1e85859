"""Watch cursors: each reads the log independently, and may lag, break, or start before the oldest kept version."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from stateward.kube.objects.errors import DecodeError, Status, error_for
from stateward.kube.objects.metadata import ObjectMeta
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.watching import Added, Bookmark, Deleted, Marked, Modified, Unreadable
from stateward.simulation.apiserver.selectors import matches
from stateward.simulation.apiserver.store import Event, Log, Store, Stored

_END = {"k8s.io/initial-events-end": "true"}


class Cursor:
    """A place in the log of one kind, for one selection."""

    def __init__(self, store: Store, kind: str, selection: Selection, view: Callable[[Stored], Any]) -> None:
        self._store = store
        self._kind = kind
        self._selection = selection
        self._view = view
        self._log: Log = store.log(kind)
        self._next = 0

    def start_after(self, version: int) -> None:
        """Start after a version; raises Gone if the log no longer contains it."""
        if version < self._log.compacted:
            raise gone(version, self._log.compacted)
        events = self._log.events
        place = len(events)
        while place > 0 and events[place - 1].version > version:
            place -= 1
        self._next = self._log.first + place

    def state(self, version: int) -> Iterator[Any]:
        """Yield all objects of a version as ADDED events, and then the bookmark that ends the list."""
        for stored in self._store.state_at(self._kind, version):
            if self.selects(stored):
                yield self._decoded(Added, stored)
        yield bookmark(version, _END)

    def pending(self) -> Event | None:
        """Return the next change without consuming it; raises Gone if the log has dropped it."""
        if self._next < self._log.first:
            raise gone(self._log.compacted - 1, self._log.compacted)
        place = self._next - self._log.first
        return self._log.events[place] if place < len(self._log.events) else None

    def take(self, event: Event) -> Any | None:
        """Consume a change; return its event for this selection, None if there is none."""
        self._next += 1
        before = event.old is not None and self.selects(event.old)
        after = event.new is not None and self.selects(event.new)
        if after and event.new is not None:
            return self._decoded(Modified if before else Added, event.new)
        if before and event.old is not None:
            last = event.old if event.new is None else _moved(event.old, event.version)
            return self._decoded(Deleted, last)
        return None

    def selects(self, stored: Stored) -> bool:
        """Return whether an object is in the selection."""
        return matches(stored, self._selection.namespace, self._selection.labels, self._selection.fields)

    def _decoded(self, make: Callable[[Any], Any], stored: Stored) -> Any:
        try:
            return make(self._view(stored))
        except DecodeError as error:
            meta = msgspec.convert(stored.meta, ObjectMeta)
            return Unreadable(meta, str(error), deleted=make is Deleted)


def _moved(stored: Stored, version: int) -> Stored:
    meta = {**stored.meta, "resourceVersion": str(version)}
    return Stored(stored.kind, {**stored.doc, "metadata": meta}, version, stored.managers)


def bookmark(version: int, annotations: dict[str, str] | None = None) -> Bookmark:
    """Return the bookmark of a version: all earlier events were sent."""
    return Bookmark(Marked(ObjectMeta(resource_version=str(version), annotations=annotations or {})))


def gone(version: int, oldest: int) -> Exception:
    """Return the error for a version that is too old."""
    return error_for(
        Status(kind="Status", code=410, reason="Expired", message=f"too old resource version: {version} ({oldest})")
    )
