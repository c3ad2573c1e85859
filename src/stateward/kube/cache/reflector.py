"""Keeps a store equal to the API server: reads the state once, then follows all changes.

A stream that ends, resets or times out continues where it stopped. A stream that is silent for too long counts as
broken, because a half-open connection is indistinguishable from a quiet cluster. If the server no longer has a version
(410, as status or in the stream), the reflector reads the state again; missing objects were deleted meanwhile. Errors
are retried with growing delays, and always reported.

A server that was restored from a backup is silent to a watch from a version that it has not reached, and then sends
only what comes after it: what was lost or came back in between stays unknown. So the reflector compares the versions
before it continues a watch that broke, was silent, or ended before its time; and a state that is read again must show
what was read before.

Rights in a namespace end with the namespace. A refused watch counts as empty if the server says that its namespace does
not exist: without that, one deleted namespace would keep a process from its work in all others.
"""

import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Generic, NoReturn

import structlog

from stateward.kube.cache.feed import Feed
from stateward.kube.cache.listing import InitialState, list_all
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api, ListOptions, WatchStart
from stateward.kube.objects.errors import (
    ApiError,
    BadRequest,
    DecodeError,
    Forbidden,
    FreshStart,
    Gone,
    Invalid,
    NotFound,
    TransportError,
    UnknownResource,
)
from stateward.kube.objects.metadata import K, Key
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.resources import NAMESPACES
from stateward.kube.objects.versions import is_older
from stateward.kube.objects.watching import Added, Bookmark, Deleted, Modified, WatchEvent
from stateward.kube.timing.backoff import Backoff
from stateward.kube.timing.clock import Clock, SystemClock
from stateward.kube.timing.observers import Unobserved, WatchObserver

# A quiet stream that lived this long was healthy.
_SETTLED_SECONDS = 10.0
# A server ends a stream at the requested time, or a little before.
_EARLY_SECONDS = 10.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """How to watch; common to all reflectors of a process. Times in seconds.

    `silence` is how long a stream may send nothing: API servers send a bookmark about once a minute. `lifetime` is the
    range for the random server-side timeout of a stream, so that watches do not all reconnect at once.
    """

    clock: Clock = field(default_factory=SystemClock)
    observer: WatchObserver = field(default_factory=Unobserved)
    backoff: Backoff = field(default_factory=Backoff)
    rng: random.Random = field(default_factory=random.Random)
    silence: float = 150.0
    lifetime: tuple[int, int] = (300, 600)
    page_size: int = 500


