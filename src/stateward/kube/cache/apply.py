"""Server-side apply that is skipped when it would change nothing.

A settled cluster must cause no writes. The server recognises an apply that changes nothing, but only after the whole
request; remembering what was applied, and to which version, saves that as well. What is remembered is only ever a
reason not to write: after a restart everything is applied once, and nothing changes.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic

import msgspec

from stateward.kube.cache.expectations import Expectations
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api, ApplyOptions
from stateward.kube.objects.metadata import K, Key
from stateward.kube.objects.resource import Resource

Manifest = Mapping[str, Any]
"""The fields of an object that we own, as in a manifest."""


class Outcome(Enum):
    """What an apply came to."""

    SKIPPED = "skipped"
    UNCHANGED = "unchanged"
    CREATED = "created"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Applied(Generic[K]):
    """The object as it is now, and what it took to get there."""

    object: K
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _Memo:
    uid: str
    digest: bytes
    state: str


class Applier:
    """Applies manifests under one field manager; owned fields are taken from whoever else claims them."""

    def __init__(self, api: Api, manager: str) -> None:
        self._api = api
        self._manager = manager
        self._memos: dict[tuple[str, str, Key], _Memo] = {}

    async def apply(
        self, resource: Resource[K], manifest: Manifest, *, store: Store[K], expectations: Expectations
    ) -> Applied[K]:
        """Make an object as the manifest says, unless the cache shows that it is; raises ApiError."""
        meta: Mapping[str, str] = manifest["metadata"]
        key = Key(meta.get("namespace", ""), meta["name"])
        digest = hashlib.sha256(msgspec.json.encode(manifest, order="deterministic")).digest()
        name = (resource.group, resource.plural, key)
        known = store.get(key)
        if known is not None and key not in store.unreadable and self._memos.get(name) == _memo(known, digest):
            return Applied(known, Outcome.SKIPPED)
        obj = await self._api.apply(resource, key, manifest, ApplyOptions(self._manager, force=True))
        expectations.wrote(store, obj)
        self._memos[name] = _memo(obj, digest)
        return Applied(obj, _outcome(known, obj))

    def forget(self, resource: Resource[Any], key: Key) -> None:
        """Forget what was applied to an object, because it is gone."""
        self._memos.pop((resource.group, resource.plural, key), None)


def _memo(obj: Any, digest: bytes) -> _Memo:
    return _Memo(obj.metadata.uid, digest, state_of(obj.metadata))


def state_of(meta: Any) -> str:
    """Return what of metadata changes with any field that we may own and, where possible, with no other."""
    generation = getattr(meta, "generation", 0)
    if not generation:
        # Without a generation every change counts, also those of a status; such kinds have few.
        return str(meta.resource_version)
    # The generation counts changes of the spec. Of the metadata it says nothing, so that is compared itself.
    owned = (getattr(meta, name, None) for name in ("labels", "annotations", "owner_references", "finalizers"))
    return f"{generation} " + msgspec.json.encode(tuple(owned), order="deterministic").decode()


def _outcome(known: Any, obj: Any) -> Outcome:
    if known is None or known.metadata.uid != obj.metadata.uid:
        return Outcome.CREATED
    same = known.metadata.resource_version == obj.metadata.resource_version
    return Outcome.UNCHANGED if same else Outcome.CHANGED
