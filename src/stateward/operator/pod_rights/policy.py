"""The refusals of the operator's pod policy for a cluster. Pure.

It is applied twice: to a spec, to report what is wrong, and to each template just before it is sent. The enforcement is
the second.
"""

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level, violations
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.operator.databases.engine import Family
from stateward.operator.pod_rights.finished import final_templates
from stateward.planning.model.observation import Refusal

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


def refusals(family: Family, cluster: Cluster, level: Level) -> tuple[Refusal, ...]:
    """Return the same as refusals: the cluster continues unchanged, and nothing is created from its spec."""
    return tuple(Refusal(p.path, NOT_ALLOWED, str(p)) for p in problems(family, cluster, level))


def refuse(level: Level, template: Json) -> None:
    """Raise PodNotAllowed if a template that is about to be sent exceeds the level."""
    found = next(iter(violations(level, template)), None)
    if found is not None:
        raise PodNotAllowed(f"{'.'.join(found.path)}: {found.accepted} (the pod policy is {level})")
