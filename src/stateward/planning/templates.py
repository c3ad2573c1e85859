"""Templates that may be written at once, because no restart hangs on them.

What a member's next pod is made from has to be what its pod is made from, or what it is about to become: a change that
restarts nobody is written without waiting, and one that was taken back before its turn is taken back here too. Else an
eviction, days later, would bring to life what nobody asks for any more.
"""

from collections.abc import Mapping

from stateward.planning.actions import Action
from stateward.planning.change import change_of, staged, stranded
from stateward.planning.facts import Facts
from stateward.planning.intent import Intent, Part
from stateward.planning.observation import Effect
from stateward.planning.prepare import stage


def templates(facts: Facts, claimed: Mapping[str, Intent]) -> Part:
    """Return the templates to write of members that need no restart and that no other question has claimed."""
    actions: list[Action] = []
    for member in facts.obs.members:
        idle = member.name not in claimed and member.alive and member.pod is not None and member.pool in facts.pools
        if not idle or staged(facts, member) or stranded(facts, member):
            continue
        if change_of(facts, member).effect is Effect.NONE:
            actions.append(stage(facts, member, "its next pod is made from what it runs now"))
    return Part(actions=tuple(actions))
