"""The next step of a restart in progress of one process in its kept pod, from the agent's answer.

    stop ──stopped──▶ start ──the agent has the configuration: started──▶ joined ──▶ done

The checksum in the agent's answer decides when the process may start: an annotation only shows what was written, and a
Secret takes up to two minutes to arrive in a pod. If the agent does not answer, the pod is recreated instead.
"""

from stateward.planning.facts.change import (
    change_of,
    confirmed,
    differing,
    effect_of,
    misfit,
    overtaken,
    staged,
    stranded,
    written_target,
)
from stateward.planning.facts.facts import Facts, serves
from stateward.planning.model.actions import Action, DeletePod, FinishRestart, SetPhase, StartProcess
from stateward.planning.model.intent import Part, State, Wait, merge, told
from stateward.planning.model.observation import Effect, Member, Unknown
from stateward.planning.model.phase import STOPPING, Phase
from stateward.planning.model.process import AGENT_PATIENCE, Process, ProcessState
from stateward.planning.steps.rollout.prepare import stage
from stateward.planning.steps.rollout.stop_process import UP, outdated, outrun, quiet, relief, standing, stop

REVERT_PATIENCE = 120.0
"""Seconds after which a process that has not joined gets a configuration that was changed in between."""


def step(facts: Facts, member: Member) -> Part:
    """Return the next step of one member."""
    process = member.process
    if not isinstance(process, Process):
        return silent(facts, member)
    return stopping(facts, member, process) if facts.phase(member) in STOPPING else starting(facts, member, process)


def stopping(facts: Facts, member: Member, process: Process) -> Part:
    """Return the next step of a member that is being stopped alone."""
    if process.state in UP:
        problem = standing(facts, member)
        if problem is not None:
            part = held(member, "NotSafeYet", problem, state=State.PREPARING)
            return merge(part, Part(actions=relief(facts, member)))
        return merge(said(member, "is being stopped"), Part(actions=(*quiet(facts, [member]), stop(member))))
    if process.state is not ProcessState.STOPPED:
        return said(member, "is being stopped")
    if member.name in facts.obs.stopped:
        return kept_stopped(facts, member)
    text = "its process is stopped"
    return merge(Part(actions=(set_phase(member, Phase.START, text),)), start(facts, member, process))


def kept_stopped(facts: Facts, member: Member) -> Part:
    """Return the intent of a member that the user keeps stopped; it waits for no restart, but perhaps for a change."""
    text = f"{member.name} is kept stopped by annotation stateward.dev/stopped of the cluster"
    intents = told(State.STOPPED, [member], change_of(facts, member).effect, text)
    return Part(intents=intents, waits=(Wait(member.name, "KeptStopped", text),))


def starting(facts: Facts, member: Member, process: Process) -> Part:
    """Return the next step of a member that is being started."""
    if process.state is ProcessState.STOPPED:
        return start(facts, member, process)
    if process.state not in UP:
        return said(member, "is being stopped")
    if outdated(member):
        problem = outrun(facts, member)
        if problem is not None:
            part = held(member, "NotSafeYet", problem, state=State.PREPARING)
            return merge(part, Part(actions=relief(facts, member)))
        text = "is stopped again: it runs with another configuration than the one recorded for it"
        return merge(said(member, text), Part(actions=(*quiet(facts, [member]), stop(member))))
    if process.state is ProcessState.RUNNING and facts.database is not None and serves(member, facts.database):
        return merge(said(member, "is back"), Part(actions=(finish(facts, member),)))
    return merge(said(member, "starts"), Part(actions=reverted(facts, member)))


def start(facts: Facts, member: Member, process: Process) -> Part:
    """Return the start of a stopped process, or what it waits for."""
    if overtaken(facts, member):
        why = f"version {member.pod.version if member.pod else ''} is no longer desired, and the member never ran it"
        return merge(said(member, f"is recreated: {why}"), anew(facts, member, why))
    if misfit(facts, member):
        actions = (stage(facts, member, "its template is for another version"),)
        return merge(
            said(member, "is started when its configuration is for the version of its pod"), Part(actions=actions)
        )
    wanted = member.config_checksum
    if wanted and process.mounted != wanted:
        return merge(
            held(member, "ConfigurationOnItsWay", process.lateness, state=State.RESTARTING),
            Part(actions=reverted(facts, member)),
        )
    return merge(said(member, "is being started"), Part(actions=(start_process(member),)))


def start_process(member: Member) -> StartProcess:
    """Return the start of a process with exactly the configuration that was written for it."""
    assert member.pod is not None  # noqa: S101 - only members with pods have phases
    why = "its configuration is in its pod"
    return StartProcess(why=why, member=member.name, address=member.pod.ip, checksum=member.config_checksum)


