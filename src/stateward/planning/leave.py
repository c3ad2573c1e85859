"""How a member leaves: its data first, then its vote, then the member, and last what was set for it.

    leaving ──refused?──▶ draining ──empty──▶ without a vote ──▶ released ──pod gone──▶ forgotten

Data members drain together; managers lose their votes one at a time, and never the last one. A member that holds the
only live copy of anything stays. One that is down and may hold it on its volume stays too, until the database is whole.
"""

from collections.abc import Iterable

from stateward.planning.actions import Action, DeleteVolume, Forget, Release
from stateward.planning.facts import Facts
from stateward.planning.gate import lost, unready
from stateward.planning.intent import Intent, Part, State, Wait, merge
from stateward.planning.observation import CopyState, Database, Effect, Member, Unit
from stateward.planning.scale import alive

FULL = 0.85
"""Share of a disk that the database fills before it refuses more (its default low watermark)."""


def leave(facts: Facts, leaving: dict[str, str], *, arriving: str | None) -> Part:
    """Return what the members that leave do now; `arriving` names a member that data waits for."""
    if not leaving:
        return Part()
    members = [facts.members[name] for name in leaving]
    gone = [m for m in members if m.pod is None and not alive(m)]
    staying = [m for m in members if m not in gone]
    part = forget(facts, gone)
    if not staying:
        return part
    if facts.database is None:
        return merge(part, stay(staying, "DatabaseUnknown", "the database does not answer"))
    begun = frozenset(m.name for m in staying) & facts.database.draining
    problem = arriving or refuse(facts, facts.database, [m for m in staying if m.name not in begun], staying)
    draining = frozenset(m.name for m in staying if facts.holds_data(m) and (problem is None or m.name in begun))
    if problem is not None:
        blocked = [m for m in staying if m.name not in begun and (arriving or facts.holds_data(m))]
        reason = "ArrivingFirst" if arriving else "ShrinkRefused"
        part = merge(part, stay(blocked, reason, problem, stalled=arriving is None))
        staying = [m for m in staying if m not in blocked]
    part = merge(part, Part(drain=draining))
    voter = next_voter(facts, staying)
    for member in staying:
        part = merge(part, step(facts, facts.database, member, leaving[member.name], voter))
    return part


def refuse(facts: Facts, database: Database, new: list[Member], leaving: list[Member]) -> str | None:
    """Return why the data of the members cannot go anywhere else; asked before anything is moved."""
    if not any(facts.units_of(m.name) for m in new):
        return None
    names = frozenset(m.name for m in leaving)
    rest = [n for n in database.nodes.values() if n.data and n.name not in names]
    if not rest:
        return "no data member would remain"
    for unit in database.units:
        copies = [c for c in unit.copies if c.state is not CopyState.UNASSIGNED]
        leaves = any(c.member in names for c in copies)
        if leaves and not unit.flexible and len(copies) > len(rest):
            return f"shard {unit.name} has {len(copies)} copies and only {len(rest)} data members would remain"
    return no_room(database, names)


def no_room(database: Database, names: frozenset[str]) -> str | None:
    """Return why the disks of the remaining members cannot take the data; None also when disks are not known."""
    rest = [n for n in database.nodes.values() if n.data and n.name not in names and n.disk_total]
    if not rest:
        return None
    room = sum(max(0, n.disk_free - int(n.disk_total * (1 - FULL))) for n in rest)
    need = sum(u.size for u in database.units for c in u.copies if c.member in names)
    return f"{need} bytes have to move and only {room} are free on the remaining members" if need > room else None


def next_voter(facts: Facts, staying: Iterable[Member]) -> str:
    """Return the one member that loses its vote now: one that was begun, or else the first that holds no data."""
    database = facts.database
    if database is None:
        return ""
    ready = [m for m in staying if facts.votes(m) and not facts.units_of(m.name)]
    ready.sort(key=lambda m: (m.name not in database.voting_exclusions, -m.ordinal, m.name))
    return ready[0].name if ready else ""


