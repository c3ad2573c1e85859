"""Whether a cluster as it was written can be what its author means: all that is wrong, each with what is accepted.

The API server's schema and rules refuse most of it already; this says the rest, and says all of it again for files
that never saw an API server. Pure. What a *change* may not do (a smaller volume, a lower version) is for planning.
"""

from stateward.api.checks import config, image, memory, naming, roles, security, storage, template, update
from stateward.api.cluster import SearchCluster
from stateward.api.problem import Problem, Severity, errors

__all__ = ["Problem", "Severity", "errors", "validate"]

_CHECKS = (
    naming.check,
    image.check,
    roles.check,
    storage.check,
    memory.check,
    config.check,
    template.check,
    update.check,
    security.check,
)


def validate(cluster: SearchCluster) -> list[Problem]:
    """Return everything that is wrong, each once, in the order of the checks; without errors the cluster may run."""
    problems = [problem for check in _CHECKS for problem in check(cluster)]
    return list({(problem.path, problem.message): problem for problem in problems}.values())
