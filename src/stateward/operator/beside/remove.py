"""Takes what is beside a cluster away, after its block has left the spec: pods first, then what they use.

The status says that something is left until all of it is gone, so a process that dies continues.
"""

from typing import Any

from stateward.kube.objects import resources as kinds
from stateward.kube.objects.resource import Resource
from stateward.operator.beside.owned import Owned
from stateward.operator.beside.pods import pods_of

BESIDE: tuple[Resource[Any], ...] = (kinds.SERVICES, kinds.BUDGETS, kinds.NETWORK_POLICIES)
"""Kinds of which a Deployment may have one object of its name."""


async def removed(owned: Owned, name: str, selector: dict[str, str], *keep: str) -> str:
    """Delete the objects of a Deployment in order, but for the Secrets `keep`; returns what is still left, or nothing.

    Raises ApiError.
    """
    gone = await owned.delete(kinds.DEPLOYMENTS, name)
    for kind in BESIDE:
        gone = await owned.delete(kind, name) and gone
    if not gone:
        return "its objects are being deleted"
    if await pods_of(owned, name, selector):
        return "its pods are ending"
    await tidy(owned, selector, *keep)
    return ""


async def tidy(owned: Owned, selector: dict[str, str], *keep: str) -> None:
    """Delete the Secrets of a Deployment that no pod uses any more; raises ApiError."""
    for secret in owned.mine(await owned.labelled(kinds.SECRETS, selector)):
        if secret.metadata.name not in keep:
            await owned.delete_read(kinds.SECRETS, secret)