def step(facts: Facts, database: Database, member: Member, why: str, voter: str) -> Part:
    """Return the next step of one member that leaves."""
    units = facts.units_of(member.name)
    if units:
        size = sum(unit.size for unit in units)
        text = f"{member.name} leaves ({why}): {len(units)} shards, {size} bytes still to move"
        part = Part(intents={member.name: Intent(member.name, member.pool, State.DRAINING, Effect.REPLACE, text)})
        return merge(part, Part(waits=stuck(member, units)))
    problem = hidden_data(facts, database, member)
    if problem is not None:
        return stay([member], "MayHoldLastCopy", problem)
    exclude = frozenset({member.name}) if facts.votes(member) and member.name == voter else frozenset[str]()
    problem = vote_problem(facts, database, member, voter)
    if problem is not None:
        return merge(Part(exclude=exclude), stay([member], "LosingVote", problem))
    text = f"{member.name} holds nothing and leaves ({why})"
    intent = Intent(member.name, member.pool, State.LEAVING, Effect.REPLACE, text)
    actions: tuple[Action, ...] = ()
    if alive(member) and member.workload is not None:
        actions = (Release(why=why, member=member.name, workload=member.workload.ref),)
    return Part(actions=actions, intents={member.name: intent}, exclude=exclude)


def stuck(member: Member, units: list[Unit]) -> tuple[Wait, ...]:
    """Return a wait that names a shard which stays while nothing of the member moves."""
    own = [c for unit in units for c in unit.copies if c.member == member.name]
    if any(c.state is CopyState.RELOCATING for c in own):
        return (Wait(member.name, "Draining", f"{len(units)} shards are moving away from {member.name}"),)
    why = next((c.why for c in own if c.why), "")
    tail = f": {why}" if why else ", no shard of it is moving now"
    return (Wait(member.name, "DrainBlocked", f"shard {units[0].name} is still on {member.name}{tail}"),)


def hidden_data(facts: Facts, database: Database, member: Member) -> str | None:
    """Return why a member that is down may not leave yet: its volume could hold what the database is missing."""
    if facts.joined(member.name) or member.name not in facts.obs.records or not facts.holds_data(member):
        return None
    missing = lost(database)
    if missing:
        return f"{member.name} is down and shard {missing[0]} has no started copy: it may hold the last one"
    return unready(facts)


def vote_problem(facts: Facts, database: Database, member: Member, voter: str) -> str | None:
    """Return what the member's vote still waits for; None when it has none."""
    if not facts.votes(member):
        return None
    others = [m.name for m in facts.obs.members if m.name != member.name and facts.votes(m) and m.name in facts.up]
    if not others:
        return f"{member.name} is the last manager"
    if member.name != voter:
        return f"{voter} leaves first, managers go one at a time"
    if member.name in database.voters or member.name not in database.voting_exclusions:
        return f"the vote of {member.name} is being taken"
    return None


def forget(facts: Facts, gone: list[Member]) -> Part:
    """Return the removal of what is left of members whose pods are gone."""
    actions: list[Action] = []
    for member in gone:
        actions.append(
            Forget(why="its pod is gone", member=member.name, workload=member.workload.ref if member.workload else None)
        )
        if facts.obs.desired.delete_volumes and member.claim is not None and not member.claim.terminating:
            actions.append(DeleteVolume(why="the user asked for it", member=member.name, claim=member.claim.ref))
    intents = {m.name: Intent(m.name, m.pool, State.LEAVING, Effect.REPLACE, f"{m.name} is gone") for m in gone}
    return Part(actions=tuple(actions), intents=intents)


def stay(members: list[Member], code: str, reason: str, *, stalled: bool = False) -> Part:
    """Return a part in which members that should leave wait for one reason."""
    return Part(
        intents={
            m.name: Intent(m.name, m.pool, State.LEAVING, Effect.REPLACE, f"{m.name} cannot leave yet: {reason}")
            for m in members
        },
        waits=tuple(Wait(m.name, code, f"{m.name} cannot leave yet: {reason}", stalled) for m in members),
    )
