"""The end of an installation: its plan `cleanup`, if it has one, and then everything that it has made.

A cleanup plan that fails holds nothing up for ever: it is said, and what was made goes all the same. What holds data
(volume claims, namespaces, definitions of kinds) stays unless the installation says otherwise.
"""

from collections.abc import Iterable

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.installation import Installation
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import NAMESPACES
from stateward.operator.installations.objects.applier import Hands, Tools
from stateward.operator.installations.objects.owned_objects import Belonging, belongings
from stateward.packages.plans.steady_state import KEPT


async def doomed(api: Api, namespace: str) -> bool:
    """Return whether a namespace is certainly being deleted, with everything in it.

    Its role bindings go as well, so the rights to remove anything there may be gone already: an installation that
    insisted would keep its namespace for ever.
    """
    try:
        return (await api.get(NAMESPACES, Key("", namespace))).metadata.terminating
    except ApiError:
        return False  # Who may not look at namespaces removes what there is, one by one.


async def removed(tools: Tools, hands: Hands, installation: Installation, *, outside: bool = False) -> str:
    """Remove all that an installation has made, or what is `outside` of its namespace.

    Returns what that waits for, or nothing. Raises HeldError, ApiError.
    """
    owned = await belongings(tools.api, tools.kinds, installation, outside=outside)
    waits = [text for found in _going(installation, owned) if (text := await hands.remove(found.kind, found.body()))]
    return "; ".join(waits[:3]) + (f" and {len(waits) - 3} more" if len(waits) > 3 else "")


def _going(installation: Installation, owned: Iterable[Belonging]) -> list[Belonging]:
    kept = KEPT if installation.spec.retention is Retention.RETAIN else frozenset[tuple[str, str]]()
    return [found for found in owned if (found.identity.group, found.identity.kind) not in kept]
