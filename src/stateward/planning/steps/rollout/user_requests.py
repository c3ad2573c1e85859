"""Reads the user's annotations: restarts of the whole cluster, and members that are kept stopped.

A restart requested on the cluster is recorded on its pods, and then removed from the cluster. The phases of the pods
drive the work in `rolling_change` and `restart_all`.
"""

from collections.abc import Sequence

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action, ClearSchedule, DeletePod, SetPhase
from stateward.planning.model.intent import StepResult, Wait, merge
from stateward.planning.model.phase import SCHEDULED, Phase, parse_phase
from stateward.planning.steps.rollout.restart_one import set_phase

ACCEPTED = ", ".join(sorted(phase.value for phase in SCHEDULED))


def schedule(facts: Facts, planned: Sequence[Action]) -> StepResult:
    """Return the phases to write onto pods, and the waits for invalid requests.

    A pod that is `planned` to get a phase or to be deleted gets no other phase: a stopping process would lose the phase
    by which it starts again.
    """
    phases = {action.member: action.phase for action in planned if isinstance(action, SetPhase)}
    busy = phases.keys() | {action.member for action in planned if isinstance(action, DeletePod)}
    ending = {name for name, phase in phases.items() if phase is Phase.NONE}
    return merge(write_phases(facts, busy, ending), StepResult(waits=(*invalid_phases(facts), *unstoppable(facts))))


def write_phases(facts: Facts, busy: set[str], ending: set[str]) -> StepResult:
    """Return the request on the cluster, written onto the pods that it means.

    It stays for those in `ending`, whose last restart ends with this plan: they get the phase in the next one.
    """
    wish = facts.obs.schedule
    if wish is None:
        return StepResult()
    phase = parse_phase(wish.phase)
    unknown = sorted(set(wish.pools) - {m.pool for m in facts.obs.members} - facts.pools.keys())
    if phase is None or phase not in SCHEDULED:
        text = f"annotation stateward.dev/restart-phase of the cluster is {wish.phase!r} and must be one of {ACCEPTED}"
        return StepResult(waits=(Wait(facts.obs.name, "RestartPhaseUnknown", text, stalled=True),))
    if unknown:
        text = f"annotation stateward.dev/restart-pools names {', '.join(unknown)}, which does not exist"
        return StepResult(waits=(Wait(facts.obs.name, "RestartPoolUnknown", text, stalled=True),))
    why = "a user asked for a restart of the cluster"
    meant = [m for m in facts.obs.members if m.pod is not None and (not wish.pools or m.pool in wish.pools)]
    idle = (m for m in meant if m.pod is not None and not m.pod.terminating and m.name not in busy)
    free = [m for m in idle if facts.phase(m) is Phase.NONE]
    clear = () if any(m.name in ending for m in meant) else (ClearSchedule(why="the restart is recorded on its pods"),)
    return StepResult(actions=(*(set_phase(m, phase, why) for m in free), *clear))


def invalid_phases(facts: Facts) -> tuple[Wait, ...]:
    """Return the pods whose annotation is not a valid phase."""
    found = ((m.name, m.pod.strange_phase) for m in facts.obs.members if m.pod is not None and m.pod.strange_phase)
    text = "annotation stateward.dev/restart-phase of its pod is {!r} and must be one of " + ACCEPTED
    return tuple(Wait(n, "RestartPhaseUnknown", f"{n}: {text.format(said)}", stalled=True) for n, said in found)


def unstoppable(facts: Facts) -> tuple[Wait, ...]:
    """Return the members that are to be kept stopped and cannot be."""
    waits: list[Wait] = []
    for name in sorted(facts.obs.stopped):
        member = facts.members.get(name)
        if member is None:
            text = f"annotation stateward.dev/stopped names {name}, which does not exist"
            waits.append(Wait(name, "StoppedMemberUnknown", text, stalled=True))
        elif member.pod is not None and not facts.managed(member):
            text = f"{name} cannot be kept stopped: its pod has no agent, or update.inPlace is Never"
            waits.append(Wait(name, "NeedsAgent", text, stalled=True))
    return tuple(waits)
