"""Writes the templates that may be written at once, because no restart depends on them.

A member's next pod must be created from what its current pod has, or from the change that is about to be applied. A
change that restarts no member is written without waiting, and a change that was reverted before it was applied is
reverted here too. Otherwise an eviction, days later, would apply what the spec no longer asks for.

A new version of Stateward restarts no member, and writes no template: see `facts.outdated`.
"""

from collections.abc import Mapping

from stateward.planning.facts.change import change_of, downgrade_problem, member_target, staged
from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action
from stateward.planning.model.intent import Intent, StepResult
from stateward.planning.model.observation import Effect
from stateward.planning.model.referenced_data import record_data
from stateward.planning.steps.rollout.prepare import stage


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
    return StepResult(actions=tuple(actions))
