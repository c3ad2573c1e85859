"""Secrets of a cluster that users copy: they have no owner, and the operator deletes them after their cluster.

`NAME-ca` and `NAME-admin` are copied into the namespaces of clients, mostly unchanged. An owner reference in a copy
names an owner that does not exist in that namespace, so the garbage collector deletes the copy. These Secrets have a
mark instead: an annotation with the UID of the cluster and the place of the Secret. The place distinguishes a copy from
the original.

A cluster needs no finalizer for this, so it can be deleted while no operator runs. A remaining Secret has the label of
its cluster, so the operator checks it when it starts. The operator deletes it after a live list without a cluster of
that UID, by UID and resourceVersion, and only in its original place.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import structlog

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.kube.client.client import Api, DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta, PartialObject, key_of
from stateward.kube.objects.resource import Selection
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.live import everything

RAW_SECRETS = kinds.SECRETS.raw()
SUFFIXES = ("-ca", "-admin")
"""What the names of these Secrets have after the cluster's."""

_log = structlog.get_logger(__name__)


def mark(uid: str, key: Key) -> str:
    """Return the mark of a Secret of the cluster with this UID in its place."""
    return f"{uid} {key}"


def created_for(meta: ObjectMeta) -> str:
    """Return the UID of the cluster that an object without an owner was created for; empty for copies and others."""
    uid, _, place = meta.annotations.get(names.ANNOTATION_CREATED_FOR, "").partition(" ")
    return uid if place == f"{meta.namespace}/{meta.name}" else ""


def belongs(meta: ObjectMeta, cluster: Cluster) -> bool:
    """Return whether an object belongs to this cluster: by its owner, or by its mark."""
    return cluster.metadata.uid in (meta.controller_uid, created_for(meta))


class CopiedSecrets:
    """Keeps the Secrets of clusters of one kind without an owner, and deletes those of deleted clusters."""

    def __init__(self, api: Api, caches: Caches) -> None:
        self._api = api
        self._caches = caches

    async def sweep(self, key: Key, living: str = "") -> None:
        """Delete the Secrets of an earlier cluster of this name, other than the UID `living`, if that cluster is gone.

        Raises ApiError, and then nothing is known.
        """
        found = [secret for secret in self._marked(key) if created_for(secret.metadata) != living]
        if not found:
            return
        selection = Selection(key.namespace, fields=f"metadata.name={key.name}")
        alive = {cluster.metadata.uid for cluster in await everything(self._api, self._caches.kind.resource, selection)}
        for secret in found:
            if created_for(secret.metadata) not in alive:
                await self._delete(key, secret)

    async def heal(self, cluster: Cluster) -> None:
        """Remove the owner of Secrets that were created with one; raises ApiError."""
        meta = cluster.metadata
        for name in (f"{meta.name}{suffix}" for suffix in SUFFIXES):
            cached = self._caches.of(kinds.SECRETS).get(Key(meta.namespace, name))
            if cached is not None and cached.metadata.controller_uid == meta.uid and not cached.metadata.terminating:
                await self._remove_owner(cluster, key_of(cached))

    async def _remove_owner(self, cluster: Cluster, key: Key) -> None:
        """Write the mark and remove the owner in one step: a Secret with neither would never be deleted."""
        uid = cluster.metadata.uid
        with suppress(NotFound):
            read = (await self._api.get(RAW_SECRETS, key))["metadata"]
            owners = [known for known in read.get("ownerReferences", []) if known["uid"] != uid]
            exact = {"uid": read["uid"], "resourceVersion": read["resourceVersion"]}
            changes = {"ownerReferences": owners, "annotations": {names.ANNOTATION_CREATED_FOR: mark(uid, key)}}
            patch: dict[str, Any] = {"metadata": {**exact, **changes}}
            written = await self._api.patch(kinds.SECRETS, key, patch, kind=PatchKind.MERGE)
            place = Key(cluster.metadata.namespace, cluster.metadata.name)
            self._caches.expectations(place).wrote(self._caches.of(kinds.SECRETS), written)

    def _marked(self, key: Key) -> Iterator[PartialObject]:
        """Yield the cached Secrets that were created for clusters of this kind and name."""
        for secret in self._caches.of(kinds.SECRETS).indexed("cluster", str(key)):
            meta = secret.metadata
            named = meta.name in {f"{key.name}{suffix}" for suffix in SUFFIXES}
            ours = meta.labels.get(names.LABEL_ENGINE) == self._caches.kind.engine
            if named and ours and created_for(meta) and not meta.terminating:
                yield secret

    async def _delete(self, key: Key, secret: PartialObject) -> None:
        _log.info("a Secret of a deleted cluster is deleted", secret=str(key_of(secret)))
        with suppress(NotFound):
            await self._api.delete(kinds.SECRETS, key_of(secret), DeleteOptions(Preconditions.of(secret)))
        self._caches.expectations(key).deleted(self._caches.of(kinds.SECRETS), secret)
