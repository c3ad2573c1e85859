"""Keeps the history of each cluster: in memory from each round, and in a ConfigMap `NAME-history` of the cluster.

A ConfigMap and not the status: the status is written up to twelve times a minute, and each write would carry the whole
history. Not events: the API server deletes them after an hour. The ConfigMap is owned by the cluster, and has no label
that the operator's caches select, so a write of it causes no further round.

It is written at most once in `HISTORY_SECONDS` while work is in progress, and at the end of the work, before the status
says so; when work has ended `BURST` times in a row, that waits too. A process reads it once, before its first write. A
process that dies loses at most the last minute, and of what lasts nothing: the status has the begin of each member's
state.
"""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import structlog

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods.objects import config_map, shared_metadata
from stateward.kube.client.client import Api, ApplyOptions
from stateward.kube.election.fence import LostLease
from stateward.kube.objects.errors import ApiError, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import CONFIG_MAPS
from stateward.kube.timing.clock import Clock
from stateward.kube.timing.rate import TokenBuckets
from stateward.operator.objects.kinds import kind_of
from stateward.packages.format.trees import at, objs, text
from stateward.timeline.advance import advance, event, joined
from stateward.timeline.history import History, decode, encode

_log = structlog.get_logger(__name__)

RAW: Any = CONFIG_MAPS.raw()
HISTORY_SECONDS = 60.0
"""The shortest time between two writes of a history while work is in progress."""
FLUSH_SECONDS = 5.0
"""The time that the last writes of a process get."""
BURST = 3
"""How many changes of a settled cluster are written at once, beyond one in `HISTORY_SECONDS`."""


class Kept(msgspec.Struct):
    """What is kept of one cluster."""

    cluster: Cluster
    history: History
    uid: str
    seen: float
    """When its last status was noted, in seconds since the epoch."""
    read: bool = False
    """Whether the ConfigMap was read, so that the history continues it."""
    changed: bool = False
    written: float = 0.0
    """When it was last written, or first noted, on the monotonic clock."""

    def complete(self) -> History:
        """Return the history with the time until which it is complete."""
        return msgspec.structs.replace(self.history, until=int(self.seen))


class Histories:
    """The histories of the clusters of one kind."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._kept: dict[Key, Kept] = {}
        self._bursts = TokenBuckets(clock, BURST, HISTORY_SECONDS)

    def note(self, key: Key, cluster: Cluster, status: ClusterStatus, now: float) -> None:
        """Note the status that follows from a round, whether or not it is written.

        The first one of a process is no reason to write: mostly it is what the ConfigMap already has.
        """
        known = self._kept.get(key)
        if known is None or known.uid != cluster.metadata.uid:
            begun = advance(History(), cluster, status, now)
            started = event(cluster.metadata.name, "operator", int(now), "an operator process has started to manage it")
            begun = msgspec.structs.replace(begun, ended=(started, *begun.ended))
            self._kept[key] = Kept(cluster, begun, cluster.metadata.uid, now, written=self._clock.monotonic())
            return
        after = advance(known.history, cluster, status, now)
        known.changed = known.changed or after is not known.history
        known.history, known.cluster, known.seen = after, cluster, now

    async def write(self, key: Key, *, settled: bool) -> float:
        """Write a changed history if it is time; returns the seconds until then, 0 if nothing is left to write."""
        known = self._kept.get(key)
        if known is None or not known.changed:
            return 0.0
        left = known.written + HISTORY_SECONDS - self._clock.monotonic()
        if left > 0 and not (settled and self._bursts.take(str(key))):
            return left
        await self._write(known)
        return 0.0

    async def known(self, key: Key) -> History:
        """Return the history of a cluster, with what earlier processes have stored; empty if there is none."""
        known = self._kept.get(key)
        if known is None:
            return History()
        with suppress(ApiError):
            await self._readable(known)
        return known.complete()

    async def flush(self) -> None:
        """Write what is left, within a few seconds: the process ends, and its lease may have ended before."""
        with suppress(LostLease, TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                for known in [each for each in self._kept.values() if each.changed]:
                    await self._write(known)

    def forget(self, key: Key) -> None:
        """Drop the history of a cluster that is gone."""
        self._kept.pop(key, None)

    async def _write(self, known: Kept) -> None:
        """Write a history; a failure is logged, and the next one is tried after the usual time: it is only a record."""
        known.written = self._clock.monotonic()
        try:
            if not await self._readable(known):
                return
            body = manifest(known.cluster, known.complete())
            key = Key(known.cluster.metadata.namespace, body["metadata"]["name"])
            await self._api.apply(CONFIG_MAPS, key, body, ApplyOptions(names.FIELD_MANAGER, force=True))
            known.changed = False
        except ApiError as error:
            _log.warning("the history was not written", error=error.message)

    async def _readable(self, known: Kept) -> bool:
        """Read what an earlier process has written; returns whether the ConfigMap is this cluster's, or not there."""
        if known.read:
            return True
        meta = known.cluster.metadata
        key = Key(meta.namespace, names.history(meta.name))
        try:
            found = await self._api.get(RAW, key)
        except NotFound:
            found = None
        if found is not None and not owned(found, known.uid):
            _log.warning("the history is not kept: a ConfigMap of its name belongs to another owner", name=str(key))
            known.changed = False
            return False
        if found is not None and not known.read:  # A forecast and a round may read it at the same time.
            known.history = joined(content(found), known.history)
        known.read = True
        return True


def owned(found: Json, uid: str) -> bool:
    """Return whether an object is controlled by the owner of this UID: an earlier cluster's history is not ours."""
    owners = objs(at(found, "metadata", "ownerReferences"))
    return any(owner.get("uid") == uid and owner.get("controller") for owner in owners)


def content(found: Json) -> History:
    """Return the history in a ConfigMap."""
    return decode(text(at(found, "data", names.HISTORY_KEY)).encode())


def manifest(cluster: Cluster, history: History) -> Json:
    """Return the ConfigMap of a history."""
    labels = {names.LABEL_HISTORY: cluster.metadata.name, names.LABEL_ENGINE: kind_of(cluster).engine}
    metadata = shared_metadata(cluster, names.history(cluster.metadata.name), labels)
    return config_map(metadata, {names.HISTORY_KEY: encode(history).decode()})
