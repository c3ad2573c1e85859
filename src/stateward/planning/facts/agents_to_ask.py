"""Decides which agents a plan asks: those of members that restart, are about to, or do not serve.

A settled cluster asks no agent: thousands of agents need not report every minute that nothing has changed. While one
agent stays silent, all others are asked too: their answers distinguish a broken pod from a network that blocks the
operator.
"""

from stateward.planning.facts.missing_members import Cause
from stateward.planning.model.observation import Member, Observation
from stateward.planning.model.phase import Phase


def members_to_ask(obs: Observation) -> tuple[Member, ...]:
    """Return the members whose agents to ask."""
    return tuple(m for m in obs.members if m.pod is not None and m.pod.agent and needs_process_state(obs, m))


def needs_process_state(obs: Observation, member: Member) -> bool:
    """Return whether the plan needs the state of the member's process."""
    pod, workload = member.pod, member.workload
    if pod is None or pod.terminating or not pod.running:
        return False
    staged = workload is not None and workload.inputs != pod.inputs
    # A restart of which no trace is left may have stopped the process, even before its member ever joined: only its
    # agent knows.
    away = not pod.ready and pod.node_ready
    silent = Cause.AGENT_UNREACHABLE in obs.causes.values()
    return staged or away or pod.phase is not Phase.NONE or pod.begun or member.name in obs.stopped or silent
