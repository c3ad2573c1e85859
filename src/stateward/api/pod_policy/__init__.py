"""The rules for pods of clusters, as a pure check of finished templates.

The levels are those of the Pod Security Standards of Kubernetes 1.34, with all of their controls. This room also reads
the service account, Secrets and volume claims that the pods of a template would use. Their labels, which the operator
reads, say whether they may be used. Imports nothing but `stateward.api`.
"""

from stateward.api.pod_policy.account import Account, account
from stateward.api.pod_policy.baseline import BASELINE
from stateward.api.pod_policy.finding import Finding, Level, Path
from stateward.api.pod_policy.references import Reference, config_maps, references
from stateward.api.pod_policy.restricted import RESTRICTED
from stateward.api.pod_policy.shape import malformed
from stateward.api.pod_policy.source import Places, source
from stateward.api.pod_policy.violations import violations

__all__ = [
    "BASELINE",
    "RESTRICTED",
    "Account",
    "Finding",
    "Level",
    "Path",
    "Places",
    "Reference",
    "account",
    "config_maps",
    "malformed",
    "references",
    "source",
    "violations",
]
