"""Server-side apply that is skipped if it would change nothing.

An unchanged cluster must cause no writes. The server detects an apply without changes, but only after the whole
request; a memo of the applied manifest and its version saves that request too. A memo is only ever a reason not to
write: after a restart everything is applied once, without any change.
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
"""The fields of an object that the operator owns, as in a manifest."""


class Outcome(Enum):
    """The outcome of an apply."""

    SKIPPED = "skipped"
    UNCHANGED = "unchanged"
    CREATED = "created"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Applied(Generic[K]):
    """The object after an apply, and the outcome."""

    object: K
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _Memo:
    uid: str
    digest: bytes
    state: str


class Applier:
    """Applies manifests under one field manager; it takes owned fields over from other managers."""

    def __init__(self, api: Api, manager: str) -> None:
        self._api = api
        self._manager = manager
        self._memos: dict[tuple[str, str, Key], _Memo] = {}

    async def apply(
        self, resource: Resource[K], manifest: Manifest, *, store: Store[K], expectations: Expectations
    ) -> Applied[K]:
        """Apply a manifest, unless the cache shows that nothing would change; raise ApiError.

        What the cache shows is changed only if it is still the same object. The disaster this prevents: an operator
        that starts with an old state makes the objects of a new cluster owned by the deleted one of that name, and the
        garbage collector deletes them.
        """
        meta: Mapping[str, str] = manifest["metadata"]
        key = Key(meta.get("namespace", ""), meta["name"])
        digest = hashlib.sha256(msgspec.json.encode(manifest, order="deterministic")).digest()
        name = (resource.group, resource.plural, key)
        known = store.get(key)
        if known is not None and key not in store.unreadable and self._memos.get(name) == _memo(known, digest):
            return Applied(known, Outcome.SKIPPED)
        exact = manifest if known is None else {**manifest, "metadata": {**meta, "uid": known.metadata.uid}}
        obj = await self._api.apply(resource, key, exact, ApplyOptions(self._manager, force=True))
        expectations.wrote(store, obj)
        self._memos[name] = _memo(obj, digest)
        return Applied(obj, _outcome(known, obj))

    def forget(self, resource: Resource[Any], key: Key) -> None:
        """Forget the memo of an object that is gone."""
        self._memos.pop((resource.group, resource.plural, key), None)


def _memo(obj: Any, digest: bytes) -> _Memo:
    return _Memo(obj.metadata.uid, digest, state_of(obj.metadata))


def state_of(meta: Any) -> str:
    """Return a value that changes with every field that the operator may own and, if possible, with no other field."""
    generation = getattr(meta, "generation", 0)
    if not generation:
        # Without a generation every change counts, including status changes; such kinds have few.
        return str(meta.resource_version)
    # The generation counts changes of the spec but not of the metadata, so compare the metadata itself.
    owned = (getattr(meta, name, None) for name in ("labels", "annotations", "owner_references", "finalizers"))
    return f"{generation} " + msgspec.json.encode(tuple(owned), order="deterministic").decode()


def _outcome(known: Any, obj: Any) -> Outcome:
    if known is None or known.metadata.uid != obj.metadata.uid:
        return Outcome.CREATED
    same = known.metadata.resource_version == obj.metadata.resource_version
    return Outcome.UNCHANGED if same else Outcome.CHANGED
