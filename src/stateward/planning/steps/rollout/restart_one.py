"""The next step of a restart in progress of one process in its kept pod, from the agent's answer.

    stop ──stopped──▶ start ──the agent has the configuration: started──▶ joined ──▶ done

The checksum in the agent's answer decides when the process may start: an annotation only shows what was written, and a
Secret takes up to two minutes to arrive in a pod. If the agent does not answer, the pod is recreated instead.
"""

from stateward.planning.facts.change import (
    change_of,
    differing,
    downgrade_problem,
    effect_of,
    has_config_of_next_version,
    has_config_of_other_version,
    inputs_after_restart,
    staged,
    would_upgrade_at_start,
    written_target,
)
from stateward.planning.facts.facts import Facts, serves
from stateward.planning.model.actions import Action, DeletePod, FinishRestart, SetPhase, StartProcess
from stateward.planning.model.intent import State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Effect, Member, Unknown
from stateward.planning.model.phase import COORDINATED, STOPPING, Phase
from stateward.planning.model.process import AGENT_PATIENCE, Process, ProcessState
from stateward.planning.safety.availability import needs_vote_moved
from stateward.planning.steps.rollout.prepare import stage
from stateward.planning.steps.rollout.stop_process import (
    UP,
    can_recreate,
    limit_allocation,
    moves_before_stop,
    outdated,
    stop,
    stop_problem,
    with_alive,
)

REVERT_PATIENCE = 120.0
"""Seconds after which a process that has not joined gets a configuration that was changed in between."""


def step(facts: Facts, member: Member) -> StepResult:
    """Return the next step of one member."""
    process = member.process
    if not isinstance(process, Process):
        return handle_silent_agent(facts, member)
    return stopping(facts, member, process) if facts.phase(member) in STOPPING else starting(facts, member, process)


def stopping(facts: Facts, member: Member, process: Process) -> StepResult:
    """Return the next step of a member that is being stopped alone."""
    if process.state in UP:
        held = before_stop(facts, member)
        if held is not None:
            return held
        return merge(
            restart_intent(member, "is being stopped"),
            StepResult(actions=(*limit_allocation(facts, [member]), stop(member))),
        )
    if process.state is not ProcessState.STOPPED:
        return restart_intent(member, "is being stopped")
    if member.name in facts.obs.stopped:
        return kept_stopped(facts, member)
    text = "its process is stopped"
    return merge(StepResult(actions=(set_phase(member, Phase.START, text),)), start(facts, member, process))


def before_stop(facts: Facts, member: Member) -> StepResult | None:
    """Return what keeps the member's process running, or is done before it stops; None if it may stop now."""
    problem = stop_problem(facts, member)
    if problem is None:
        return vote_to_move(facts, member)
    part = waiting_intent(member, "NotSafeYet", problem, state=State.PREPARING)
    return merge(part, StepResult(actions=moves_before_stop(facts, member)))


def vote_to_move(facts: Facts, member: Member) -> StepResult | None:
    """Return the moving of the member's vote if it has to move before its process stops; else None.

    The disaster this prevents: the stop of a manager is recorded and not carried out yet, another manager loses its
    vote meanwhile, and the remaining one alone is no majority of two.
    """
    if not needs_vote_moved(with_alive(facts), member):
        return None
    part = waiting_intent(member, "VoteMoving", "its vote moves to another manager first", state=State.PREPARING)
    return merge(part, StepResult(exclude=frozenset({member.name})))


def kept_stopped(facts: Facts, member: Member) -> StepResult:
    """Return the intent of a member that the user keeps stopped; it waits for no restart, but perhaps for a change."""
    text = f"{member.name} is kept stopped by annotation stateward.dev/stopped of the cluster"
    intents = intents_for(State.STOPPED, [member], change_of(facts, member).effect, text)
    return StepResult(intents=intents, waits=(Wait(member.name, "MemberStopped", text),))


def starting(facts: Facts, member: Member, process: Process) -> StepResult:
    """Return the next step of a member that is being started."""
    if process.state is ProcessState.STOPPED:
        return start(facts, member, process)
    if process.state not in UP:
        return restart_intent(member, "is being stopped")
    if outdated(member):
        # Members of a coordinated restart were all down already, and those before and after a reverted change may be
        # unable to talk.
        held = None if facts.phase(member) in COORDINATED else before_stop(facts, member)
        if held is not None:
            return held
        text = "is stopped again: it runs with another configuration than the one recorded for it"
        return merge(
            restart_intent(member, text), StepResult(actions=(*limit_allocation(facts, [member]), stop(member)))
        )
    if process.state is ProcessState.RUNNING and facts.database is not None and serves(member, facts.database):
        return merge(restart_intent(member, "is back"), StepResult(actions=(finish(facts, member),)))
    return merge(restart_intent(member, "starts"), StepResult(actions=reverted(facts, member)))


def start(facts: Facts, member: Member, process: Process) -> StepResult:
    """Return the start of a stopped process, or what it waits for."""
    if would_upgrade_at_start(facts, member):
        why = f"version {member.pod.version if member.pod else ''} is no longer desired, and the member never ran it"
        return merge(restart_intent(member, f"is recreated: {why}"), recreate_pod(facts, member, why))
    if has_config_of_other_version(facts, member):
        actions = (stage(facts, member, "its template is for another version"),)
        return merge(
            restart_intent(member, "is started when its configuration is for the version of its pod"),
            StepResult(actions=actions),
        )
    if has_config_of_next_version(facts, member):
        why = "its configuration is for the version of its next pod"
        return merge(restart_intent(member, f"is recreated: {why}"), recreate_pod(facts, member, why))
    wanted = member.config_checksum
    if wanted and process.mounted != wanted:
        return merge(
            waiting_intent(member, "ConfigurationNotMounted", process.lateness, state=State.RESTARTING),
            StepResult(actions=reverted(facts, member)),
        )
    return merge(restart_intent(member, "is being started"), StepResult(actions=(start_process(member),)))


