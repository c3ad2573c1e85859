"""The refusals of the operator's pod policy for a cluster. Pure.

It is applied twice: to a spec, to report what is wrong, and to each template just before it is sent. The enforcement is
the second.
"""

from collections.abc import Iterable

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.pod_policy import Level, violations
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.operator.databases.engine import Family
from stateward.operator.pod_rights.finished import DASHBOARDS, METRICS, final_templates
from stateward.planning.model.desired import Refusal, refusals_of

NOT_ALLOWED = "PodNotAllowed"
"""Reason of a wait: pods with this spec are not allowed."""


class PodNotAllowed(Exception):  # noqa: N818 - a state of the world, named as such
    """A pod template is not sent, because its content is not allowed."""


def problems(family: Family, cluster: Cluster, level: Level) -> list[Problem]:
    """Return what a level does not allow of the pods of a valid cluster, each field once."""
    if level is Level.PRIVILEGED:
        return []
    found = (
        Problem(made.field(finding.path), finding.value, f"{finding.accepted} (the pod policy is {level})")
        for made in final_templates(family, cluster)
        for finding in violations(level, made.template)
    )
    return list({(problem.path, problem.message): problem for problem in found}.values())


def problems_beside(cluster: Cluster, level: Level) -> list[Problem]:
    """Return what a level does not allow of the pods beside a cluster, as far as the fields of their templates show it.

    The finished template is checked before it is sent. What the restricted level requires may come from the operator.
    """
    if level is Level.PRIVILEGED:
        return []
    dashboards = cluster.spec.dashboards if isinstance(cluster, SearchCluster) else None
    metrics = cluster.spec.metrics if isinstance(cluster, SearchCluster | FoundationDBCluster) else None
    templates = (
        (DASHBOARDS, dashboards.pod_template if dashboards is not None else None),
        (METRICS, metrics.pod_template if metrics is not None else None),
    )
    return [
        Problem(_field(path, each.path), each.value, f"{each.accepted} (the pod policy is {level})")
        for path, template in templates
        for each in violations(Level.BASELINE, template or {})
    ]


def _field(path: str, inner: Iterable[str]) -> str:
    return path + "".join(part if part.startswith("[") else f".{part}" for part in inner)


def refusals(family: Family, cluster: Cluster, level: Level) -> tuple[Refusal, ...]:
    """Return the same as refusals: the cluster continues unchanged, and nothing is created from its spec."""
    return refusals_of(problems(family, cluster, level), NOT_ALLOWED)


def refuse(level: Level, template: Json) -> None:
    """Raise PodNotAllowed if a template that is about to be sent exceeds the level."""
    found = next(iter(violations(level, template)), None)
    if found is not None:
        raise PodNotAllowed(f"{'.'.join(found.path)}: {found.accepted} (the pod policy is {level})")
