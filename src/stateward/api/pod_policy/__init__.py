"""What the pods of a cluster may be: a finished pod template goes in, what is not allowed of it comes out. Pure.

The levels are those of the Pod Security Standards of Kubernetes 1.34, with all of their controls. Which service
account, Secrets and volume claims the pods of a template would use is read out here, too. Whether these may be used,
their labels say, which the operator reads. Imports nothing but `stateward.api`.
"""

from stateward.api.pod_policy.account import Account, account
from stateward.api.pod_policy.baseline import BASELINE
from stateward.api.pod_policy.finding import Finding, Level, Path
from stateward.api.pod_policy.references import Reference, references
from stateward.api.pod_policy.restricted import RESTRICTED
from stateward.api.pod_policy.shape import malformed
from stateward.api.pod_policy.source import source
from stateward.api.pod_policy.violations import violations

__all__ = [
    "BASELINE",
    "RESTRICTED",
    "Account",
    "Finding",
    "Level",
    "Path",
    "Reference",
    "account",
    "malformed",
    "references",
    "source",
    "violations",
]
