"""Continues restarts of processes in kept pods, one or all together; a restart in progress is always finished.

    stop ──stopped──▶ start ──the agent has the configuration: started──▶ joined ──▶ done
    stop-coordinated ──all stopped──▶ start-coordinated ──all have the configuration: started──▶ joined ──▶ done

The agent's answer determines the step, never the history, so each step may be repeated, and an operator that was killed
continues where it was. A member whose pod is in trouble is left to `repair`.
"""

from collections.abc import Sequence

from stateward.planning.facts.change import coordinated_inputs
from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import DeletePod
from stateward.planning.model.intent import State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Effect, Inputs, Member, ProtocolSwitch
from stateward.planning.model.phase import COORDINATED, STOPPING, Phase
from stateward.planning.model.process import Process, ProcessState
from stateward.planning.steps.rollout.prepare import loses_state_with_pod
from stateward.planning.steps.rollout.restart_one import (
    config_is_mounted,
    handle_silent_agent,
    is_stopped,
    kept_stopped,
    recreate_pod,
    restart_intent,
    set_phase,
    step,
    unknown_state,
)
from stateward.planning.steps.rollout.stop_process import UP, is_mute, limit_allocation, stop


def continue_restarts(facts: Facts, taken: frozenset[str]) -> StepResult:
    """Return the next steps of all restarts in progress, except of members that were taken."""
    going = [m for m in facts.obs.members if m.name in facts.going - taken and not facts.trouble(m)]
    together = [m for m in going if facts.phase(m) in COORDINATED]
    alone = merge(*(unless_overdue(facts, m, step(facts, m)) for m in going if m not in together))
    return merge(alone, coordinated(facts, together, without_phase(facts, together, taken)))


def without_phase(facts: Facts, together: Sequence[Member], taken: frozenset[str]) -> list[Member]:
    """Return the members that were to stop with others, and whose own phase was not written yet.

    The disaster this prevents: the operator stops between two of these writes, half of the members change to a version
    that the others cannot talk to, and the others wait for a database that cannot answer.
    """
    begun = any(facts.phase(m) is Phase.STOP_COORDINATED for m in together)
    if not begun and not (together and facts.crossing is ProtocolSwitch.SWITCHED):
        return []
    marked = (m for m in facts.obs.members if facts.phase(m) is Phase.SCHEDULE_COORDINATED)
    return [m for m in marked if m.alive and m.name not in taken and not facts.trouble(m)]


def unless_overdue(facts: Facts, member: Member, part: StepResult) -> StepResult:
    """Return the part, without the member if no step helps it and it has waited long enough."""
    hopeless = not part.actions and facts.overdue(member) and member.name not in facts.obs.stopped
    return StepResult(waits=part.waits, otherwise=part.intents) if hopeless else part


def coordinated(facts: Facts, together: Sequence[Member], late: Sequence[Member]) -> StepResult:
    """Return the next step of members that are stopped all together and then started all together, with the `late`."""
    kept = [m for m in together if m.name in facts.obs.stopped and is_stopped(m)]
    lost = [m for m in together if out_of_reach(facts, m)]
    stuck = [m for m in together if stops_too_slowly(facts, m)]
    members = [m for m in together if m not in kept and m not in lost and m not in stuck]
    down = [m for m in members if facts.phase(m) in STOPPING]
    part = merge(*(kept_stopped(facts, m) for m in kept))
    part = merge(part, *(left_behind(m, "AgentSilent", f"its agent does not answer: {unknown_state(m)}") for m in lost))
    part = merge(part, *(left_behind(m, "ProcessDoesNotEnd", "its process does not end") for m in stuck))
    words = tuple(set_phase(m, Phase.STOP_COORDINATED, "the others are stopped already") for m in late)
    part = merge(
        part, *(restart_intent(m, "is stopped together with the others") for m in late), StepResult(actions=words)
    )
    if down or late:
        return merge(part, stop_all(facts, down, members, waits=bool(late)))
    return merge(part, start_all(facts, members))


def out_of_reach(facts: Facts, member: Member) -> bool:
    """Return whether the others continue without a member: its agent stays silent, and its pod cannot be recreated.

    The disaster this prevents: a machine fails while all members are stopped, and all stay stopped. A vote that moves
    is on the way to a new pod.
    """
    if not has_agent(member) or not is_mute(facts, member):
        return False
    part = handle_silent_agent(facts, member)
    return not part.actions and not part.exclude


