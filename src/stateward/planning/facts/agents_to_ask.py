"""Whose agents have to be asked for a plan: those of members that are restarted, are about to be, or do not serve.

A settled cluster asks nobody: thousands of agents need not say every minute that nothing has changed. While one stays
silent, all others are asked too: whether they answer tells a broken pod from a network that keeps the operator out.
"""

from stateward.planning.facts.missing_members import Cause
from stateward.planning.model.observation import Member, Observation
from stateward.planning.model.phase import Phase


def questions(obs: Observation) -> tuple[Member, ...]:
    """Return the members whose agents are asked."""
    return tuple(m for m in obs.members if m.pod is not None and m.pod.agent and matters(obs, m))


def matters(obs: Observation, member: Member) -> bool:
    """Return whether the plan needs to know what the member's process is doing."""
    pod, workload = member.pod, member.workload
    if pod is None or pod.terminating or not pod.running:
        return False
    staged = workload is not None and workload.inputs != pod.inputs
    # A process may have been stopped by a restart of which nothing is left, even before it was ever in the cluster:
    # only its agent knows.
    away = not pod.ready and pod.node_ready
    silent = Cause.AGENT_UNREACHABLE in obs.causes.values()
    return staged or away or pod.phase is not Phase.NONE or pod.begun or member.name in obs.stopped or silent
