"""Reads the ConfigMaps and Secrets of others that clusters use, and notices their changes.

Values are read live, and again only after a watch has shown another version. They stay in this module: only digests
made with the operator's key, and the files of keystores, leave it. Nothing leaves it of what is not allowed for the
cluster.
"""

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import DataChangeStatus
from stateward.api.values import names
from stateward.engines.pods.uses import uses_of
from stateward.engines.search.configuration import keystore
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.resources import SECRETS
from stateward.kube.timing.clock import Clock
from stateward.operator.objects import recorded_status
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.permission import may_be_known
from stateward.operator.observe.known_data import (
    Identity,
    KnownData,
    ReadData,
    asked_of,
    incomplete,
    known_data,
    without_key,
)
from stateward.operator.restarts.digestkey import digest_key
from stateward.operator.restarts.sources import read_sources
from stateward.operator.restarts.uses import Uses
from stateward.operator.restarts.views import SourceView
from stateward.packages.restarts.dependencies import Dependency
from stateward.packages.restarts.digests import RootKey
from stateward.planning.facts.debounce import with_observed_change
from stateward.planning.model.observation import Changing, Refusal
from stateward.planning.model.times import rfc3339

Enqueue = Callable[[ObjectKey], None]


class ReferencedData:
    """Knows what the clusters of one kind use; the key of its digests is kept in a namespace of the operator's.

    `labelled`: whether Secrets need a label that allows them for the cluster.
    """

    def __init__(self, api: Api, namespace: str, clock: Clock, *, labelled: bool = False) -> None:
        self._api = api
        self._labelled = labelled
        self._clock = clock
        self._namespace = namespace
        self._root: RootKey | None = None
        self._uses = Uses[ObjectKey]()
        self._watched: Mapping[str, Store[SourceView]] = {}
        self._last: dict[ObjectKey, tuple[object, KnownData]] = {}

    def follow(self, watched: Mapping[str, Store[SourceView]], enqueue: Enqueue) -> None:
        """Requeue clusters when a watch reports a change of what they use."""
        self._watched = watched
        for kind, store in watched.items():
            store.subscribe(self._on_change(kind, enqueue))

    def _on_change(self, kind: str, enqueue: Enqueue) -> Callable[[Delta[SourceView]], None]:
        def heard(delta: Delta[SourceView]) -> None:
            for cluster in self._uses.of((delta.key.namespace, kind, delta.key.name)):
                enqueue(cluster)

        return heard

    def forget(self, cluster: ObjectKey) -> None:
        """Drop what is known of a cluster that is gone, or uses nothing."""
        self._uses.drop(cluster)
        self._last.pop(cluster, None)

    async def known(self, existing: ClusterObjects) -> tuple[ClusterObjects, tuple[Refusal, ...]]:
        """Return the cluster with the state of its data, and the refusals for missing data."""
        cluster = existing.cluster
        where = ObjectKey(cluster.metadata.namespace, cluster.metadata.name)
        pods, stored = uses_of(cluster), keystore.sources(asked_of(cluster))
        if not pods and not stored:
            self.forget(where)
            return self._with(existing, KnownData()), ()
        # Recorded before anything is read: a change from now on requeues the cluster.
        self._uses.put(where, where.namespace, pods | stored)
        try:
            self._root = self._root or await digest_key(self._api, self._namespace)
        except (ApiError, ValueError) as error:
            refused = without_key(cluster.metadata.name, str(error), held=bool(stored))
            return replace(existing, keystore=None if stored else {}), (refused,)
        seen = (pods, asked_of(cluster), self._versions(where.namespace, pods | stored))
        last = self._last.get(where)
        if last is not None and last[0] == seen and seen[-1] is not None and not existing.live:
            return self._with(existing, last[1]), last[1].refusals
        found = await self._read(pods | stored, cluster)
        copy = await self._copy(existing) if any(incomplete(asked, found) for asked in asked_of(cluster)) else ()
        now = known_data(cluster, pods, found, copy, self._root.of(where.namespace))
        if now.refusals:
            self._last.pop(where, None)
        else:
            self._last[where] = (seen, now)
        return self._with(existing, now), now.refusals

    def _with(self, existing: ClusterObjects, found: KnownData) -> ClusterObjects:
        return with_data(existing, found, self._clock.now().timestamp())

    def _versions(self, namespace: str, used: frozenset[Dependency]) -> Mapping[tuple[str, str], str] | None:
        """Return the versions that the watches show; None if one of the objects is not watched."""
        found: dict[tuple[str, str], str] = {}
        for kind, name in {(d.kind, d.name) for d in used}:
            store = self._watched.get(kind)
            if store is None or not store.has_synced:
                return None
            view = store.get(ObjectKey(namespace, name))
            found[kind, name] = f"{view.metadata.uid} {view.metadata.resource_version}" if view is not None else ""
        return found

    async def _read(self, used: frozenset[Dependency], cluster: Cluster) -> ReadData:
        objects: dict[Identity, Any] = {}
        troubles: dict[Identity, str] = {}
        for kind, name in sorted({(d.kind, d.name) for d in used}):
            try:
                objects |= await read_sources(self._api, [Dependency(kind, name)], cluster.metadata.namespace)
            except ApiError as error:
                troubles[kind, name] = error.message
        known = {at: body for at, body in objects.items() if not self._labelled or may_be_known(at[0], body, cluster)}
        return ReadData(known, troubles, frozenset(objects.keys() - known.keys()))

    async def _copy(self, existing: ClusterObjects) -> Sequence[keystore.Setting]:
        """Return the settings that members have, out of the configuration of one that has any."""
        namespace = existing.cluster.metadata.namespace
        for meta in (secret.metadata for secret in existing.secrets):
            if names.LABEL_MEMBER not in meta.labels or names.ANNOTATION_CHECKSUM not in meta.annotations:
                continue
            try:
                body = await self._api.get(SECRETS.raw(), ObjectKey(namespace, meta.name))
            except ApiError:
                continue  # What is not found anywhere is waited for.
            if found := keystore.read(secret_texts(body)):
                return found
        return ()


def with_data(existing: ClusterObjects, found: KnownData, now: float) -> ClusterObjects:
    """Return the cluster with what is known of its data at time `now`, in seconds since the epoch."""
    cluster = existing.cluster
    data = dict(found.data) or None
    if data != cluster.status.data_digests:
        changing = with_observed_change(
            recorded_status.changing(cluster.status), cluster.status.data_digests or {}, found.data, now
        )
        status = msgspec.structs.replace(cluster.status, data_digests=data, data_change=changes_record(changing))
        cluster = msgspec.structs.replace(cluster, status=status)
    return replace(existing, cluster=cluster, keystore=found.files)


def changes_record(changing: Changing | None) -> DataChangeStatus | None:
    """Return changes as the status records them: in whole seconds, without losing any of the settling time."""
    if changing is None:
        return None
    return DataChangeStatus(first_time=rfc3339(changing.since), last_time=rfc3339(math.ceil(changing.last)))


def secret_texts(body: dict[str, Any]) -> dict[str, str]:
    """Return the files of a Secret that are ours, as text."""
    data: dict[str, str] = body.get("data") or {}
    ours = {name: value for name, value in data.items() if name.startswith(keystore.PREFIX)}
    return {name: base64.b64decode(value).decode(errors="replace") for name, value in ours.items()}
