"""Handles members that do not serve, after the user or an interrupted restart has changed their processes.

    stopped without a reason ──▶ start             a user removed the phase during a restart
    kept stopped by a user ──▶ stop                also one that hangs, or crashes again and again
    schedule ──▶ stop                              a process that hangs is restarted on request
    runs what its pod does not record ──▶ start    a user removed the phase after the process started
    runs what its pod records ──▶ none             a user removed the phase before the process stopped

`rolling_change` handles members that serve, and `repair` members with an outdated template. Without this module a
stopped process would stay stopped, and the user could not restart the very member that misbehaves. A member that does
not serve may restart at once, unless the database still depends on its copies or its vote.
"""

from collections.abc import Iterator

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import SetPhase
from stateward.planning.model.intent import State, StepResult, merge
from stateward.planning.model.observation import Member
from stateward.planning.model.phase import Phase
from stateward.planning.model.process import Process, ProcessState
from stateward.planning.steps.rollout.restart_one import (
    REVERT_PATIENCE,
    config_is_mounted,
    handle_silent_agent,
    is_stopped,
    restart_intent,
    set_phase,
    vote_to_move,
    waiting_intent,
)
from stateward.planning.steps.rollout.stop_process import UP, limit_allocation, stop, stop_problem


def handle_stopped(facts: Facts, taken: frozenset[str]) -> StepResult:
    """Return what becomes of the processes of members that do not serve, but for members that were taken."""
    stray = [
        m
        for m in facts.obs.members
        if m.name not in taken | facts.going and m.alive and runs_unrecorded_config(facts, m)
    ]
    found = candidates(facts, taken | {m.name for m in stray})
    over = [m for m in facts.obs.members if m.name not in taken | facts.going and m.alive and has_no_effect(facts, m)]
    return merge(
        *(phase_to_finish(m) for m in stray), *(clear_restart(m) for m in over), *(step(facts, m) for m in found)
    )


def runs_unrecorded_config(facts: Facts, member: Member) -> bool:
    """Return whether a process runs with another configuration than its pod records, and no restart is in progress.

    The disaster this prevents: the change that caused the restart is reverted, the pod looks as if it had never been
    made, and the process keeps an undesired configuration forever.
    """
    process, pod = member.process, member.pod
    if pod is None or pod.terminating or pod.phase is not Phase.NONE or not pod.checksum or not pod.agent:
        return False
    if facts.trouble(member) or member.name in facts.obs.stopped:
        return False
    if not isinstance(process, Process) or process.state not in UP or process.running in ("", pod.checksum):
        return False
    return member.config_checksum in (process.running, pod.checksum)


def phase_to_finish(member: Member) -> StepResult:
    """Return the phase from which `restarts_in_progress` finishes the restart: it records what runs, or starts it."""
    why = "its process runs with another configuration than the one recorded on its pod"
    return merge(
        restart_intent(member, f"has been restarted: {why}"), StepResult(actions=(set_phase(member, Phase.START, why),))
    )


def has_no_effect(facts: Facts, member: Member) -> bool:
    """Return whether the annotation of a restart was removed, and the process runs with the recorded configuration.

    In a pod without an agent no phase stops a process.
    """
    process, pod = member.process, member.pod
    if pod is None or pod.terminating or not pod.begun or member.name in facts.obs.stopped:
        return False
    if pod.phase is not Phase.NONE or pod.strange_phase:
        return False
    if not pod.agent:
        return True
    return (
        isinstance(process, Process) and process.state is ProcessState.RUNNING and process.running in ("", pod.checksum)
    )


def clear_restart(member: Member) -> StepResult:
    """Return the end of a restart that left nothing behind, so that its agent need not be asked any longer."""
    why = "its restart annotation was removed, and its process runs with the recorded configuration"
    return StepResult(actions=(set_phase(member, Phase.NONE, why),))


def candidates(facts: Facts, taken: frozenset[str]) -> Iterator[Member]:
    """Yield the members with an agent that do not serve and whose processes are not being restarted."""
    for member in facts.obs.members:
        if member.name in taken | facts.up | facts.going or not member.alive or member.pod is None:
            continue
        if member.pod.agent and not member.pod.terminating and member.pod.node_ready:
            yield member


def step(facts: Facts, member: Member) -> StepResult:
    """Return the next step of one member.

    With `update.inPlace: Never` no process is stopped on request, and one that is stopped already is started all the
    same: no other step recreates a pod that is up to date.
    """
    if member.name in facts.obs.stopped:
        return stop_on_request(facts, member) if facts.managed(member) else StepResult()
    if facts.trouble(member):
        return StepResult()
    if is_stopped(member):
        # A pod whose configuration has not arrived is new: its agent waits for the configuration, and then starts the
        # process.
        why = "its process is stopped without a reason"
        return begin(member, Phase.START, why) if config_is_mounted(member) else StepResult()
    return stop_on_request(facts, member) if facts.managed(member) and is_requested(facts, member) else StepResult()


def is_requested(facts: Facts, member: Member) -> bool:
    """Return whether the user wants the process restarted; a member of a coordinated restart may still start."""
    phase = facts.phase(member)
    late = phase is Phase.SCHEDULE_ROLLING and facts.seconds_not_serving(member) > REVERT_PATIENCE
    return phase is Phase.SCHEDULE or late


def stop_on_request(facts: Facts, member: Member) -> StepResult:
    """Return the stop of a process that the user wants stopped or restarted.

    If the container restarts in trouble, its agent reads from the phase that the process stays stopped.
    """
    why = "a user asked for it"
    if facts.trouble(member) or is_stopped(member):
        return begin(member, Phase.STOP, why)
    process = member.process
    if not isinstance(process, Process):
        return handle_silent_agent(facts, member)
    if process.state not in UP:
        return StepResult()
    problem = stop_problem(facts, member)
    if problem is not None:
        return waiting_intent(member, "NotSafeYet", problem, state=State.PREPARING)
    voting = vote_to_move(facts, member)
    if voting is not None:
        return voting
    part = begin(member, Phase.STOP, why)
    return merge(part, StepResult(actions=(*limit_allocation(facts, [member]), stop(member, why))))


def begin(member: Member, phase: Phase, why: str) -> StepResult:
    """Return the writing of a phase, from which `restarts_in_progress` continues."""
    action: SetPhase = set_phase(member, phase, why)
    text = "is started again" if phase is Phase.START else "is being stopped"
    return merge(restart_intent(member, f"{text}: {why}"), StepResult(actions=(action,)))
