"""Moves the vote of a manager before it leaves: one at a time, never the last, and never while a manager is down.

    voting ──the others are all there──▶ excluded ──no longer in the voting configuration──▶ without a vote

The disaster this prevents: managers shrink from three to one by deleting two pods, and the remaining one waits forever
for a majority of three.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct

from stateward.planning.facts.facts import Facts
from stateward.planning.model.intent import StepResult
from stateward.planning.model.observation import Member
from stateward.planning.safety.availability import absent_voters, can_be_elected, unused_problem
from stateward.planning.steps.membership.release import hold_leaving


class VoteRemoval(Struct, frozen=True):
    """The one member that loses its vote now, and what keeps its vote: managers that are down, or votes without one."""

    voter: str = ""
    away: frozenset[str] = frozenset()
    """The managers that stay and are down."""
    unused: str | None = None
    """Whose vote is never cast, as a reason why the database takes no other one away; None if every vote is."""


def database_knows_departure(facts: Facts, member: Member) -> bool:
    """Return whether the database already knows that the member leaves; such a departure is finished."""
    database = facts.database
    return database is not None and member.name in database.draining | database.voting_exclusions


def next_to_lose_vote(
    facts: Facts, going: Sequence[Member], leaving: frozenset[str], holding: Collection[str]
) -> VoteRemoval:
    """Return the next manager to lose its vote: one in progress, or one that is down, or the highest without data.

    Members in `holding` have data to move, or would take the last copy of some with them. Copies for which there is no
    other place do not count: they leave with their member. The disaster this prevents: three members with all votes are
    given up at once; the first may leave and waits for the vote of the last, which waits for the first.

    The vote of a manager that is down may be removed while others are down too: a majority then needs fewer managers.
    Otherwise two managers that fail together would wait for each other forever.
    """
    excluded = facts.database.voting_exclusions if facts.database else frozenset[str]()
    ready = [m for m in going if facts.votes(m) and m.name not in holding]
    ready.sort(key=lambda m: (m.name not in excluded, m.name in facts.up, -m.ordinal, m.name))
    voter = ready[0].name if ready else ""
    away = absent_voters(facts) - leaving if voter in facts.up else frozenset[str]()
    return VoteRemoval(voter=voter, away=away, unused=unused_problem(facts))


def remove_vote(facts: Facts, member: Member, resignation: VoteRemoval) -> StepResult:
    """Return the next step to remove the member's vote; a part without waits if it has none."""
    database = facts.database
    if database is None or not facts.votes(member):
        return StepResult()
    begun = member.name in database.voting_exclusions
    exclude = StepResult(exclude=frozenset({member.name}))
    managers = (m for m in facts.obs.members if m.name != member.name and facts.votes(m) and m.name in facts.up)
    others = any(can_be_elected(facts, m) or not can_be_elected(facts, member) for m in managers)
    if not others and not database.appoints_voters:
        return hold_leaving([member], "VoteRemovalPending", f"{member.name} is the last manager")
    if member.name != resignation.voter:
        return hold_leaving(
            [member], "VoteRemovalPending", f"{resignation.voter} leaves first: managers leave one at a time"
        )
    held = None if begun else removal_problem(resignation)
    if held is not None:
        return hold_leaving([member], "VoteRemovalPending", held)
    heirs = (name for name in database.voters & database.nodes.keys() if name != member.name)
    unled = can_be_elected(facts, member) and not any(database.nodes[name].electable for name in heirs)
    if member.name in database.voters or not begun or (unled and not database.appoints_voters):
        reason = database.unmovable.get(member.name, "")
        text = f"no manager can take over its vote: {reason}" if reason else f"the vote of {member.name} is being moved"
        return hold_leaving([member], "VoteRemovalPending", text, claimed=exclude)
    return exclude


def removal_problem(resignation: VoteRemoval) -> str | None:
    """Return why no vote may be removed now, as a clause; None if one may.

    The disaster this prevents: a manager becomes a data node while its cluster is created again, the operator waits
    without end for the vote of one of the other two, and creates no further manager meanwhile.
    """
    if resignation.away:
        return f"manager {min(resignation.away)} is down, and managers stop one at a time"
    return resignation.unused
