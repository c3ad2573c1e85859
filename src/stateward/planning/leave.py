"""How a member leaves: its data first, then its vote, then the member, and last what was set for it.

    leaving ──refused?──▶ draining ──empty──▶ without a vote ──▶ released ──pod gone──▶ forgotten

Data members drain together; managers lose their votes one at a time, and never the last one. A member that holds the
only live copy of anything stays. One that is down and may hold it on its volume stays too, until the database is whole.
A member that cannot leave yet is held back, not claimed: meanwhile it is repaired and upgraded like any other, so that
a shrink that waits leaves no old version behind.
"""

from collections.abc import Iterable, Mapping

from stateward.planning.actions import Action, DeleteVolume, Forget, Release
from stateward.planning.capacity import refuse
from stateward.planning.facts import Facts
from stateward.planning.gate import lost, unready
from stateward.planning.intent import Part, State, Wait, merge, told
from stateward.planning.observation import Claim, CopyState, Effect, Member
from stateward.planning.scale import Arrival

STUCK = 300.0
"""Seconds without a copy on the move after which a drain is stuck and its member is treated like any other."""


def leave(facts: Facts, leaving: Mapping[str, str], arrival: Arrival) -> Part:
    """Return what the members that leave do now; `arrival` says which new members they wait for, or make room for."""
    members = [facts.members[name] for name in leaving]
    blanks = [m for m in members if blank(facts, m)]
    part = merge(*(release(facts, m, leaving[m.name]) for m in blanks))
    members = [m for m in members if m not in blanks]
    if facts.database is None:
        return merge(part, stay(members, "DatabaseUnknown", "the database does not answer"))
    gone = [m for m in members if m.pod is None and not m.alive]
    staying = [m for m in members if m not in gone]
    blocked, held = hold_back(facts, staying, arrival)
    part = merge(part, held)
    going = [m for m in staying if m not in blocked]
    part = merge(part, forget(facts, gone), Part(drain=frozenset(m.name for m in going if facts.holds_data(m))))
    voter = next_voter(facts, going)
    return merge(part, *(step(facts, m, leaving[m.name], voter) for m in going))


def blank(facts: Facts, member: Member) -> bool:
    """Return whether nothing was ever written on the member: it never ran, and its volume was never there.

    Such a member may go without asking the database, or a wrong storage class could not be corrected before the
    cluster is formed.
    """
    if member.name in facts.obs.records or facts.joined(member.name):
        return False
    unbound = member.claim is None or member.claim.capacity == 0
    return unbound and (member.pod is None or not (member.pod.node or member.pod.running or member.pod.ready))


def begun(facts: Facts, member: Member) -> bool:
    """Return whether the database was already told that the member leaves: what was begun is ended."""
    database = facts.database
    return database is not None and member.name in database.draining | database.voting_exclusions


def hold_back(facts: Facts, staying: list[Member], arrival: Arrival) -> tuple[list[Member], Part]:
    """Return the members that may not begin to leave, and what is said of them."""
    new = [m for m in staying if not begun(facts, m) and m.alive]
    if arrival.first is not None:
        return new, stay(new, "ArrivingFirst", arrival.first)
    if arrival.cramped is not None:
        later = new if len(new) < len(staying) else new[1:]
        return later, stay(later, "OneAtATime", arrival.cramped)
    problem = refuse(facts, new, staying)
    blocked = [m for m in new if problem is not None and facts.holds_data(m)]
    return blocked, stay(blocked, "ShrinkRefused", problem or "", stalled=True)


def next_voter(facts: Facts, going: Iterable[Member]) -> str:
    """Return the one member that loses its vote now: one that was begun, or else the first that holds no data."""
    excluded = facts.database.voting_exclusions if facts.database else frozenset[str]()
    ready = [m for m in going if facts.votes(m) and not facts.units_of(m.name)]
    ready.sort(key=lambda m: (m.name not in excluded, -m.ordinal, m.name))
    return ready[0].name if ready else ""


def step(facts: Facts, member: Member, why: str, voter: str) -> Part:
    """Return the next step of one member that leaves."""
    database = facts.database
    if facts.units_of(member.name):
        return drain(facts, member, why)
    problem = hidden_data(facts, member)
    if problem is not None:
        return stay([member], "MayHoldLastCopy", problem)
    exclude = (
        frozenset({member.name}) if member.name == voter and other_managers_up(facts, member) else frozenset[str]()
    )
    problem = vote_problem(facts, member, voter)
    if problem is not None:
        return merge(Part(exclude=exclude), stay([member], "LosingVote", problem, claim=bool(exclude)))
    if database is not None and facts.holds_data(member) and member.name not in database.draining:
        text = f"{{}} leaves ({why}): no new data may come to it first"
        return Part(intents=told(State.DRAINING, [member], Effect.REPLACE, text), exclude=exclude)
    return merge(Part(exclude=exclude), release(facts, member, why))


