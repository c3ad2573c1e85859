"""Writes the templates that may be written at once, because no restart depends on them.

A member's next pod must be created from what its current pod has, or from the change that is about to be applied. A
change that restarts no member is written without waiting, and a change that was reverted before it was applied is
reverted here too. Otherwise an eviction, days later, would apply what the spec no longer asks for.

A new version of Stateward restarts no member, and writes no template: see `facts.outdated`.

A configuration that was changed by someone else is written again when a process waits for it.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from stateward.planning.facts.change import change_of, downgrade_problem, member_target, staged
from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action
from stateward.planning.model.intent import Intent, StepResult
from stateward.planning.model.observation import Effect, Member
from stateward.planning.model.phase import Phase
from stateward.planning.model.process import Process, ProcessState
from stateward.planning.model.referenced_data import record_data
from stateward.planning.steps.rollout.prepare import stage

ARRIVES = 180.0
"""Seconds after which a configuration in a pod is another one than was written: a kubelet takes at most two minutes."""


def templates(facts: Facts, claimed: Mapping[str, Intent]) -> StepResult:
    """Return the templates to write of members that need no restart and that no other question has claimed."""
    actions: list[Action] = []
    for member in facts.obs.members:
        pool = facts.pools.get(member.pool)
        idle = member.name not in claimed and member.alive and member.pod is not None
        if (
            pool is None
            or not idle
            or downgrade_problem(facts, member)
            or change_of(facts, member).effect is not Effect.NONE
        ):
            continue
        if not staged(facts, member):
            actions.append(stage(facts, member, "its next pod has the configuration that it runs now"))
        actions += record_data(member, member_target(facts, member, pool))
    return StepResult(actions=(*actions, *write_again(facts)))


def write_again(facts: Facts) -> tuple[Action, ...]:
    """Return the writing of configurations that have not arrived in their pods although their kubelets had the time.

    The disaster this prevents: someone tries a setting in the Secret of a member, which says all the same that it has
    what was written. The next pod, or the next restart, waits for what was written, and never gets it.
    """
    why = "another configuration than was written is in its pod"
    found = (m for m in facts.obs.members if m.pool in facts.pools and is_altered(facts, m))
    return tuple(replace(stage(facts, m, why), again=True) for m in found)


def is_altered(facts: Facts, member: Member) -> bool:
    """Return whether the member's process waits for a configuration that is not the one in its pod for too long."""
    process, pod, name = member.process, member.pod, member.name
    if not isinstance(process, Process) or process.problem or process.mounted == member.config_checksum:
        return False
    if pod is None or pod.terminating or not pod.node_ready or not member.alive or not staged(facts, member):
        return False
    # The agent of a new pod waits for the configuration before it starts the process, which is no step of a plan.
    new = process.state is ProcessState.STOPPED and pod.phase is Phase.NONE
    waited = facts.seconds_not_serving(member) if new else facts.seconds_waited(name, "ConfigurationNotMounted")
    return bool(member.config_checksum) and waited > ARRIVES and downgrade_problem(facts, member) is None
