"""What the policy of the operator refuses of the pods of a cluster. Pure.

It is asked twice: of a spec, so that people read what is wrong, and of each template just before it is sent. The second
is what the policy rests on.
"""

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level, violations
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.operator.databases.engine import Family
from stateward.operator.pod_rights.finished import finished
from stateward.planning.model.observation import Refusal

NOT_ALLOWED = "PodNotAllowed"
"""Reason to wait: pods as the spec asks for them may not be made."""


class PodNotAllowed(Exception):  # noqa: N818 - a state of the world, named as such
    """A pod template is not sent, because what it asks for is not allowed."""


def problems(family: Family, cluster: Cluster, level: Level) -> list[Problem]:
    """Return what a level does not allow of the pods of a valid cluster, each field once."""
    if level is Level.PRIVILEGED:
        return []
    found = (
        Problem(made.field(finding.path), finding.value, f"{finding.accepted} (the pod policy is {level})")
        for made in finished(family, cluster)
        for finding in violations(level, made.template)
    )
    return list({(problem.path, problem.message): problem for problem in found}.values())


def refusals(family: Family, cluster: Cluster, level: Level) -> tuple[Refusal, ...]:
    """Return the same as what is refused: the cluster goes on as it is, and nothing is made from its spec."""
    return tuple(Refusal(p.path, NOT_ALLOWED, str(p)) for p in problems(family, cluster, level))


def refuse(level: Level, template: Json) -> None:
    """Raise PodNotAllowed where a template that is about to be sent has something that the level does not allow."""
    found = next(iter(violations(level, template)), None)
    if found is not None:
        raise PodNotAllowed(f"{'.'.join(found.path)}: {found.accepted} (the pod policy is {level})")