def finish(facts: Facts, member: Member) -> FinishRestart:
    """Return the end of a restart: the pod's record now names what its process runs with."""
    assert member.pod is not None  # noqa: S101 - only members with pods have phases
    pool = facts.pools.get(member.pool)
    inputs = confirmed(pool, member.pod.inputs, member.config) if pool and member.config else member.pod.inputs
    why, checksum = "it has joined the cluster again", member.config_checksum
    return FinishRestart(why=why, member=member.name, pod=member.pod.ref, inputs=inputs, checksum=checksum)


def reverted(facts: Facts, member: Member) -> tuple[Action, ...]:
    """Return the writing of a configuration that was changed while the process does not start with the previous one.

    Without this a bad setting would block its own revert: the restart that it belongs to never ends.
    """
    pool = facts.pools.get(member.pool)
    if pool is None or member.config is None or staged(facts, member) or stranded(facts, member):
        return ()
    names = differing(member.config, written_target(facts, member, pool))
    gentle = all(effect_of(pool, name) <= Effect.RESTART for name in names)
    return (
        (stage(facts, member, "it was changed meanwhile"),) if gentle and facts.unwell(member) > REVERT_PATIENCE else ()
    )


def silent(facts: Facts, member: Member) -> Part:
    """Return the next step of a member whose agent does not answer: after a while its pod is recreated."""
    pod, workload = member.pod, member.workload
    why = unheard(member)
    part = held(member, "AgentSilent", f"its agent does not answer: {why}", state=State.RESTARTING)
    if facts.waited(member.name, "AgentSilent") < AGENT_PATIENCE or pod is None or not pod.node_ready:
        return part
    if workload is None or not workload.observed or not member.alive or facts.ephemeral(member):
        return part
    # The stop was recorded, and it is unknown whether it was carried out: the process may still serve.
    problem = standing(facts, member)
    if problem is not None:
        part = held(member, "AgentSilent", f"its agent does not answer: {why}; {problem}", state=State.RESTARTING)
        return merge(part, Part(actions=relief(facts, member)))
    action = DeletePod(why=f"its agent does not answer: {why}", member=member.name, pod=pod.ref)
    return merge(part, Part(actions=(action,)))


def anew(facts: Facts, member: Member, why: str) -> Part:
    """Return the recreation of the pod of a member that does not run, with its desired template."""
    if member.pod is None or not staged(facts, member) or member.workload is None or not member.workload.observed:
        actions = (stage(facts, member, "it starts again"),) if member.pool in facts.pools else ()
        return Part(actions=actions if not staged(facts, member) else ())
    return Part(actions=(DeletePod(why=why, member=member.name, pod=member.pod.ref),))


def unheard(member: Member) -> str:
    """Return why nothing is known of a member's process."""
    return member.process.why if isinstance(member.process, Unknown) else "the operator has not asked it yet"


def beyond_reach(facts: Facts, name: str) -> bool:
    """Return whether the restart of the member cannot be finished, because its agent stays silent.

    Such a member may leave. If it were held until its restart ended, that silence would block its replacement.
    """
    silent_since = facts.obs.missing.get(name)
    silence = 0.0 if silent_since is None else facts.now - silent_since
    return isinstance(facts.members[name].process, Unknown) and silence >= AGENT_PATIENCE


def is_stopped(member: Member) -> bool:
    """Return whether the agent reports that no process runs."""
    return isinstance(member.process, Process) and member.process.state is ProcessState.STOPPED


def arrived(member: Member) -> bool:
    """Return whether the agent reports the configuration that was written for the member as mounted."""
    process = member.process
    return isinstance(process, Process) and member.config_checksum in ("", process.mounted)


def set_phase(member: Member, phase: Phase, why: str) -> SetPhase:
    """Return the writing of a phase."""
    assert member.pod is not None  # noqa: S101 - only members with pods have phases
    return SetPhase(why=why, member=member.name, pod=member.pod.ref, phase=phase)


def said(member: Member, text: str) -> Part:
    """Return the intent of a member whose process restarts."""
    return Part(intents=told(State.RESTARTING, [member], Effect.RESTART, f"{{}} {text}, in its pod"))


def held(member: Member, code: str, reason: str, *, state: State) -> Part:
    """Return the intent of a member that waits during its restart."""
    intents = told(state, [member], Effect.RESTART, f"{{}} waits during its restart: {reason}")
    return Part(intents=intents, waits=(Wait(member.name, code, f"{member.name}: {reason}"),))
