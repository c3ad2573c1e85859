"""Applies and removes the objects of one installation, each from its live state.

Objects are created by server-side apply. An existing object without an owner is never touched, unless the installation
has `adopt`; one of another installation never. Objects are removed by UID and version.

An object that the caches show as the installation's own is applied by its UID, without a read before; one without
changes is not written again. One that they do not show is applied at a version that no object has: the server creates
it if it does not exist, and otherwise refuses. Only then it is read, and its owner checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from stateward.api.kinds.installation import Installation
from stateward.api.values.base import Json
from stateward.kube.cache.apply import state_of
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects.errors import Conflict, Invalid, NotFound, UnknownResource
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.metadata import ObjectMeta, PartialObject
from stateward.operator.installations.objects.cached_objects import CachedObjects
from stateward.operator.installations.objects.claims import Names, OwnershipLocks, check_owner
from stateward.operator.installations.objects.faults import FatalError, HeldError
from stateward.operator.installations.objects.kinds import Kinds, Raw, propagation
from stateward.operator.installations.objects.scaling import as_scaled
from stateward.operator.installations.objects.views import INSTALLATIONS, MANAGER
from stateward.operator.restarts.sources import read_sources
from stateward.packages.format.trees import at, text
from stateward.packages.plans.applied import ANNOTATION_APPLIED, applied_in, digest_of, rendered_anew, unmarked
from stateward.packages.plans.health import AT_ONCE
from stateward.packages.plans.steady_state import ONCE, owner_of
from stateward.packages.plans.steps import LABEL_INSTALLATION, LABEL_PACKAGE, LABEL_PART_OF, set_id, stamped
from stateward.packages.plans.work import ANNOTATION_RUN, AT_REST, Errand, due
from stateward.packages.rendering.objects import Identity, identity_of
from stateward.packages.rendering.rendering import Place, Use
from stateward.packages.restarts.dependencies import dependencies, template_path
from stateward.packages.restarts.digests import RootKey, digests_of
from stateward.packages.restarts.guards import too_large, too_many_objects
from stateward.packages.restarts.restarts import (
    ANNOTATION_BECAUSE,
    ANNOTATION_RECORD,
    Verdict,
    annotated,
    digest_in,
    judge,
    with_digest,
)

MOST_NESTED = 32
"""The depth to which parent installations are followed."""

NO_VERSION = "1"
"""A version that no object has, because the first write to a store gets the next one.

