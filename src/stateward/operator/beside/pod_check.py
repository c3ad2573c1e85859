"""Whether the pods of a Deployment beside a cluster may have what their template says: as for the cluster's members."""

from dataclasses import dataclass

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import violations
from stateward.api.values.base import Json
from stateward.operator.beside.control import Tools
from stateward.operator.beside.owned import StopError
from stateward.operator.pod_rights.finished import FinalTemplate
from stateward.planning.model.observation import ProtocolSwitch


@dataclass(frozen=True, slots=True)
class Offered:
    """A Deployment, what its template is without the user's overrides, and the path of these in the spec."""

    body: Json
    bare: Json
    """The template of the pods."""
    path: str


async def check_pods(tools: Tools, live: Cluster, offered: Offered, reason: str) -> None:
    """Raise StopError with `reason` if the pods would get more than their author may give them; raises ApiError."""
    found = next(iter(violations(tools.level, offered.body["spec"]["template"])), None)
    if found is not None:
        place = "".join(part if part.startswith("[") else f".{part}" for part in found.path)
        raise StopError(reason, f"{offered.path}{place}: {found.accepted} (the pod policy is {tools.level})")
    overrides: tuple[str, Json] = (offered.path, {})
    final = FinalTemplate(offered.body, offered.bare, ProtocolSwitch.NONE, overrides, overrides)
    refused = await tools.rights.of_template(final, live)
    if refused:
        raise StopError(reason, refused[0].message)
