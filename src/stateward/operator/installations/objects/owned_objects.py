"""All objects of an installation, read live before any of them is removed."""

from dataclasses import dataclass

from stateward.api.kinds.installation import Installation
from stateward.api.values.base import Json
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import Api, ListOptions
from stateward.kube.objects.errors import DecodeError, Forbidden, UnknownResource
from stateward.kube.objects.metadata import PartialObject
from stateward.kube.objects.resource import Selection
from stateward.operator.installations.objects.applier import ObjectTools
from stateward.operator.installations.objects.kinds import Kinds, Raw
from stateward.operator.installations.objects.views import GroupKind, kinds_in, set_of
from stateward.packages.plans.steps import LABEL_PART_OF, set_id
from stateward.packages.rendering.objects import Identity


@dataclass(frozen=True, slots=True)
class OwnedObject:
    """An object of an installation."""

    identity: Identity
    kind: Raw
    meta: PartialObject

    def body(self) -> Json:
        """Return as much of it as is needed to remove exactly this."""
        meta = self.meta.metadata
        there = {
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        }
        return {"metadata": there | ({"deletionTimestamp": "now"} if meta.terminating else {})}


async def owned_objects(
    api: Api, kinds: Kinds, installation: Installation, *, outside: bool = False
) -> list[OwnedObject]:
    """Return all objects of an installation, or those `outside` of its namespace.

    Raises ApiError when it cannot be known which there are.
    """
    found: list[OwnedObject] = []
    for group, kind in sorted(kinds_in(installation.metadata.annotations)):
        try:
            found += await _of_kind(api, kinds, installation, (group, kind), outside=outside)
        except UnknownResource:
            # The cached kind may be outdated: only if the server does not list it, it has no objects.
            kinds.forget(group)
            try:
                await kinds.preferred(group, kind)
            except UnknownResource:
                continue  # With a kind its objects are gone, too.
            found += await _of_kind(api, kinds, installation, (group, kind), outside=outside)
    return found


async def findable(tools: ObjectTools, installation: Installation, sort: GroupKind, *, sure: bool) -> bool:
    """Return whether objects of a kind can be found again after their creation.

    Raises ApiError if they cannot and that has to be `sure`.
    """
    meta = installation.metadata
    try:
        resource = await tools.kinds.preferred(*sort)
        # Any state will do: only the right to list is tested, not the content.
        label = f"{LABEL_PART_OF}={set_id(meta.name, meta.namespace)}"
        where = Selection(meta.namespace if resource.namespaced else "", labels=label)
        await tools.api.list(resource.metadata_only(), where, ListOptions(limit=1, resource_version="0"))
    except (Forbidden, UnknownResource):
        if sure:
            raise
        return False
    return True


async def _of_kind(
    api: Api, kinds: Kinds, installation: Installation, sort: GroupKind, *, outside: bool
) -> list[OwnedObject]:
    meta, (group, kind) = installation.metadata, sort
    resource = await kinds.preferred(group, kind)
    if outside and resource.namespaced:
        return []
    label = f"{LABEL_PART_OF}={set_id(meta.name, meta.namespace)}"
    selection = Selection(meta.namespace if resource.namespaced else "", labels=label)
    state = await list_all(api, resource.metadata_only(), selection)
    if state.troubles:
        raise DecodeError(f"{kind} {state.troubles[0].metadata.name} cannot be read: {state.troubles[0].reason}")
    return [
        OwnedObject(Identity(group, kind, body.metadata.namespace, body.metadata.name), resource, body)
        for body in state.hand_over()
        if set_of(body.metadata)
    ]