An apply at it creates an object that does not exist, and is a Conflict with any that does: it can never merge into an
object of another owner, not even where both agree. A server that refuses it otherwise costs one request.
"""

Bodies = Mapping[tuple[str, str], Json]
"""Objects as the server has just answered that they are, by kind and name."""
NONE: Bodies = {}


@dataclass(frozen=True, slots=True)
class ObjectTools:
    """What all installations are worked on with; `name_of` tells what the installation of a set is called."""

    api: Api
    kinds: Kinds
    root: RootKey
    name_of: Names = field(default=lambda _: "")
    claims: OwnershipLocks = field(default_factory=OwnershipLocks)


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """An object after it was applied; `because` names the data for which its pods restart.

    `live` is false if the server was not asked, because nothing has to be waited for: `body` is then the manifest.
    """

    body: Json
    because: tuple[str, ...] = ()
    waits: str = ""
    changed: bool = False
    live: bool = True


class Applier:
    """Applies and removes objects for one installation, for one purpose."""

    def __init__(
        self, tools: ObjectTools, installation: Installation, cached_objects: CachedObjects, errand: Errand = AT_REST
    ) -> None:
        self._errand = errand
        self._tools = tools
        self._installation = installation
        self._cached_objects = cached_objects
        self._key = tools.root.of(installation.metadata.namespace)
        self.set_id = cached_objects.set_id

    async def find(self, body: Json) -> tuple[Raw, ObjectKey]:
        """Return the place of a package's object; raises FatalError for an object outside its namespace, ApiError."""
        kind = await self._tools.kinds.find(text(body.get("apiVersion")), text(body.get("kind")))
        identity = identity_of(body)
        if not identity.name:
            raise FatalError(f"{identity.kind}: metadata.name is missing")
        home = self._installation.metadata.namespace
        if kind.namespaced and identity.namespace not in ("", home):
            raise FatalError(f"{identity}: an installation has objects in its own namespace {home} only")
        return kind, ObjectKey(home if kind.namespaced else "", identity.name)

    def nested_installation(self, body: Json) -> Json:
        """Return an installation that this one creates, with the same account as this one."""
        account = self._installation.spec.service_account_name
        return {**body, "spec": {**body["spec"], "serviceAccountName": account}} if account else body

    async def read(self, kind: Raw, key: ObjectKey) -> Json | None:
        """Return the live object, None if it does not exist; raises ApiError."""
        try:
            return {**await self._tools.api.get(kind, key), "apiVersion": kind.api_version, "kind": kind.kind}
        except NotFound:
            return None
        except UnknownResource:
            self._tools.kinds.forget(kind.group)
            raise

    async def installed_by(self) -> list[str]:
        """Return the names of the packages that this one is installed by, the nearest first; raises ApiError."""
        found, at_hand = list[str](), self._installation
        while (owner := at_hand.metadata.labels.get(LABEL_PART_OF)) and len(found) < MOST_NESTED:
            name, home = at_hand.metadata.labels.get(LABEL_INSTALLATION, ""), at_hand.metadata.namespace
            if owner != set_id(name, home):
                break
            found.append(at_hand.metadata.labels.get(LABEL_PACKAGE, ""))
            try:
                at_hand = await self._tools.api.get(INSTALLATIONS, ObjectKey(home, name))
            except NotFound:
                break
        return found

    async def make(
        self, use: Use, place: Place, body: Json, *, again: bool = False, near: Bodies = NONE
    ) -> AppliedObject:
        """Apply a rendered object, after those in `near`; `again`: the step has applied all of them before.

        Raises FatalError, HeldError, ApiError.
        """
        kind, key = await self.find(body)
        wanted = self._wanted(use, place, body, key)
        seen = self._cached_objects.ours(kind, key)
        known = await self._known(kind, key, wanted, seen, again=again, near=near) if seen is not None else None
        if known is not None:
            return known
        async with self._tools.claims.on(kind, key):
            created = await self._created(kind, key, wanted, near) if seen is None and not again else None
            return created or await self._made(kind, key, wanted, keep=False, near=near)

    async def restore(self, use: Use, place: Place, body: Json) -> AppliedObject:
        """Apply an object again that was changed or removed; the record of its pods' data stays.

        Raises FatalError, HeldError, ApiError.
        """
        kind, key = await self.find(body)
        async with self._tools.claims.on(kind, key):
            return await self._made(kind, key, self._wanted(use, place, body, key), keep=True, near=NONE)

    async def recognize(self, use: Use, place: Place, body: Json) -> AppliedObject | None:
        """Renew an object's record whose key was lost; None if the object differs from its manifest.

        Raises FatalError, HeldError, ApiError.
        """
        kind, key = await self.find(body)
        live = await self.read(kind, key)
        if live is None or owner_of(live) != self.set_id:
            return None
        wanted = await as_scaled(self._tools.api, self._wanted(use, place, body, key), live)
        wanted = _noted(wanted, live, await self._judged(live, wanted, NONE))
        trial = ApplyOptions(MANAGER, force=True, dry_run=True)
        tried = await self._tools.api.apply(kind, key, wanted, trial)
        if unmarked({**tried, "apiVersion": kind.api_version, "kind": kind.kind}) != unmarked(live):
            return None
        return await self._applied(kind, key, _exactly(wanted, live), text(at(live, "metadata", "resourceVersion")))

    async def _created(self, kind: Raw, key: ObjectKey, wanted: Json, near: Bodies) -> AppliedObject | None:
        """Create an object; None if it exists, or if that is not certain: a read tells."""
        noted = _noted(wanted, None, await self._judged(None, wanted, near))
        absent = {**noted, "metadata": {**noted["metadata"], "resourceVersion": NO_VERSION}}
        try:
            return await self._applied(kind, key, absent, "")
        except Conflict:
            return None
        except UnknownResource:
            self._tools.kinds.forget(kind.group)
            raise

    async def _known(
        self, kind: Raw, key: ObjectKey, wanted: Json, seen: PartialObject, *, again: bool, near: Bodies
    ) -> AppliedObject | None:
        """Apply an object that is certainly ours, if necessary; None if it has to be read first."""
        plain = template_path(wanted) is None
        if (again or plain) and self._cached_objects.is_as_written(seen, wanted):
            if (kind.group, kind.kind) in AT_ONCE:
                return AppliedObject(wanted, live=False)
            return await self._unhealthy(kind, key, seen)
        if _once(wanted) or at(wanted, "spec", "replicas"):
            return None  # Whether work is done, how many replicas another client has set: a read tells.
        if not plain:
            return await self._known_workload(kind, key, wanted, seen, near)
        exact = {**wanted, "metadata": {**wanted["metadata"], "uid": seen.metadata.uid}}
        try:
            return await self._applied(kind, key, exact, seen.metadata.resource_version)
        except (Conflict, Invalid, UnknownResource):
            return None  # Another object by now, or one that the server refuses: which of them, a read tells.

    async def _unhealthy(self, kind: Raw, key: ObjectKey, seen: PartialObject) -> AppliedObject | None:
        """Return an object that is as this process has written it, with its health; None if it is another by now.

        While the watch shows the version that was read last, its status has not changed either.
        """
        memory = self._cached_objects.memory
        live = memory.unchanged(self.set_id, seen.metadata) or await self.read(kind, key)
        if live is None or live["metadata"]["uid"] != seen.metadata.uid:
            return None
        memory.observed(self.set_id, live)
        return AppliedObject(live)

    async def _known_workload(
        self, kind: Raw, key: ObjectKey, wanted: Json, seen: PartialObject, near: Bodies
    ) -> AppliedObject | None:
        """Apply a workload at the version that the caches show; None if it has to be read first.

        Its record of the data that its pods have seen is in its metadata, and the digest in its pod template is known
        if the workload is as this process left it. The server refuses the write if either has changed since.
        """
        meta, path = seen.metadata, template_path(wanted)
        digest = self._cached_objects.memory.digest_in_template(self.set_id, meta)
        if digest is None or path is None:
            return None
        live: Json = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"annotations": meta.annotations}}
        live = with_digest(live, digest)
        verdict = await self._judged(live, wanted, near)
        noted = _noted(wanted, live, verdict)
        exact = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        try:
            made = await self._applied(
                kind, key, {**noted, "metadata": {**noted["metadata"], **exact}}, meta.resource_version
            )
        except (Conflict, Invalid, UnknownResource):
            return None
        because = verdict.because if verdict is not None else ()
        return replace(made, because=because, changed=state_of(meta) != _state(made.body))

    async def _applied(self, kind: Raw, key: ObjectKey, manifest: Json, before: str) -> AppliedObject:
        # An object that did not exist a moment ago is not taken from the client that has created it since.
        options = ApplyOptions(MANAGER, force=bool(before))
        made = await self._tools.api.apply(kind, key, manifest, options)
        body: Json = {**made, "apiVersion": kind.api_version, "kind": kind.kind}
        changed = before != text(at(body, "metadata", "resourceVersion"))
        self._cached_objects.memory.note(self.set_id, body, changed=changed)
        return AppliedObject(body, changed=changed)

    async def _made(self, kind: Raw, key: ObjectKey, wanted: Json, *, keep: bool, near: Bodies) -> AppliedObject:
        live = await self.read(kind, key)
        if live is None:
            if (created := await self._created(kind, key, wanted, near)) is not None:
                return created
            live = await self.read(kind, key)
        if live is not None:
            check_owner(live, self.set_id, self._tools.name_of, adopt=self._installation.spec.adopt)
            if at(live, "metadata", "deletionTimestamp") is not None:
                return AppliedObject(live, waits=f"{identity_of(live)} is being deleted")
            if _once(live) and (rendered_anew(applied_in(live), applied_in(wanted)) or due(live, self._errand)):
                return await self._anew(kind, live)
            wanted = await as_scaled(self._tools.api, wanted, live)
        verdict = _kept(live) if live is not None and (keep or _once(live)) else None
        # The record of its pods' data may have been removed: then it is read again, and restarts no pod.
        verdict = verdict or await self._judged(live, wanted, near)
        before = text(at(live, "metadata", "resourceVersion"))
        try:
            made = await self._applied(kind, key, _exactly(_noted(wanted, live, verdict), live), before)
        except Invalid as error:
            if live is not None and _once(live) and _unchangeable(error):
                return await self._anew(kind, live)  # Only where a key was lost it is not known before.
            raise
        because = verdict.because if live is not None and verdict is not None else ()
        return replace(made, because=because, changed=live is None or _state(live) != _state(made.body))

    async def _anew(self, kind: Raw, live: Json) -> AppliedObject:
        await self.remove(kind, live)
        return AppliedObject(live, waits=f"{identity_of(live)} is being recreated")

    def _wanted(self, use: Use, place: Place, body: Json, key: ObjectKey) -> Json:
        made = stamped(use, place, body)
        where = {"namespace": key.namespace} if key.namespace else {}
        notes = {**made["metadata"]["annotations"], ANNOTATION_APPLIED: self.digest_of(body)}
        if _once(body) and self._errand.run:
            notes[ANNOTATION_RUN] = self._errand.run
        return {**made, "metadata": {**made["metadata"], **where, "annotations": notes}}

    async def _judged(self, live: Json | None, wanted: Json, near: Bodies) -> Verdict | None:
        if template_path(wanted) is None:
            return None
        used = dependencies(wanted)
        if beyond := too_many_objects(used):
            raise FatalError(f"{identity_of(wanted)}: {beyond}")
        others = [found for found in used if (found.kind, found.name) not in near]
        found = {**near, **await read_sources(self._tools.api, others, self._installation.metadata.namespace)}
        verdict = judge(live, used, digests_of(used, found, self._key), self._key)
        if beyond := too_large(verdict.record):
            raise FatalError(f"{identity_of(wanted)}: {beyond}")
        return verdict

    def digest_of(self, body: Json) -> str:
        """Return the digest by which it is known what was rendered for an object."""
        return digest_of(body, self._key)

    async def delete(self, body: Json) -> str:
        """Remove what a package renders, if it is there and is ours; return what that waits for, or nothing."""
        try:
            kind, key = await self.find(body)
        except UnknownResource:
            if await self._is_served(body):
                raise
            return ""  # Where there is no such kind, there is no such object.
        live = await self.read(kind, key)
        if live is None or owner_of(live) != self.set_id:
            return ""
        return await self.remove(kind, live)

    async def _is_served(self, body: Json) -> bool:
        """Return whether the server has the kind of an object, in whichever version; raises ApiError."""
        identity = identity_of(body)
        self._tools.kinds.forget(identity.group)
        try:
            await self._tools.kinds.preferred(identity.group, identity.kind)
        except UnknownResource:
            return False
        return True

    async def remove(self, kind: Raw, live: Json) -> str:
        """Remove exactly this object; return what that waits for, or nothing when it is gone."""
        meta: dict[str, Any] = live["metadata"]
        identity: Identity = identity_of({**live, "apiVersion": kind.api_version, "kind": kind.kind})
        if meta.get("deletionTimestamp") is None:
            key = ObjectKey(meta.get("namespace", ""), meta["name"])
            exact = Preconditions(meta["uid"], meta["resourceVersion"])
            try:
                left = await self._tools.api.delete(kind, key, DeleteOptions(exact, propagation(kind)))
            except NotFound:
                self._cached_objects.memory.drop(self.set_id, meta["uid"])
                return ""
            except Conflict as error:
                raise HeldError(f"{identity} was changed by another client") from error
            self._cached_objects.memory.drop(self.set_id, meta["uid"])
            if left is None:
                return ""
        return f"{identity} is being deleted"


