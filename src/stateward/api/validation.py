"""Checks that a written cluster is consistent: all problems, each with what is accepted.

The API server's schema and rules refuse most of it already; this module adds the rest, and repeats all of it for files
that an API server has not seen. Pure. Rules for *changes* (a smaller volume, a lower version) belong to planning.
"""

from stateward.api.checks import (
    access,
    config,
    depth,
    detection,
    foundationdb,
    image,
    naming,
    network,
    security,
    template,
    update,
)
from stateward.api.checks.additions import keystore, plugins
from stateward.api.checks.pools import members, memory, resources, roles, scaling, storage
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.problem import Problem, Severity, errors

__all__ = ["Problem", "Severity", "errors", "validate", "validate_access"]

_CHECKS = (
    naming.check,
    members.check,
    image.check,
    roles.check,
    storage.check,
    scaling.check,
    resources.check,
    memory.check,
    config.check,
    template.check,
    update.check,
    security.check,
    keystore.check,
    plugins.check,
    detection.check,
    network.check,
)


def validate(cluster: Cluster) -> list[Problem]:
    """Return everything that is wrong, each once, in the order of the checks; without errors the cluster may run."""
    if too_deep := list(depth.check(cluster)):
        return too_deep  # The other checks follow the nesting.
    if isinstance(cluster, FoundationDBCluster):
        problems = [*foundationdb.check(cluster), *detection.check(cluster), *network.check(cluster)]
    elif isinstance(cluster, SearchCluster):
        problems = [problem for check in _CHECKS for problem in check(cluster)]
    else:
        raise TypeError(f"{type(cluster).__name__} is not a kind of cluster")
    return list({(problem.path, problem.message): problem for problem in problems}.values())


def validate_access(cluster: Cluster) -> list[Problem]:
    """Return what is wrong with `dashboards`, `metrics`, `routes` and remote clusters; without errors they may be made.

    It is apart from `validate`, because nothing beside the database may stop a change or a repair of the database.
    """
    if list(depth.check(cluster)):
        return []
    if isinstance(cluster, FoundationDBCluster):
        found = list(access.check_metrics(cluster.spec.metrics, access.EXPORTER, access.ASKER))
    else:
        found = list(access.check(cluster)) if isinstance(cluster, SearchCluster) else []
    return list({(problem.path, problem.message): problem for problem in found}.values())
