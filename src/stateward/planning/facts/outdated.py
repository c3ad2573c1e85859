"""Pods that an earlier version of the operator made: they are reported, and stay as they are.

An upgrade of the operator restarts no database. A newer agent, or a newer revision of the operator's own part of pod
templates, comes with the next restart for which the template is written, or when the user agrees. Until then also a
pod that is evicted comes back as it was: its template is known to work.

The exception is a pod whose image cannot be pulled any longer: that of an earlier operator may be gone.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.observation import Member, Pod, Workload

OUTDATED = "newer pod template"
"""Name of the change, beside the names of inputs."""
_GONE = ("ErrImage", "ImagePull", "InvalidImageName")
"""How the trouble begins of a pod whose image cannot be pulled."""


def is_outdated(facts: Facts, made: Pod | Workload) -> bool:
    """Return whether an earlier version of the operator made a pod, or the template of the next one."""
    desired = facts.obs.desired
    agent = made.agent_version if isinstance(made, Pod) else made.agent
    return made.revision < desired.template_revision or bool(agent and desired.agent and agent != desired.agent)


def renewal_due(facts: Facts, member: Member) -> bool:
    """Return whether an outdated pod is to be recreated now."""
    pod = member.pod
    if pod is None or not is_outdated(facts, pod):
        return False
    return facts.obs.apply_pending or pod.trouble.startswith(_GONE)


def outdated_pods(facts: Facts) -> int:
    """Return the number of outdated pods of members that stay."""
    pods = (member.pod for member in facts.obs.members if member.pool in facts.pools)
    return sum(pod is not None and is_outdated(facts, pod) for pod in pods)
