"""Writes and deletes objects beside one cluster: only those that this very cluster resource controls.

All reads are live. An object of the name that another owner has is left alone, and said.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, KubeObject, key_of
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.objects.live import everything

T = TypeVar("T", bound=KubeObject)
_NO_GENERATION = (kinds.SECRETS.plural, kinds.SERVICES.plural)
"""Kinds whose objects count no generations: their version changes with each write."""
Memo = dict[tuple[str, Key], tuple[str, str, str]]
"""What was applied: UID, state and digest of the manifest, by kind and key."""


class TakenError(Exception):
    """An object of a needed name belongs to another owner."""


class GoingError(Exception):
    """An object of a needed name is being deleted."""


class StopError(Exception):
    """Why a round does not go on; `reason` is for programs."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Owned:
    """The objects beside one cluster; `memo` outlives a round, so that nothing is applied twice in vain."""

    def __init__(self, api: Api, cluster: Cluster, memo: Memo) -> None:
        self._api = api
        self._cluster = cluster
        self._memo = memo

    async def get(self, kind: Resource[T], name: str) -> T | None:
        """Return an object of this cluster; None if there is none. Raises TakenError, GoingError, ApiError."""
        key = Key(self._cluster.metadata.namespace, name)
        try:
            found: Any = await self._api.get(kind, key)
        except NotFound:
            return None
        if found.metadata.controller_uid != self._cluster.metadata.uid:
            raise TakenError(f"{kind.kind} {name} exists and does not belong to this cluster")
        if found.metadata.terminating:
            raise GoingError(f"{kind.kind} {name} is being deleted")
        return found

    async def apply(self, kind: Resource[T], body: Json) -> bool:
        """Apply a manifest, unless that was done before; returns whether the object is another one now.

        A new process sends each manifest once, which usually changes nothing. Raises TakenError, GoingError, ApiError.
        """
        name = body["metadata"]["name"]
        found: Any = await self.get(kind, name)
        digest = hashlib.sha256(msgspec.json.encode(body, order="deterministic")).hexdigest()
        place = (kind.plural, Key(self._cluster.metadata.namespace, name))
        if found is not None and self._memo.get(place) == (found.metadata.uid, _state(kind, found), digest):
            return False
        # With the UID of what was read, the server refuses to write to another object of the name.
        exact = body if found is None else {**body, "metadata": {**body["metadata"], "uid": found.metadata.uid}}
        made: Any = await self._api.apply(kind, place[1], exact, ApplyOptions(names.FIELD_MANAGER, force=True))
        self._memo[place] = (made.metadata.uid, _state(kind, made), digest)
        return found is None or _state(kind, found) != _state(kind, made)

    async def delete(self, kind: Resource[T], name: str) -> bool:
        """Delete an object of this cluster; returns whether it is gone. Another owner's object counts as gone.

        Raises ApiError.
        """
        try:
            found = await self.get(kind, name)
        except TakenError:
            return True
        except GoingError:
            return False
        if found is None:
            return True
        await self.delete_read(kind, found)
        return False

    async def delete_read(self, kind: Resource[Any], found: KubeObject) -> None:
        """Delete exactly the object that was read; raises ApiError."""
        self._memo.pop((kind.plural, key_of(found)), None)
        with suppress(NotFound):
            await self._api.delete(kind, key_of(found), DeleteOptions(Preconditions.of(found)))

    async def labelled(self, kind: Resource[T], selector: dict[str, str]) -> tuple[T, ...]:
        """Return the objects of a kind with these labels; raises ApiError."""
        labels = ",".join(f"{name}={value}" for name, value in sorted(selector.items()))
        return await everything(self._api, kind, Selection(self._cluster.metadata.namespace, labels=labels))

    def mine(self, found: Iterable[Any]) -> list[Any]:
        """Return the objects that this cluster controls, and that are not being deleted."""
        uid = self._cluster.metadata.uid
        return [each for each in found if each.metadata.controller_uid == uid and not each.metadata.terminating]


def _state(kind: Resource[Any], found: Any) -> str:
    meta = found.metadata
    return meta.resource_version if kind.plural in _NO_GENERATION else str(meta.generation)
