"""Coordinated changes and restarts of all members: members before and after the change cannot talk to each other.

    requested ──all configurations in the pods──▶ schedule-coordinated ──no other restart──▶ stop-coordinated

`restarts_in_progress` finishes what this module starts. There is no safety check: all members stop, and a cluster
without a quorum can only be brought back in this way.
"""

from collections.abc import Sequence

from stateward.planning.facts.change import change_of, downgrade_problem, staged
from stateward.planning.facts.facts import OVERDUE, Facts
from stateward.planning.facts.protocol import runs_new_programs
from stateward.planning.model.actions import Action
from stateward.planning.model.intent import State, StepResult, Wait, intents_for
from stateward.planning.model.observation import Effect, Member, Process, ProtocolSwitch, Unknown
from stateward.planning.model.phase import Phase
from stateward.planning.model.process import AGENT_PATIENCE
from stateward.planning.safety.health_gate import health_problem
from stateward.planning.steps.rollout.prepare import loses_state_with_pod, stage
from stateward.planning.steps.rollout.restart_one import config_is_mounted, is_stopped, set_phase
from stateward.planning.steps.rollout.stop_process import stop_problem


def restart_all(facts: Facts, taken: frozenset[str]) -> StepResult:
    """Return the next step towards stopping all members that a coordinated restart concerns."""
    members = [m for m in facts.obs.members if m.name not in taken and concerned(facts, m)]
    if not members:
        return StepResult()
    actions, waits = preparation(facts, members)
    unmarked = [m for m in members if facts.phase(m) is not Phase.SCHEDULE_COORDINATED]
    if not actions and not waits:
        phase = Phase.SCHEDULE_COORDINATED if unmarked else Phase.STOP_COORDINATED
        why = "all members restart together"
        actions = tuple(set_phase(m, phase, why) for m in unmarked or members)
    text = waits[0].message if waits else "all are stopped, and then all are started"
    said = f"{{}} is prepared for a restart together with {len(members) - 1} others: {text}"
    return StepResult(actions=actions, intents=intents_for(State.PREPARING, members, Effect.RESTART, said), waits=waits)


def concerned(facts: Facts, member: Member) -> bool:
    """Return whether a coordinated restart was requested for the member, or a change of it needs one.

    A process that was started with the recorded configuration and does not serve is not stopped again: that would
    repeat forever.
    """
    if facts.phase(member) is Phase.START_COORDINATED and staged(facts, member):
        return False
    if member.pod is None or member.pod.terminating or facts.trouble(member) or not member.alive:
        return False
    return facts.phase(member) is Phase.SCHEDULE_COORDINATED or (
        change_of(facts, member).coordinated and not downgrade_problem(facts, member)
    )


def preparation(facts: Facts, members: Sequence[Member]) -> tuple[tuple[Action, ...], tuple[Wait, ...]]:
    """Return what has to be written, and what has to be waited for, before the first of them is stopped."""
    in_pods = tuple(data_in_pod(m) for m in members if not facts.managed(m) and loses_state_with_pod(facts, m))
    if in_pods:
        return (), in_pods
    left = left_out(facts, members)
    if left is not None:
        return (), (left,)
    if facts.crossing is ProtocolSwitch.SWITCHED:
        part = switch(facts)
        if part.actions or part.waits:
            return part.actions, part.waits
    unwritten = [
        m for m in members if m.pool in facts.pools and not staged(facts, m) and not downgrade_problem(facts, m)
    ]
    if unwritten:
        return tuple(stage(facts, m, "all members restart together") for m in unwritten), ()
    first = restarts_first(facts, members)
    if first is not None:
        return (), (first,)
    return (), tuple(wait for m in members if (wait := unprepared(facts, m)) is not None)


def restarts_first(facts: Facts, members: Sequence[Member]) -> Wait | None:
    """Return the wait for restarts of other members, unless one of them can no longer be expected to end.

    The disasters this prevents: the certificates of all members expire while one of them restarts, which ends when the
    database answers. It never does before the others have restarted together, and these wait for the one. Or its stop
    is held back because a new pod has not joined, which can only talk to the others after their restart.
    """
    kept = {name for name in facts.obs.stopped & facts.going if is_stopped(facts.members[name])}
    others = sorted(facts.going - kept - {m.name for m in members})
    ending = [name for name in others if not (facts.overdue(facts.members[name]) or is_held_back(facts, name))]
    if not ending or facts.unanswered:
        return None
    return Wait(facts.obs.name, "RestartsFirst", f"{', '.join(ending)} is being restarted first")