def has_agent(member: Member) -> bool:
    """Return whether an agent stops and starts the member's process: also if the spec allows no new restart in pods."""
    return member.pod is not None and member.pod.agent


def stops_too_slowly(facts: Facts, member: Member) -> bool:
    """Return whether a process has not ended for so long that the others continue without it.

    The disaster this prevents: a disk fails, no signal ends a process that waits for it, and all members stay stopped
    because of one.
    """
    ending = isinstance(member.process, Process) and member.process.state not in (*UP, ProcessState.STOPPED)
    return ending and facts.overdue(member)


def left_behind(member: Member, code: str, why: str) -> StepResult:
    """Return the intent of a member that the others no longer wait for."""
    text = f"{why}; the others start without it"
    intents = intents_for(State.RESTARTING, [member], Effect.RESTART, f"{{}} waits during its restart: {text}")
    return StepResult(intents=intents, waits=(Wait(member.name, code, f"{member.name}: {text}", stalled=True),))


def stop_all(facts: Facts, down: Sequence[Member], members: Sequence[Member], *, waits: bool) -> StepResult:
    """Return the stops of members that still run; when none does and no member is in `waits`, the start of all."""
    part = merge(*(restart_intent(m, "is stopped together with the others") for m in members))
    managed = [m for m in down if has_agent(m)]
    mute = [m for m in managed if not isinstance(m.process, Process)]
    running = [m for m in managed if isinstance(m.process, Process) and m.process.state in UP]
    part = merge(part, *(handle_silent_agent(facts, m) for m in mute))
    if running:
        calm = () if facts.database is None or facts.database.limited else limit_allocation(facts, running)
        return merge(part, StepResult(actions=(*calm, *(stop(m) for m in running))))
    if waits or not all(is_stopped(m) for m in managed):
        return part
    bare = [m for m in down if m not in managed]
    if bare:
        return merge(part, *(restart_bare(facts, m) for m in bare))
    return merge(
        part, StepResult(actions=tuple(set_phase(m, Phase.START_COORDINATED, "all are stopped") for m in down))
    )


def restart_bare(facts: Facts, member: Member) -> StepResult:
    """Return the restart of a member without an agent: another pod, or none if it leaves or its data is in its pod.

    The disaster this prevents: a pool is renamed while all members change to a version that does not talk to the
    present one, or to encryption, and its members, without which there is no database, go on as they are.
    """
    if loses_state_with_pod(facts, member):
        return StepResult(actions=(set_phase(member, Phase.NONE, "its data would be lost with its pod"),))
    why, pod, workload = "all other members are stopped, and it has no agent", member.pod, member.workload
    if member.pool in facts.pools:
        return recreate_pod(facts, member, why)
    if pod is not None and workload is not None and changes_with_others(facts, pod.inputs, workload.inputs):
        ready = member.alive and workload.observed
        return StepResult(actions=(DeletePod(why=why, member=member.name, pod=pod.ref),) if ready else ())
    return StepResult(actions=(set_phase(member, Phase.NONE, "its pool was removed, so it leaves"),))


def changes_with_others(facts: Facts, before: Inputs, after: Inputs) -> bool:
    """Return whether a member's next template has a change without which it does not talk to the others."""
    return coordinated_inputs(facts, before) != coordinated_inputs(facts, after)


def start_all(facts: Facts, members: Sequence[Member]) -> StepResult:
    """Return what starts all of them, once every agent has confirmed the configuration that was written."""
    waiting = [m for m in members if is_stopped(m) and not config_is_mounted(m)]
    mute = [m for m in members if not isinstance(m.process, Process)]
    if not waiting and not mute:
        return merge(*(unless_overdue(facts, m, step(facts, m)) for m in members))
    names = ", ".join(m.name for m in [*waiting, *mute][:3])
    others = (m for m in members if m not in waiting and m not in mute)
    return merge(
        *(restart_intent(m, f"starts when the configuration of {names} has arrived") for m in others),
        *(step(facts, m) for m in waiting),
        *(handle_silent_agent(facts, m) for m in mute),
    )
