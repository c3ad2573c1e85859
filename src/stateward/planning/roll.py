"""The steps of taking members down and bringing them back, one safe set at a time.

    pending ──gate──▶ chosen ──prepare──▶ prepared ──delete──▶ down ──joined──▶ up ──restore──▶ next

Nothing is remembered between the steps: each is recognised by what is there. *Prepared* is: the allocation is limited
(or, for ephemeral data, the member holds nothing), its vote is not needed, and its next template is staged and seen by
the StatefulSet controller. Only then is the pod deleted, right after a flush.
"""

from collections.abc import Mapping, Sequence

from stateward.planning.actions import (
    Action,
    DeletePod,
    Flush,
    LimitAllocation,
    Move,
    MoveCopies,
    Stage,
)
from stateward.planning.change import Change, change_of, member_version, staged
from stateward.planning.facts import Facts, disrupts
from stateward.planning.gate import places, unready
from stateward.planning.intent import Intent, Part, State, Wait, merge
from stateward.planning.observation import Allocation, Member, SoleCopy, Unit
from stateward.planning.safety import choose, needs_vote_moved, sole_units
from stateward.planning.upgrade import pool_in_turn, pool_order


def pending(facts: Facts, taken: frozenset[str]) -> list[tuple[Member, Change]]:
    """Return the members in service that a change still has to take down, in the order in which that may happen."""
    place = {pool.name: i for i, pool in enumerate(pool_order(facts.obs))}
    leader = facts.database.leader if facts.database else ""
    found = [
        (m, change)
        for m in facts.obs.members
        if m.name in facts.up and m.name not in taken and disrupts((change := change_of(facts, m)).effect)
    ]
    return sorted(found, key=lambda item: (place.get(item[0].pool, 0), item[0].name == leader, -item[0].ordinal))


def roll(facts: Facts, taken: frozenset[str], *, moving: str | None) -> Part:
    """Return what rolling changes do now; `moving` says whose data is on the move, if any."""
    waiting = pending(facts, taken)
    if not waiting:
        return Part()
    reason = unready(facts)
    if reason is not None:
        down = f"{', '.join(sorted(facts.down))} must be back first: " if facts.down else ""
        return hold(waiting, "DatabaseNotReady", down + reason)
    waiting, later = in_turn(facts, waiting)
    if moving is not None:
        free = [(m, c) for m, c in waiting if not facts.units_of(m.name) and not facts.votes(m)]
        busy = [(m, c) for m, c in waiting if (m, c) not in free]
        later = merge(later, hold(busy, "DataMoving", f"data moves off {moving}"))
        waiting = free
    changes = {m.name: change for m, change in waiting}
    first = frozenset(m.name for m, _ in waiting if staged(facts, m))
    choice = choose(facts, [m for m, _ in waiting if sole_verdict(facts, m) is None], first)
    members = [facts.members[name] for name in choice.chosen]
    part = merge(prepare(facts, members, changes), later)
    rest = [(m, c) for m, c in waiting if m.name not in choice.chosen]
    return merge(part, held(facts, rest, choice.held, first_alone=not members))


def in_turn(facts: Facts, waiting: list[tuple[Member, Change]]) -> tuple[list[tuple[Member, Change]], Part]:
    """Split the waiting members into those whose pool's turn it is, and a part that names the others' turn.

    During an upgrade no change overtakes it: a member restarts once, for everything that waits for it.
    """
    turn = pool_in_turn(facts)
    if turn is None:
        return waiting, Part()
    order = [pool.name for pool in pool_order(facts.obs)]
    limit = order.index(turn.name)
    now = [(m, c) for m, c in waiting if order.index(m.pool) <= limit]
    later = [(m, c) for m, c in waiting if order.index(m.pool) > limit]
    return now, hold(later, "PoolOrder", f"pool {turn.name} changes first")


def prepare(facts: Facts, members: Sequence[Member], changes: dict[str, Change]) -> Part:
    """Return the next step for the chosen members: prepare what is missing, or else delete their pods."""
    if not members:
        return Part()
    actions: list[Action] = []
    because = "; ".join(sorted({changes[m.name].describe() for m in members}))
    if any(facts.units_of(m.name) and not facts.ephemeral(m) for m in members) and not limited(facts):
        actions.append(
            LimitAllocation(why=f"{', '.join(m.name for m in members)} will be back", allocation=Allocation.PRIMARIES)
        )
    drain = frozenset(m.name for m in members if facts.ephemeral(m) and facts.holds_data(m))
    exclude = frozenset(m.name for m in members if needs_vote_moved(facts, m) or excluded(facts, m))
    actions += [
        Stage(why=changes[m.name].describe(), member=m.name, pool=m.pool, version=version_of(facts, m))
        for m in members
        if not staged(facts, m)
    ]
    open_ends = [m.name for m in members if not prepared(facts, m)]
    if not actions and not open_ends:
        if any(facts.units_of(m.name) for m in members):
            actions.append(Flush(why="recovery after the restart is shorter"))
        actions += [
            DeletePod(why=f"to apply {changes[m.name].describe()}", member=m.name, pod=m.pod.ref)
            for m in members
            if m.pod is not None
        ]
        verb, state = "restarts", State.RESTARTING
    else:
        verb, state = "is prepared for a restart", State.PREPARING
    intents = {
        m.name: Intent(m.name, m.pool, state, changes[m.name].effect, f"{m.name} {verb} to apply {because}")
        for m in members
    }
    return Part(actions=tuple(actions), intents=intents, drain=drain, exclude=exclude)


