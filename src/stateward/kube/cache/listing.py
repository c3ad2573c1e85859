"""Reads the whole state of a selection: as the first part of a stream, or page by page."""

from typing import Generic

from stateward.kube.client.client import Api, ListOptions
from stateward.kube.objects.errors import Gone
from stateward.kube.objects.metadata import K, Key, key_of
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.watching import Added, Deleted, Modified, Unreadable, WatchEvent


class InitialState(Generic[K]):
    """A state that is being received; complete once `ended`."""

    def __init__(self) -> None:
        self.version = ""
        self.ended = False
        self._objects: dict[Key, K] = {}
        self.troubles: list[Unreadable] = []

    def hand_over(self) -> tuple[K, ...]:
        """Return the objects and drop them: the stream continues after its initial state, and must not keep a copy."""
        objects = tuple(self._objects.values())
        self._objects.clear()
        return objects

    def take(self, event: WatchEvent[K]) -> bool:
        """Process an event of a stream; return True for the event that ends the initial state."""
        if isinstance(event, Added | Modified):
            self.add(event.object)
        elif isinstance(event, Deleted):
            self._remove(key_of(event.object))
        elif isinstance(event, Unreadable) and event.deleted and event.metadata.name:
            self._remove(key_of(event))
        elif isinstance(event, Unreadable):
            self.troubles.append(event)
        elif event.initial_events_end:
            self.end(event.resource_version)
        return self.ended

    def add(self, obj: K) -> None:
        """Add an object."""
        self._objects[key_of(obj)] = obj

    def _remove(self, key: Key) -> None:
        """Remove an object that ended while the state was sent, whether or not it could be read."""
        self._objects.pop(key, None)
        self.troubles = [trouble for trouble in self.troubles if key_of(trouble) != key]

    def end(self, version: str) -> None:
        """Record that the state is complete at `version`."""
        self.version = version
        self.ended = True


async def list_all(api: Api, resource: Resource[K], selection: Selection, page_size: int = 500) -> InitialState[K]:
    """Read all objects of a selection, in pages; raise ApiError.

    The server keeps the version of a paged list for a few minutes only. If a list takes longer, it is read again in one
    request.
    """
    try:
        return await _read_pages(api, resource, selection, page_size)
    except Gone:
        return await _read_pages(api, resource, selection, 0)


async def _read_pages(api: Api, resource: Resource[K], selection: Selection, page_size: int) -> InitialState[K]:
    state = InitialState[K]()
    token = ""
    while True:
        page = await api.list(resource, selection, ListOptions(page_size, token))
        for obj in page.items:
            state.add(obj)
        state.troubles.extend(page.unreadable)
        token = page.continue_token
        if not token:
            state.end(page.resource_version)
            return state
