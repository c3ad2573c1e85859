"""The end of an installation: its plan `cleanup`, if it has one, and then everything that it has made.

A cleanup plan that fails holds nothing up for ever: it is said, and what was made goes all the same. What holds data
(volume claims, namespaces, definitions of kinds) stays unless the installation says otherwise.
"""

from collections.abc import Iterable

from stateward.api.cluster import Retention
from stateward.api.installation import Installation
from stateward.operator.installations.belongings import Belonging, belongings
from stateward.operator.installations.hands import Hands, Tools
from stateward.packages.standing import KEPT


async def removed(tools: Tools, hands: Hands, installation: Installation) -> str:
    """Remove all that an installation has made; return what that waits for, or nothing. Raises HeldError, ApiError."""
    owned = await belongings(tools.api, tools.kinds, installation)
    waits = [text for found in _going(installation, owned) if (text := await hands.remove(found.kind, found.body()))]
    return "; ".join(waits[:3]) + (f" and {len(waits) - 3} more" if len(waits) > 3 else "")


def _going(installation: Installation, owned: Iterable[Belonging]) -> list[Belonging]:
    kept = KEPT if installation.spec.retention is Retention.RETAIN else frozenset[tuple[str, str]]()
    return [found for found in owned if (found.identity.group, found.identity.kind) not in kept]
