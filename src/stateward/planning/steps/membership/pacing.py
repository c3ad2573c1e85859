"""Paces departures: a wait between the release of one member and the next.

The database has to notice that a process is gone, and to recover, before the next one leaves. Its report in the same
second may still count both.

The time of the last release is in the status. If the operator stopped before it wrote that time, the StatefulSet that
was scaled to zero shows the release: the wait then starts when the operator observes it.
"""

import msgspec

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action, Release
from stateward.planning.model.intent import State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Effect, Member
from stateward.planning.model.times import rfc3339

NOTICED = 120.0
"""Seconds until a database that reports no places of copies misses a member. FoundationDB takes a minute
(`DATA_DISTRIBUTION_FAILURE_REACTION_TIME`), and the rest is for its report."""


def limit_releases(facts: Facts, part: StepResult) -> StepResult:
    """Return the steps of leaving members, with at most one release, and none before its time."""
    going = [a for a in part.actions if isinstance(a, Release) and needs_recovery(facts, facts.members[a.member])]
    wait = pause(facts, going)
    if not wait or not going:
        return part
    last = last_removal(facts)
    if last is None or facts.now >= last + wait:
        last, later, because = facts.now, going[1:], f"{going[0].member} leaves first"
    else:
        later, because = going, f"another member left at {rfc3339(last)}"
    held = {action.member for action in later}
    why = f"{because}, and the next one leaves no earlier than {rfc3339(last + wait)}"
    actions: tuple[Action, ...] = tuple(a for a in part.actions if not (isinstance(a, Release) and a.member in held))
    intents = intents_for(
        State.LEAVING, [facts.members[n] for n in sorted(held)], Effect.REPLACE, f"{{}} leaves later: {why}"
    )
    waits = tuple(Wait(name, "RemovalPaced", f"{name} leaves later: {why}") for name in sorted(held))
    return merge(msgspec.structs.replace(part, actions=actions), StepResult(intents=intents, waits=waits))


def pause(facts: Facts, going: list[Release]) -> float:
    """Return the seconds between the last release and these.

    A database that forms by word reports no places of copies, and what it lacks only after a while. The disaster this
    prevents: all storage members of FoundationDB are replaced without draining; within the minute in which it does not
    miss the first ones, it bears a failure more each time, and all are deleted with all data.
    """
    undrained = facts.obs.desired.replacement.undrained
    hidden = facts.obs.desired.formed_by_word and any(action.member in undrained for action in going)
    return max(facts.obs.desired.wait_between_removals, NOTICED if hidden else 0.0)


def last_removal(facts: Facts) -> float | None:
    """Return when the last member was released, in seconds since the epoch; None if there was none as far as known."""
    unwritten = any(is_recent_release(facts, m) and m.name not in facts.obs.let_go for m in facts.obs.members)
    return facts.now if unwritten else facts.obs.last_removal


def is_recent_release(facts: Facts, member: Member) -> bool:
    """Return whether the member was released, counts for the wait, and still has objects."""
    return member.present and not member.alive and needs_recovery(facts, member)


def needs_recovery(facts: Facts, member: Member) -> bool:
    """Return whether the database has to recover from the loss of the member: it has joined, with data or a vote."""
    return not facts.never_had_data(member) and (facts.holds_data(member) or facts.votes(member))
