"""What was set in the database is lifted, always: after a crash too, and when the work it was set for was given up.

No memory is needed: the database itself says what Stateward has set (`limited`, `draining`, the voting exclusions), and
the parts of the plan say what they need now. The difference is undone.
"""

from stateward.planning.actions import Action, Drain, ExcludeVoters, LimitAllocation, RestoreAllocation
from stateward.planning.facts import Facts
from stateward.planning.intent import Part, State

REJOIN_PATIENCE = 300.0
"""Seconds that copies are not rebuilt elsewhere while a member that Stateward took down comes back.

Long enough for an image pull and a start; short, because a member that stays away costs redundancy all that time.
"""


def undo(facts: Facts, part: Part, *, hold: bool) -> tuple[Action, ...]:
    """Return the settings to change, given what the parts of the plan need; `hold` keeps drains as they are."""
    database = facts.database
    if database is None:
        return ()
    actions: list[Action] = []
    if database.limited and not allocation_needed(facts, part):
        actions.append(RestoreAllocation(why="no member is restarting"))
    if not hold and part.drain != database.draining:
        actions.append(Drain(why=say("data moves away from", part.drain), members=part.drain))
    if not hold and part.exclude != database.voting_exclusions:
        actions.append(ExcludeVoters(why=say("votes are taken from", part.exclude), members=part.exclude))
    return tuple(actions)


def allocation_needed(facts: Facts, part: Part) -> bool:
    """Return whether a member is being taken down or is on its way back."""
    active = {State.PREPARING, State.RESTARTING}
    if any(i.state in active and facts.units_of(i.member) for i in part.intents.values()):
        return True
    if any(isinstance(a, LimitAllocation) for a in part.actions):
        return True
    return any(coming_back(facts, name) for name in facts.down)


def coming_back(facts: Facts, name: str) -> bool:
    """Return whether a member that is down will be back at once: it starts, without trouble, for minutes at most."""
    member = facts.members[name]
    trouble = member.pod is not None and member.pod.trouble
    return not trouble and facts.holds_data(member) and facts.age(name) < REJOIN_PATIENCE


def say(text: str, members: frozenset[str]) -> str:
    """Return the reason for a set of members."""
    return f"{text} {', '.join(sorted(members))}" if members else "nothing needs it any more"
