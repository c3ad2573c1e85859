"""Takes the dashboards of a cluster away after their block has left the spec: pods first, then what they use.

The keys stay in their Secret until the cluster is deleted: saved objects that are encrypted with them stay, too. The
status says that something is left until all of it is gone, so a process that dies continues.
"""

from typing import Any

from stateward.api.kinds.search import SearchCluster
from stateward.engines.search.dashboards.frontend import dashboards_name, keys_secret
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.resource import Resource
from stateward.operator.beside.owned import Owned
from stateward.operator.beside.pods import pods_of

BESIDE: tuple[Resource[Any], ...] = (kinds.SERVICES, kinds.BUDGETS, kinds.NETWORK_POLICIES)


async def removed(owned: Owned, cluster: SearchCluster, selector: dict[str, str]) -> str:
    """Delete the objects of a cluster's dashboards in order; returns what is still left, empty if nothing is.

    Raises ApiError.
    """
    name = dashboards_name(cluster)
    gone = await owned.delete(kinds.DEPLOYMENTS, name)
    for kind in BESIDE:
        gone = await owned.delete(kind, name) and gone
    if not gone:
        return "their objects are being deleted"
    if await pods_of(owned, name, selector):
        return "their pods are ending"
    for secret in owned.mine(await owned.labelled(kinds.SECRETS, selector)):
        if secret.metadata.name != keys_secret(cluster):
            await owned.delete_read(kinds.SECRETS, secret)
    return ""
