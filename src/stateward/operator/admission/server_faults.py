"""What a change adds to what the API server does not accept of a cluster's objects: by dry runs, nothing is stored."""

from stateward.api.kinds.cluster import Cluster
from stateward.api.validation import errors, validate, validate_access
from stateward.operator.admission.additions import Reason, Reasons, added, of_plan, texts
from stateward.operator.pod_rights.server_validation import ServerValidation
from stateward.planning.model.observation import Refusal

MEMBERS, BESIDE = "members", "beside"


async def faults_added(asked: ServerValidation, new: Cluster, old: Cluster | None) -> tuple[str, ...]:
    """Return what the server does not accept of a new cluster, or what is new of that in a changed one."""
    found = await _reasons(asked, new)
    if old is None or not found.found:
        return texts(found.found)
    return added(found, await _reasons(asked, old))  # Asked only then: a webhook has a few seconds.


async def _reasons(asked: ServerValidation, cluster: Cluster) -> Reasons:
    """Return what the server does not accept, and whether it could be asked: not about objects of an invalid spec."""
    members = [_reason(each, MEMBERS, cluster) for each in await asked.refusals(cluster)]
    beside = [_reason(each, BESIDE, cluster) for each in await asked.refusals_beside(cluster)]
    valid = not errors(validate(cluster))
    made = {MEMBERS: valid, BESIDE: valid and not errors(validate_access(cluster))}
    return Reasons((*members, *beside), frozenset(check for check, could in made.items() if could))


def _reason(refusal: Refusal, check: str, cluster: Cluster) -> Reason:
    said = refusal.message.removeprefix(refusal.subject)
    return of_plan(refusal.subject, said, refusal.message, check, [pool.name for pool in cluster.spec.pools])
