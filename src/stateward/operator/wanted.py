"""What a cluster should be, whatever its spec: one that makes no sense asks for nothing, and says why."""

from stateward.api.cluster import SearchCluster
from stateward.api.validation import Severity, validate
from stateward.operator.engine import Family
from stateward.planning.observation import Desired, Refusal


def wanted(family: Family, cluster: SearchCluster) -> Desired:
    """Return what should be, or, for a spec that makes no sense, nothing but its refusals."""
    errors = [p for p in validate(cluster) if p.severity is Severity.ERROR]
    if errors:
        refusals = tuple(Refusal(subject=p.path, reason="InvalidSpec", message=str(p)) for p in errors)
        return Desired(version=cluster.status.version, pools=(), refusals=refusals)
    return family.desired(cluster)