def start_process(member: Member) -> StartProcess:
    """Return the start of a process with exactly the configuration that was written for it."""
    assert member.pod is not None  # noqa: S101 - only members with pods have phases
    why = "its configuration is in its pod"
    return StartProcess(why=why, member=member.name, address=member.pod.ip, checksum=member.config_checksum)


def finish(facts: Facts, member: Member) -> FinishRestart:
    """Return the end of a restart: the pod's record now names what its process runs with."""
    assert member.pod is not None  # noqa: S101 - only members with pods have phases
    inputs = inputs_after_restart(facts, member, member.pod.inputs)
    why, checksum = "it has joined the cluster again", member.config_checksum
    return FinishRestart(why=why, member=member.name, pod=member.pod.ref, inputs=inputs, checksum=checksum)


def reverted(facts: Facts, member: Member) -> tuple[Action, ...]:
    """Return the writing of a configuration that was changed while the process does not start with the previous one.

    Without this a bad setting would block its own revert: the restart that it belongs to never ends.
    """
    pool = facts.pools.get(member.pool)
    if pool is None or member.config is None or staged(facts, member) or downgrade_problem(facts, member):
        return ()
    names = differing(member.config, written_target(facts, member, pool))
    gentle = all(effect_of(pool, name) <= Effect.RESTART for name in names)
    return (
        (stage(facts, member, "it was changed meanwhile"),)
        if gentle and facts.seconds_not_serving(member) > REVERT_PATIENCE
        else ()
    )


def handle_silent_agent(facts: Facts, member: Member) -> StepResult:
    """Return the next step of a member whose agent does not answer: after a while its pod is recreated."""
    pod, why = member.pod, unknown_state(member)
    part = waiting_intent(member, "AgentSilent", f"its agent does not answer: {why}", state=State.RESTARTING)
    if pod is None or not can_recreate(facts, member):
        return part
    # The stop was recorded, and it is unknown whether it was carried out: the process may still serve.
    problem = None if is_last_to_stop(facts, member) else stop_problem(facts, member)
    if problem is not None:
        part = waiting_intent(
            member, "AgentSilent", f"its agent does not answer: {why}; {problem}", state=State.RESTARTING
        )
        return merge(part, StepResult(actions=moves_before_stop(facts, member)))
    voting = vote_to_move(facts, member)
    if voting is not None:
        return voting
    action = DeletePod(why=f"its agent does not answer: {why}", member=member.name, pod=pod.ref)
    return merge(part, StepResult(actions=(action,)))


def is_last_to_stop(facts: Facts, member: Member) -> bool:
    """Return whether the member stops together with others, and no other one serves any more.

    The disaster this prevents: two managers change together to certificates that the other one does not accept, and the
    one with the vote, whose agent is silent, waits for the other one, which cannot join it.
    """
    return facts.phase(member) is Phase.STOP_COORDINATED and not with_alive(facts).up - {member.name}


def recreate_pod(facts: Facts, member: Member, why: str) -> StepResult:
    """Return the recreation of the pod of a member that does not run, with its desired template."""
    if member.pod is None or not staged(facts, member) or member.workload is None or not member.workload.observed:
        actions = (stage(facts, member, "it starts again"),) if member.pool in facts.pools else ()
        return StepResult(actions=actions if not staged(facts, member) else ())
    return StepResult(actions=(DeletePod(why=why, member=member.name, pod=member.pod.ref),))


def unknown_state(member: Member) -> str:
    """Return why nothing is known of a member's process."""
    return member.process.why if isinstance(member.process, Unknown) else "the operator has not asked it yet"


def cannot_finish(facts: Facts, name: str) -> bool:
    """Return whether the restart of the member cannot be finished, because its agent stays silent.

    Such a member may leave. If it were held until its restart ended, that silence would block its replacement.
    """
    silent_since = facts.obs.missing.get(name)
    silence = 0.0 if silent_since is None else facts.now - silent_since
    return isinstance(facts.members[name].process, Unknown) and silence >= AGENT_PATIENCE


def is_stopped(member: Member) -> bool:
    """Return whether the agent reports that no process runs."""
    return isinstance(member.process, Process) and member.process.state is ProcessState.STOPPED


def config_is_mounted(member: Member) -> bool:
    """Return whether the agent reports the configuration that was written for the member as mounted."""
    process = member.process
    return isinstance(process, Process) and member.config_checksum in ("", process.mounted)


def set_phase(member: Member, phase: Phase, why: str) -> SetPhase:
    """Return the writing of a phase."""
    assert member.pod is not None  # noqa: S101 - only members with pods have phases
    return SetPhase(why=why, member=member.name, pod=member.pod.ref, phase=phase)


def restart_intent(member: Member, text: str) -> StepResult:
    """Return the intent of a member whose process restarts."""
    return StepResult(intents=intents_for(State.RESTARTING, [member], Effect.RESTART, f"{{}} {text}, in its pod"))


def waiting_intent(member: Member, code: str, reason: str, *, state: State) -> StepResult:
    """Return the intent of a member that waits during its restart."""
    intents = intents_for(state, [member], Effect.RESTART, f"{{}} waits during its restart: {reason}")
    return StepResult(intents=intents, waits=(Wait(member.name, code, f"{member.name}: {reason}"),))
