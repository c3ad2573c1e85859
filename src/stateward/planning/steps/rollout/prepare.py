"""Checks what must hold before a member's pod or process stops, and takes the steps that make it hold.

    chosen ──stage──▶ staged ──drain, move the vote──▶ prepared ──limit the allocation, flush, delete──▶ down
                         └──configuration in the pod, move the vote──▶ prepared ──limit, flush, stop──▶ down

No memory is kept between the steps: the observation shows which step comes next. The allocation is limited together
with the deletion of the pod and not earlier: a limit during a wait would keep the copies of new indices unassigned.
"""

from collections.abc import Mapping, Sequence

from stateward.planning.facts.change import Change, immutable_inputs, member_version, staged
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.missing_members import is_stateless, loses_data_with_pod
from stateward.planning.model.actions import Action, DeletePod, SetPhase, Stage
from stateward.planning.model.intent import Intent, State, StepResult, Wait
from stateward.planning.model.observation import Effect, Member, Unknown
from stateward.planning.model.phase import Phase
from stateward.planning.model.process import Process, ProcessState
from stateward.planning.safety.availability import needs_vote_moved, other_managers
from stateward.planning.safety.sole_copies import droppable
from stateward.planning.steps.rollout.stop_process import limit_allocation, stop


def prepare(facts: Facts, members: Sequence[Member], changes: Mapping[str, Change]) -> StepResult:
    """Return the next step for the chosen members: prepare what is missing, or else take them down."""
    open_ends = {m.name: text for m in members if (text := unprepared(facts, m, changes[m.name]))}
    if open_ends:
        actions = tuple(stage(facts, m, changes[m.name].describe()) for m in members if not staged(facts, m))
    else:
        actions = take_down(facts, members, changes)
    return StepResult(
        actions=actions,
        intents={m.name: intent(m, changes[m.name], open_ends) for m in members},
        waits=tuple(wait for m in members for wait in agent_waits(m, changes[m.name])),
        drain=frozenset(m.name for m in members if needs_empty(facts, m) and not keeps_pod(changes[m.name])),
        exclude=frozenset(m.name for m in members if needs_vote_moved(facts, m) or has_lost_vote(facts, m)),
    )


def intent(member: Member, change: Change, open_ends: Mapping[str, str]) -> Intent:
    """Return what is meant with one of the chosen members."""
    because, name = change.describe(), member.name
    if not open_ends:
        how = " in its pod" if keeps_pod(change) else f" with a new pod ({change.note})" if change.note else ""
        return Intent(name, member.pool, State.RESTARTING, change.effect, f"{name} restarts{how} to apply {because}")
    first = next(iter(open_ends))
    step = open_ends.get(name) or f"it restarts together with {first}"
    text = f"{name} is prepared for a restart to apply {because}: {step}"
    return Intent(name, member.pool, State.PREPARING, change.effect, text)


def stage(facts: Facts, member: Member, why: str) -> Stage:
    """Return the writing of the member's next template, at the version that it should run now."""
    pool = facts.pools[member.pool]
    return Stage(
        why=why,
        member=member.name,
        pool=member.pool,
        version=member_version(facts, member, pool),
        crossing=facts.crossing,
        keeps=immutable_inputs(facts, member, pool),
    )


def take_down(facts: Facts, members: Sequence[Member], changes: Mapping[str, Change]) -> tuple[Action, ...]:
    """Return the deletion of the pods of prepared members, and the limit that prevents a reallocation of shards."""
    back = [m for m in members if keeps_pod(changes[m.name]) or not loses_data_with_pod(facts, m)]
    actions: list[Action] = list(limit_allocation(facts, back))
    for member in members:
        if member.pod is None:
            continue
        why, pod = f"to apply {changes[member.name].describe()}", member.pod.ref
        if keeps_pod(changes[member.name]):
            actions += [SetPhase(why=why, member=member.name, pod=pod, phase=Phase.STOP), stop(member, why)]
        else:
            note = changes[member.name].note
            because = f"{why}, as {note}" if note else why
            actions.append(DeletePod(why=because, member=member.name, pod=pod))
    return tuple(actions)


def keeps_pod(change: Change) -> bool:
    """Return whether a restart of the process in its pod applies the change."""
    return change.effect is Effect.RESTART


def agent_problem(member: Member) -> tuple[str, str] | None:
    """Return why the process cannot be stopped yet, as a reason and a clause: its agent, or its new configuration.

    The process stops only after the configuration has arrived in the pod, so the member is not down while it arrives.
    """
    process = member.process
    if not isinstance(process, Process):
        why = process.why if isinstance(process, Unknown) else "the operator asks it first"
        return "AgentSilent", f"its agent has not answered: {why}"
    if process.state not in (ProcessState.STARTING, ProcessState.RUNNING):
        return "ProcessStopped", f"its process is {process.state}"
    if member.config_checksum not in ("", process.mounted):
        return "ConfigurationNotMounted", process.lateness
    return None


def agent_waits(member: Member, change: Change) -> tuple[Wait, ...]:
    """Return what a member waits for that is about to be restarted in its pod, or would be if its agent answered."""
    silent = isinstance(member.process, Unknown)
    problem = agent_problem(member) if (keeps_pod(change) and member.process is not None) or silent else None
    return (Wait(member.name, problem[0], f"{member.name}: {problem[1]}"),) if problem else ()


def unprepared(facts: Facts, member: Member, change: Change) -> str | None:
    """Return what is left to do before the member's pod, or its process, may go."""
    if not staged(facts, member):
        return "its next template is written"
    if member.workload is None or not member.workload.observed:
        return "its StatefulSet controller has not observed the new template yet"
    if facts.database is not None and member.name not in facts.obs.records:
        # An operator that stops after this step would not count this member as unavailable, and would stop the next one
        # too.
        return "the operator first records that it has joined"
    problem = agent_problem(member) if keeps_pod(change) else None
    if problem is not None:
        return problem[1]
    if needs_empty(facts, member) and not keeps_pod(change) and not is_drained(facts, member):
        return f"{len(facts.units_of(member.name))} shards have to leave it, because it loses its data with its pod"
    return "its vote moves to another manager" if needs_vote_moved(facts, member) else None


def needs_empty(facts: Facts, member: Member) -> bool:
    """Return whether the member may hold data that would be lost with its pod.

    A member without state holds none, unless it was made for something else or the database says so. The disaster this
    prevents: the database does not let it be drained, because no other one can take over, and it is never restarted.
    """
    if not loses_data_with_pod(facts, member) or not facts.holds_data(member):
        return False
    return bool(facts.units_of(member.name)) or not is_stateless(facts, member)


def loses_state_with_pod(facts: Facts, member: Member) -> bool:
    """Return whether the data of the member, or the state of the cluster that it holds, is lost with its pod."""
    return needs_empty(facts, member) or (loses_data_with_pod(facts, member) and facts.votes(member))


def is_drained(facts: Facts, member: Member) -> bool:
    """Return whether the member is being drained, and every shard on it has a copy elsewhere."""
    told = facts.database is not None and member.name in facts.database.draining
    return told and (not facts.units_of(member.name) or droppable(facts, member))


def has_lost_vote(facts: Facts, member: Member) -> bool:
    """Return whether another manager has the member's vote now; it keeps it until the member is back."""
    taken = facts.database is not None and member.name in facts.database.voting_exclusions
    return taken and bool(other_managers(facts, member))