def _state(body: Json) -> str:
    """Return what differs after any change of an object except the ownership of its fields."""
    return state_of(msgspec.convert(body["metadata"], ObjectMeta))


def _once(body: Json) -> bool:
    identity = identity_of(body)
    return (identity.group, identity.kind) in ONCE


def _unchangeable(error: Invalid) -> bool:
    """Return whether the server refuses a change because the field is immutable, rather than because it is invalid."""
    words = ("immutable", "may not change")
    return any(word in cause.message for cause in error.causes for word in words)


def _exactly(manifest: Json, live: Json | None) -> Json:
    """Return a manifest that the server applies to this object, and to no other that has taken its name since."""
    uid = text(at(live, "metadata", "uid"))
    return {**manifest, "metadata": {**manifest["metadata"], "uid": uid}} if uid else manifest


def _kept(live: Json) -> Verdict | None:
    record = text(at(live, "metadata", "annotations", ANNOTATION_RECORD))
    return Verdict(record, digest_in(live)) if record else None


def _noted(wanted: Json, live: Json | None, verdict: Verdict | None) -> Json:
    """Return a manifest with the record of its pods' data; the reason of the last restart stays until the next."""
    if verdict is None:
        return wanted
    made = annotated(wanted, verdict)
    before = text(at(live, "metadata", "annotations", ANNOTATION_BECAUSE))
    if verdict.because or not before:
        return made
    notes = {**made["metadata"]["annotations"], ANNOTATION_BECAUSE: before}
    return {**made, "metadata": {**made["metadata"], "annotations": notes}}
