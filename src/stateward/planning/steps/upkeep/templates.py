"""Templates that may be written at once, because no restart hangs on them.

What a member's next pod is made from has to be what its pod is made from, or what it is about to become: a change that
restarts nobody is written without waiting, and one that was taken back before its turn is taken back here too. Else an
eviction, days later, would bring to life what nobody asks for any more.

A new version of Stateward restarts nothing; its agent comes with each member's next pod, whatever that is made for.
"""

from collections.abc import Mapping

from stateward.planning.facts.change import change_of, member_target, staged, stranded
from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action
from stateward.planning.model.intent import Intent, Part
from stateward.planning.model.observation import Effect, Member
from stateward.planning.model.referenced_data import note
from stateward.planning.steps.rollout.prepare import stage


def templates(facts: Facts, claimed: Mapping[str, Intent]) -> Part:
    """Return the templates to write of members that need no restart and that no other question has claimed."""
    actions: list[Action] = []
    for member in facts.obs.members:
        pool = facts.pools.get(member.pool)
        idle = member.name not in claimed and member.alive and member.pod is not None
        if pool is None or not idle or stranded(facts, member) or change_of(facts, member).effect is not Effect.NONE:
            continue
        complete = staged(facts, member)
        if not complete or dated(facts, member):
            why = "has the newer agent" if complete else "has the configuration that it runs now"
            actions.append(stage(facts, member, f"its next pod {why}"))
        actions += note(member, member_target(facts, member, pool))
    return Part(actions=tuple(actions))


def dated(facts: Facts, member: Member) -> bool:
    """Return whether the member's next pod would get another version of the agent than pods get now."""
    workload, agent = member.workload, facts.obs.desired.agent
    return workload is not None and bool(workload.agent and agent) and workload.agent != agent
