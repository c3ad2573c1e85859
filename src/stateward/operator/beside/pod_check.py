"""Whether the pods of a Deployment beside a cluster may have what their template says: as for the cluster's members."""

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import violations
from stateward.operator.beside.control import Tools
from stateward.operator.beside.owned import StopError
from stateward.operator.pod_rights.finished import FinalTemplate


async def check_pods(tools: Tools, live: Cluster, offered: FinalTemplate, reason: str, *, new: bool) -> None:
    """Raise StopError with `reason` if the pods would get more than their author may give them; raises ApiError.

    `new` is whether there are none of them yet.
    """
    found = next(iter(violations(tools.level, offered.template)), None)
    if found is not None:
        raise StopError(reason, f"{offered.field(found.path)}: {found.accepted} (the pod policy is {tools.level})")
    refused = await tools.rights.of_template(offered, live, new=new)
    if refused:
        raise StopError(reason, refused[0].message)
