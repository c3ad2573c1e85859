"""Ensures that only objects of this cluster are written: a name may belong to another owner, or to an earlier cluster.

Objects are created by server-side apply and not by a create: fields of a create belong to another field manager, and
would stay forever when they are no longer desired. An apply creates a missing object, but it also adopts an existing
one. So if the cache does not show the object as ours, a live read comes first.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.kube.client.client import Api, ListOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta, key_of
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.timing.clock import Clock
from stateward.operator.objects.copied_secrets import belongs
from stateward.operator.objects.kinds import kind_of


class NotOwnedError(Exception):
    """An object of the name that a cluster needs belongs to someone else; nothing is done to it."""


async def exists(api: Api, kind: Resource[Any], key: Key, cluster: Cluster) -> bool:
    """Return whether the object exists, by a live read; raises NotOwnedError if it has another owner, ApiError."""
    try:
        existing = await api.get(kind, key)
    except NotFound:
        return False
    _check(existing.metadata, kind, key, cluster)
    return True


async def own_secret(api: Api, key: Key, cluster: Cluster) -> dict[str, Any] | None:
    """Return a Secret of a cluster, by a live read, or None without one; raises NotOwnedError, ApiError."""
    try:
        existing = await api.get(kinds.SECRETS.raw(), key)
    except NotFound:
        return None
    _check(msgspec.convert(existing["metadata"], ObjectMeta), kinds.SECRETS, key, cluster)
    return existing


def _check(meta: ObjectMeta, kind: Resource[Any], key: Key, cluster: Cluster) -> None:
    labelled = meta.labels.get(names.LABEL_CLUSTER) == cluster.metadata.name
    controlled = belongs(meta, cluster)
    # Kept volumes have no owner: they outlive the cluster on purpose. One written by another engine is not ours, for
    # any name of the cluster. Nor is a Secret whose mark names another cluster, or a copy of one.
    copied_secrets = not meta.controller_uid and names.ANNOTATION_CREATED_FOR not in meta.annotations
    kept = copied_secrets and meta.labels.get(names.LABEL_ENGINE) == kind_of(cluster).engine
    if meta.terminating or not labelled or not (controlled or kept):
        raise NotOwnedError(f"{kind.kind} {key} already exists and belongs to another owner")


class TakenNames:
    """Tells which names exist, with one list of names in place of a read of each of many new objects.

    The first question of a cluster about a kind reads one object, the next one reads the names of all in its namespace;
    that list counts for some seconds, and only for names that are not in it. A namespace with more objects than a page
    is too large for it. No list counts for another cluster resource of the same name: since it was read, the operator
    may have created the objects of the earlier one.
    """

    SECONDS = 5.0
    PAGE = 500

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._read: dict[tuple[str, str, str, str], _Names] = {}

    async def exists(self, kind: Resource[Any], key: Key, cluster: Cluster) -> bool:
        """Return whether the object exists; raises NotOwnedError if it has another owner, ApiError."""
        place = (cluster.metadata.uid, kind.group, kind.plural, key.namespace)
        now = self._clock.monotonic()
        self._read = {each: read for each, read in self._read.items() if now - read.since < self.SECONDS}
        read = self._read.get(place)
        if read is None:
            self._read[place] = _Names(now)
        else:
            if not read.complete:
                await self._list(kind, key.namespace, read)
            if read.taken is not None and key.name not in read.taken:
                return False
        return await exists(self._api, kind, key, cluster)

    async def _list(self, kind: Resource[Any], namespace: str, read: "_Names") -> None:
        page = await self._api.list(kind.metadata_only(), Selection(namespace), ListOptions(self.PAGE))
        found = frozenset(key_of(each).name for each in (*page.items, *page.unreadable))
        read.taken, read.complete = (None if page.continue_token else found), True


@dataclass(slots=True)
class _Names:
    """The names of one kind in one namespace, for one cluster, since a time of the monotonic clock."""

    since: float
    complete: bool = False
    taken: frozenset[str] | None = None
    """None if they were not read, or are too many."""


def key_in(body: dict[str, Any]) -> Key:
    """Return the key of an object in its manifest."""
    return Key(body["metadata"].get("namespace", ""), body["metadata"]["name"])