def is_held_back(facts: Facts, name: str) -> bool:
    """Return whether a member that serves was to stop for so long that waiting is no longer expected to help."""
    waited = max(facts.seconds_waited(name, reason) for reason in ("NotSafeYet", "AgentSilent"))
    return waited > OVERDUE and stop_problem(facts, facts.members[name]) is not None


def left_out(facts: Facts, members: Sequence[Member]) -> Wait | None:
    """Return the wait for a member of a removed pool that could not talk to the others after their change; or none.

    The disaster this prevents: one edit turns encryption on and gives the data pool another name. Its members do not
    get the change, so after the restart of all others no shard has a started copy, and the data cannot move either.
    """
    changes = [change for m in members if m.pool in facts.pools and (change := change_of(facts, m)).coordinated]
    if not changes or facts.crossing:
        return None
    removed = (m for m in facts.obs.members if m.alive and m.pool not in facts.pools and facts.took_part(m.name))
    member = next((m for m in removed if facts.holds_data(m) or facts.votes(m)), None)
    if member is None:
        return None
    text = (
        f"{member.name} leaves before all others restart together to apply {changes[0].describe()}, because it would"
        f" not be able to talk to them; if it cannot leave, only with pool {member.pool} in the spec it gets the change"
    )
    stalled = facts.seconds_waited(member.name, "PoolNeeded") > OVERDUE
    return Wait(member.name, "PoolNeeded", text, stalled=stalled)


def data_in_pod(member: Member) -> Wait:
    """Return the call for a person when a pod with data would have to be deleted together with the others.

    The disaster this prevents: all pods of a pool are deleted at once, and all copies of each shard with them.
    """
    why = "its pod has no agent" if member.pod is not None and not member.pod.agent else "update.inPlace is Never"
    keeps = f"{member.name} keeps its data in its pod, which would be deleted"
    if member.claim is not None and member.claim.terminating:
        keeps = f"the claim of {member.name} is being deleted, and its data would end with its pod"
    text = (
        f"{keeps} together with the others, because {why}: take"
        " the request or the change back that needs a restart of all members together, and restart the members one"
        " after the other with update.inPlace: Preferred first, which gives their pods agents"
    )
    return Wait(member.name, "DataInPod", text, stalled=True)


def switch(facts: Facts) -> StepResult:
    """Return the templates to write, and the waits, before the first process stops for the switch of all.

    Every member gets its template, including unavailable ones: a member that came back with the old program could talk
    to no other member.
    """
    mine = [m for m in facts.obs.members if m.pool in facts.pools and m.workload is not None]
    why = f"all processes change to {facts.obs.desired.version} at one moment"
    unwritten: tuple[Action, ...] = tuple(stage(facts, m, why) for m in mine if not staged(facts, m))
    doubt = None if is_parted(facts, mine) else health_problem(facts)
    text = f"all processes change to {facts.obs.desired.version} at one moment, and not while {doubt}"
    return StepResult(
        actions=unwritten, waits=() if unwritten or doubt is None else (Wait(facts.obs.name, "DatabaseNotReady", text),)
    )


def is_parted(facts: Facts, members: Sequence[Member]) -> bool:
    """Return whether the database does not answer while a member runs the new programs already, and others do not.

    Its data may have their version, so only the change of the others lets them talk to it again. The disaster this
    prevents: all next templates are written, the process of the only coordinator crashes, its next pod has the new
    programs, and the change of the others waits for a database that waits for this change.
    """
    running = (m for m in members if m.pod is not None and m.pod.running and facts.pools[m.pool].crossings)
    return facts.unanswered and any(runs_new_programs(facts.pools[m.pool], m) for m in running)


def unprepared(facts: Facts, member: Member) -> Wait | None:
    """Return what a member waits for; a member with a silent agent is recreated with the others, and not waited for."""
    if member.workload is None or not member.workload.observed:
        return Wait(
            member.name, "TemplateNotSeen", f"the StatefulSet of {member.name} has not observed its new template yet"
        )
    if not facts.managed(member):
        return None
    if not isinstance(member.process, Process):
        why = member.process.why if isinstance(member.process, Unknown) else "the operator asks it first"
        patient = facts.seconds_waited(member.name, "AgentSilent") < AGENT_PATIENCE
        text = f"{member.name}: its agent does not answer: {why}"
        return Wait(member.name, "AgentSilent", text) if patient else None
    if not config_is_mounted(member):
        return Wait(member.name, "ConfigurationNotMounted", f"{member.name}: {member.process.lateness}")
    return None
