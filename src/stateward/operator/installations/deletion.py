"""The deletion of an installation: its plan `cleanup`, if it has one, and then all its objects.

A failing cleanup plan does not block the deletion forever: it is reported, and the objects are removed all the same.
Objects that hold data (volume claims, namespaces, CRDs) stay unless the installation says otherwise.
"""

from collections.abc import Iterable

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.installation import Installation
from stateward.api.values.problem import first_of
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import ApiError, UnknownResource
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import NAMESPACES
from stateward.operator.installations.objects.applier import Applier, ObjectTools
from stateward.operator.installations.objects.kinds import Kinds
from stateward.operator.installations.objects.owned_objects import OwnedObject, owned_objects
from stateward.operator.installations.objects.views import kinds_in
from stateward.packages.plans.steady_state import KEPT, removal_turn


async def is_namespace_deleted(api: Api, namespace: str) -> bool:
    """Return whether a namespace is certainly being deleted, with everything in it.

    Its role bindings are deleted too, so the rights to remove anything there may be gone already: an installation that
    insisted would keep its namespace forever.
    """
    try:
        return (await api.get(NAMESPACES, Key("", namespace))).metadata.terminating
    except ApiError:
        return False  # Who may not look at namespaces removes what there is, one by one.


async def may_be_outside(kinds: Kinds, installation: Installation) -> bool:
    """Return whether an installation may have objects outside of its namespace; raises ApiError if that is unknown."""
    for group, kind in sorted(kinds_in(installation.metadata.annotations)):
        try:
            if not (await kinds.preferred(group, kind)).namespaced:
                return True
        except UnknownResource:
            return True  # Whether it is gone is found out when its objects are removed.
    return False


async def remove_objects(
    tools: ObjectTools, applier: Applier, installation: Installation, *, outside: bool = False
) -> str:
    """Remove all objects of an installation, or only those `outside` its namespace, all at once.

    Returns what the removal waits for, or nothing. Raises HeldError, ApiError.
    """
    owned = await owned_objects(tools.api, tools.kinds, installation, outside=outside)
    going = _going(installation, owned)
    # With the namespace their controllers are gone: to wait for one object would only keep the others.
    waits = await (_remove if outside else remove_in_turn)(applier, going)
    return first_of(waits, 3, "; ")


async def remove_in_turn(applier: Applier, owned: Iterable[OwnedObject]) -> list[str]:
    """Remove objects in their order; return what that waits for, or nothing. Raises HeldError, ApiError."""
    turns: dict[int, list[OwnedObject]] = {}
    for found in owned:
        turns.setdefault(removal_turn(found.identity), []).append(found)
    for _, going in sorted(turns.items()):
        if waits := await _remove(applier, going):
            return waits
    return []


async def _remove(applier: Applier, owned: Iterable[OwnedObject]) -> list[str]:
    return [text for found in owned if (text := await applier.remove(found.kind, found.body()))]


def _going(installation: Installation, owned: Iterable[OwnedObject]) -> list[OwnedObject]:
    kept = KEPT if installation.spec.deletion_policy is Retention.RETAIN else frozenset[tuple[str, str]]()
    return [found for found in owned if (found.identity.group, found.identity.kind) not in kept]