def drain(facts: Facts, member: Member, why: str) -> Part:
    """Return how far the member's data has moved; a drain that is stuck says so and does not claim its member."""
    units = facts.units_of(member.name)
    own = [c for unit in units for c in unit.copies if c.member == member.name]
    text = f"{member.name} leaves ({why}): {len(units)} shards, {sum(u.size for u in units)} bytes still to move"
    intents = told(State.DRAINING, [member], Effect.REPLACE, text)
    if any(c.state is CopyState.RELOCATING for c in own):
        wait = Wait(member.name, "Draining", f"{len(units)} shards are moving away from {member.name}")
        return Part(intents=intents, waits=(wait,))
    reason = next((c.why for c in own if c.why), "no shard of it is moving now")
    wait = Wait(member.name, "DrainBlocked", f"shard {units[0].name} is still on {member.name}: {reason}")
    if begun(facts, member) and facts.age(member.name) > STUCK:
        return Part(otherwise=intents, waits=(wait,))
    return Part(intents=intents, waits=(wait,))


def hidden_data(facts: Facts, member: Member) -> str | None:
    """Return why a member that is down may not leave yet: its volume could hold what the database is missing."""
    if facts.database is None:
        return "the database does not answer"
    if facts.joined(member.name) or member.name not in facts.obs.records or not facts.holds_data(member):
        return None
    missing = lost(facts.database)
    if missing:
        return f"{member.name} is down and shard {missing[0]} has no started copy: it may hold the last one"
    return unready(facts)


def other_managers_up(facts: Facts, member: Member) -> bool:
    """Return whether another manager serves: without one, this is the last, and keeps its vote."""
    return any(m.name != member.name and facts.votes(m) and m.name in facts.up for m in facts.obs.members)


def vote_problem(facts: Facts, member: Member, voter: str) -> str | None:
    """Return what the member's vote still waits for; None when it has none."""
    database = facts.database
    if not facts.votes(member) or database is None:
        return None
    if not other_managers_up(facts, member):
        return f"{member.name} is the last manager"
    if member.name != voter:
        return f"{voter} leaves first, managers go one at a time"
    if member.name in database.voters or member.name not in database.voting_exclusions:
        return f"the vote of {member.name} is being taken"
    return None


def release(facts: Facts, member: Member, why: str) -> Part:
    """Let a member go that holds nothing and has no vote: scale it to zero, then forget it."""
    if not member.alive and member.pod is None:
        return forget(facts, [member])
    actions: tuple[Action, ...] = ()
    if member.alive and member.workload is not None:
        actions = (Release(why=why, member=member.name, workload=member.workload.ref),)
    return Part(
        actions=actions, intents=told(State.LEAVING, [member], Effect.REPLACE, f"{{}} holds nothing and leaves ({why})")
    )


def forget(facts: Facts, gone: list[Member]) -> Part:
    """Return the removal of what is left of members whose pods are gone: the volume first, while it can be told whose.

    The disaster this prevents: a StatefulSet that somebody scaled to zero looks like one that was drained, and its
    volume holds the last copy of something.
    """
    part = Part()
    missing = lost(facts.database) if facts.database else []
    for member in gone:
        claim = volume_to_delete(facts, member)
        if claim is not None and missing:
            reason = f"its volume may hold the last copy of shard {missing[0]}"
            part = merge(part, stay([member], "MayHoldLastCopy", reason))
            continue
        actions: list[Action] = []
        if claim is not None:
            why = "nothing was written to it" if blank(facts, member) else "volumes of members that left are not kept"
            actions.append(DeleteVolume(why=why, member=member.name, claim=claim.ref))
        workload = member.workload.ref if member.workload else None
        actions.append(Forget(why="its pod is gone", member=member.name, workload=workload))
        intents = told(State.LEAVING, [member], Effect.REPLACE, "{} is gone")
        part = merge(part, Part(actions=tuple(actions), intents=intents))
    return part


def volume_to_delete(facts: Facts, member: Member) -> Claim | None:
    """Return the claim that goes with the member: if the user said so, or if nothing was ever written to it."""
    claim = member.claim
    unwanted = facts.obs.desired.delete_volumes or blank(facts, member)
    return claim if claim is not None and unwanted and not claim.terminating else None


def stay(members: list[Member], code: str, reason: str, *, stalled: bool = False, claim: bool = False) -> Part:
    """Return a part in which members that should leave wait for one reason; `claim` keeps others from them."""
    intents = told(State.LEAVING, members, Effect.REPLACE, f"{{}} cannot leave yet: {reason}")
    waits = tuple(Wait(m.name, code, f"{m.name} cannot leave yet: {reason}", stalled) for m in members)
    return Part(intents=intents if claim else {}, otherwise={} if claim else intents, waits=waits)