def prepared(facts: Facts, member: Member) -> bool:
    """Return whether nothing is left to do before the member's pod may go."""
    seen = member.workload is not None and member.workload.observed
    empty = not facts.ephemeral(member) or not facts.units_of(member.name)
    return seen and empty and not needs_vote_moved(facts, member)


def limited(facts: Facts) -> bool:
    """Return whether the allocation is such that a member may restart without its copies being rebuilt elsewhere."""
    return facts.database is not None and facts.database.allocation is not Allocation.ALL


def excluded(facts: Facts, member: Member) -> bool:
    """Return whether the member has no vote now; it stays so until it is back."""
    return facts.database is not None and member.name in facts.database.voting_exclusions


def version_of(facts: Facts, member: Member) -> str:
    """Return the version that the member's next pod should run."""
    return member_version(facts, member, facts.pools[member.pool])


def sole_verdict(facts: Facts, member: Member) -> str | None:
    """Return why a member that holds the only copy of a unit has to wait; None when it may go.

    With nowhere to put the copy and a volume that stays, the restart is the only way: the data is away, not lost.
    """
    units = [] if facts.ephemeral(member) else sole_units(facts, member.name)
    policy = facts.obs.desired.sole_copy
    if not units or policy is SoleCopy.INTERRUPT:
        return None
    if policy is SoleCopy.MOVE and not any(targets(facts, unit) for unit in units) and alone(facts, member):
        return None
    return f"shard {units[0].name} has its only started copy on {member.name}"


def alone(facts: Facts, member: Member) -> bool:
    """Return whether no other member could hold data: then there is nowhere to move anything, ever."""
    nodes = facts.database.nodes.values() if facts.database else ()
    return not any(node.data and node.name != member.name for node in nodes)


def targets(facts: Facts, unit: Unit) -> list[str]:
    """Return the members in service that could take a copy of the unit, the emptiest first."""
    database = facts.database
    if database is None:
        return []
    load = {name: sum(any(c.member == name for c in u.copies) for u in database.units) for name in database.nodes}
    return sorted((n for n in places(database, unit) if n in facts.up), key=lambda n: (load[n], n))


def moves_for(facts: Facts, member: Member) -> tuple[Move, ...]:
    """Return the moves that take the only copies of units off the member."""
    found: list[Move] = []
    for unit in sole_units(facts, member.name):
        away = any(copy.target for copy in unit.copies)
        spots = targets(facts, unit)
        if not away and spots:
            found.append(Move(unit=unit.name, origin=member.name, target=spots[len(found) % len(spots)]))
    return tuple(found)


def held(facts: Facts, rest: list[tuple[Member, Change]], reasons: Mapping[str, str], *, first_alone: bool) -> Part:
    """Return intents and waits of the members that stay for now, and the moves that free the first of them."""
    part = Part()
    moved = False
    for member, change in rest:
        verdict = sole_verdict(facts, member)
        reason = reasons.get(member.name) or verdict or "waiting for its turn"
        actions: tuple[Action, ...] = ()
        if verdict and first_alone and not moved and facts.obs.desired.sole_copy is SoleCopy.MOVE:
            moves = moves_for(facts, member)
            actions = (MoveCopies(why=f"{member.name} is about to restart", moves=moves),) if moves else ()
            moved = True
            reason = f"{verdict}, which moves away first"
        part = merge(part, hold([(member, change)], "NotSafeYet", reason, actions))
    return part


def hold(waiting: list[tuple[Member, Change]], code: str, reason: str, actions: tuple[Action, ...] = ()) -> Part:
    """Return a part in which all these members wait for one reason."""
    return Part(
        actions=actions,
        intents={
            m.name: Intent(
                m.name, m.pool, State.WAITING, change.effect, f"{m.name} waits ({change.describe()}): {reason}"
            )
            for m, change in waiting
        },
        waits=tuple(Wait(m.name, code, f"{change.describe()}: {reason}") for m, change in waiting),
    )