class Reflector(Generic[K]):
    """Feeds one store from one selection of objects; run `run` in a task and cancel the task to stop."""

    def __init__(
        self,
        api: Api,
        resource: Resource[K],
        selection: Selection,
        store: Store[K],
        options: ReflectorOptions | None = None,
    ) -> None:
        self.trouble = ""
        self.missing = False
        """Whether the server's last answer was that it does not serve the kind."""
        self._api = api
        self._resource = resource
        self._selection = selection
        self._name = store.name
        self._feed: Feed[K] = store.feed(selection.namespace)
        self._options = options or ReflectorOptions()
        self._clock = self._options.clock
        self._observer = self._options.observer
        self._watch_lists = True
        self._version = ""
        self._failures = 0
        self._absent = False
        self._doubted = False
        self._unreadable = 0

    async def run(self) -> NoReturn:
        """Feed the store until cancelled; `trouble` describes the present problem, empty if there is none.

        Raise FreshStart if the store's content is no longer reliable.
        """
        try:
            while True:
                await self._attempt()
        finally:
            self._count_unreadable(0)

    async def run_while_served(self) -> None:
        """Feed the store as `run` does, and return when the server answers that it does not serve the kind."""
        try:
            while not self.missing:
                await self._attempt()
        finally:
            self._count_unreadable(0)

    async def _attempt(self) -> None:
        try:
            await self._round()
        except ApiError as error:
            await self._recover(error)
        except TimeoutError:
            await self._recover(None)

    async def _round(self) -> None:
        if self._version:
            if self._doubted:
                await self._refuse_a_restored_state()
            await self._follow(WatchStart(self._version, timeout_seconds=self._lifetime()), None)
        elif self._watch_lists:
            await self._start_with_stream()
        else:
            await self._start_with_list()

    async def _start_with_stream(self) -> None:
        loading = InitialState[K]()
        start = WatchStart(initial_state=True, timeout_seconds=self._lifetime())
        try:
            await self._follow(start, loading)
        except (Invalid, BadRequest):
            self._use_lists("the server does not offer it")
        except TimeoutError:
            if loading.ended:
                raise
            # An old server ignores unknown parameters: it sends the state and never marks its end.
            self._use_lists("the stream did not mark the end of the initial state")

    async def _start_with_list(self) -> None:
        began = self._clock.monotonic()
        state = await list_all(self._api, self._resource, self._selection, self._options.page_size)
        await self._replace(state, began)

    async def _follow(self, start: WatchStart, loading: InitialState[K] | None) -> None:
        began, heard = self._clock.monotonic(), False
        async with aclosing(self._api.watch(self._resource, self._selection, start)) as stream:
            while (event := await self._next(stream)) is not None:
                heard = True
                if loading is None or loading.ended:
                    self._heard(event)
                elif loading.take(event):
                    await self._replace(loading, began)
        if loading is not None and not loading.ended:
            raise TransportError("the stream ended before the initial state was complete")
        lived = self._clock.monotonic() - began
        self._doubted = self._doubted or lived < start.timeout_seconds - _EARLY_SECONDS
        self._ended(heard=heard or lived > _SETTLED_SECONDS)

    async def _next(self, stream: AsyncGenerator[WatchEvent[K], None]) -> WatchEvent[K] | None:
        async with self._clock.timeout(self._options.silence):
            return await anext(stream, None)

    def _heard(self, event: WatchEvent[K]) -> None:
        self._well()
        self._observer.heard(self._name)
        if isinstance(event, Added | Modified):
            self._feed.heard(event.object)
        elif isinstance(event, Deleted):
            self._feed.heard_end(event.object)
        elif isinstance(event, Bookmark):
            self._feed.progressed(event.resource_version)
        else:
            _log.error("an object cannot be read", store=self._name, key=event.key, reason=event.reason)
            self._feed.heard_trouble(event)
        self._version = self._feed.version
        self._count_unreadable(self._feed.unreadable)

    async def _replace(self, state: InitialState[K], began: float) -> None:
        self._refuse_half_a_namespace()
        if is_older(state.version, self._feed.version):
            # A server that lags behind the others also shows an old state.
            await self._refuse_a_restored_state()
        for trouble in state.troubles:
            _log.error("an object cannot be read", store=self._name, key=trouble.key, reason=trouble.reason)
        objects = state.hand_over()
        if (key := self._feed.forgotten(objects, state.version, state.troubles)) is not None:
            self._restored(f"{key} as it was before what is known of it")
        self._feed.replace(objects, state.version, state.troubles)
        self._version = state.version
        self._count_unreadable(self._feed.unreadable)
        self._doubted = False
        self._well()
        self._observer.listed(self._name, len(objects), self._clock.monotonic() - began)

    def _ended(self, *, heard: bool) -> None:
        # Servers end every stream at some time. A stream that always ends at once must not cause a hot loop.
        if not heard:
            raise TransportError("the stream ended as soon as it had begun")
        self._well()
        self._observer.restarted(self._name, "ended")

    async def _recover(self, error: ApiError | None) -> None:
        self._failures += 1
        self._doubted = True
        if isinstance(error, Gone | DecodeError):
            self._version = ""
        if isinstance(error, Forbidden | NotFound) and await self._namespace_is_absent():
            self._version, self._absent = "", True
            self._feed.replace((), "")
            self._count_unreadable(0)
        self.missing = isinstance(error, UnknownResource)
        self.trouble = f"{type(error).__name__}: {error}" if error else "the watch was silent for too long"
        after = max(self._options.backoff.delay(self._failures, self._options.rng), error.retry_after if error else 0.0)
        self._observer.restarted(self._name, type(error).__name__ if error else "silent")
        _log.warning("watch broke", store=self._name, namespace=self._selection.namespace, why=self.trouble, wait=after)
        await self._clock.sleep(after)

    async def _refuse_a_restored_state(self) -> None:
        """Raise FreshStart if the server's state is older than what its watch has sent."""
        try:
            page = await self._api.list(self._resource, self._selection, ListOptions(limit=1))
        except ApiError:
            return  # Not known; the next watch fails too, or is silent.
        self._doubted = False
        if is_older(page.resource_version, self._feed.version):
            self._restored(f"version {page.resource_version} after version {self._feed.version}")

    def _restored(self, shown: str) -> NoReturn:
        _log.error("the API server was restored", store=self._name, shows=shown)
        raise FreshStart(
            "the API server's state is older than what was read before: it was restored; the next process starts"
            " without memory"
        )

    async def _namespace_is_absent(self) -> bool:
        """Whether the server says that the namespace does not exist; one that cannot be read may exist."""
        if not self._selection.namespace:
            return False
        try:
            await self._api.get(NAMESPACES, Key("", self._selection.namespace))
        except NotFound:
            return True
        except ApiError:
            return False
        return False

    def _refuse_half_a_namespace(self) -> None:
        """Raise FreshStart if this state is the first of a namespace that counted as empty.

        The disaster this prevents: a cluster is restored with its namespace, and its volumes still count as absent when
        it is already known, so a second database is formed over them. A new process waits for all of it.
        """
        if self._absent:
            namespace = self._selection.namespace
            _log.error("a namespace exists again", store=self._name, namespace=namespace)
            raise FreshStart(f"namespace {namespace} exists again; the next process starts without memory")

    def _well(self) -> None:
        self._failures = 0
        self.trouble = ""
        self.missing = False

    def _count_unreadable(self, count: int) -> None:
        if count != self._unreadable:
            self._observer.unreadable(self._name, count - self._unreadable)
            self._unreadable = count

    def _use_lists(self, why: str) -> None:
        self._watch_lists = False
        _log.info("reading the state with lists instead of a stream", store=self._name, why=why)

    def _lifetime(self) -> int:
        return self._options.rng.randint(*self._options.lifetime)
