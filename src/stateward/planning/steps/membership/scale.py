"""Decides which members join and which leave.

Members keep their ordinals; a pool shrinks from the highest one. A member whose storage or roles can only change with a
new member counts as leaving, so a new member is created beside it; one such replacement runs at a time, or two where
one member gives its data away, and the successor of the other one can take it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from stateward.api.values import names
from stateward.planning.facts.change import change_of
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.removals import in_flight, reserved_names
from stateward.planning.facts.upgrade_order import parse
from stateward.planning.facts.volume_fit import is_skipped, keeps_roles, unfit
from stateward.planning.model.observation import Effect, Member, Pool, Removal
from stateward.planning.safety.availability import can_be_elected
from stateward.planning.steps.membership.earlier_cluster import may_hold_needed_vote
from stateward.planning.steps.upkeep.volume_change import to_replace

Predicate = Callable[[Facts, str], bool]
"""Whether something is true of the member with this name."""


class Scale(Struct, frozen=True):
    """The members that leave, each with its reason, and those that are missing."""

    leaving: dict[str, str]
    replaced: frozenset[str]
    """Members that leave and get a successor: their pools keep their size."""
    missing: tuple[tuple[Pool, int], ...]
    occupied: tuple[Member, ...] = ()
    """Names for new members that wait for the end of a volume claim of that name."""


def scale(facts: Facts, removals: Mapping[str, Removal]) -> Scale:
    """Return the leaving and the missing members, so that every pool reaches its desired size.

    Members in `removals` do not count towards that size: a new member is created beside each of them.
    """
    keep = facts.obs.desired.replacement.keep
    leaving = {m.name: why for m in facts.obs.members if m.name not in keep and (why := unwanted(facts, m))}
    # The list that is recorded may still name a member of which nothing is left.
    there = {m.name for m in facts.obs.members if m.present} - leaving.keys()
    listed = {n: r.reason for n, r in removals.items() if n in there}
    replaced = {n: f"a new member takes its place: {why}" for n, why in listed.items()}
    replaced |= replacements(facts, removals)
    leaving |= replaced
    missing: list[tuple[Pool, int]] = []
    occupied: list[Member] = []
    for pool in facts.obs.desired.pools:
        staying = [m for m in members_of(facts, pool) if m.alive and m.name not in leaving]
        shrink = f"pool {pool.name} shrinks to {pool.replicas}"
        leaving |= {m.name: shrink for m in kept_first(facts, staying)[pool.replicas :] if m.name not in keep}
        if not names_come_back(facts, pool, leaving):
            free = free_ordinals(facts, pool, pool.replicas - len(staying))
            used = occupants(facts, pool, free)
            missing += [(pool, ordinal) for ordinal in free if ordinal not in used]
            occupied += used.values()
    wanted = {(pool.name, ordinal) for pool, ordinal in missing}
    for member in facts.obs.members:
        if member.present and not member.alive and (member.pool, member.ordinal) not in wanted:
            leaving.setdefault(member.name, "it was released")
    return Scale(leaving, frozenset(replaced), tuple(missing), tuple(occupied))


def names_come_back(facts: Facts, pool: Pool, leaving: Mapping[str, str]) -> bool:
    """Return whether new members of the pool wait for the names of members that leave without ever having had data.

    No member serves before the cluster is formed, so no successor has to join first. The disaster this prevents: a
    wrong storage class is corrected, all members get other names, and the cluster file of FoundationDB names
    coordinators that will never exist.
    """
    if facts.formed:
        return False
    return any(m.name in leaving and facts.never_had_data(m) for m in members_of(facts, pool))


def occupants(facts: Facts, pool: Pool, free: Sequence[int]) -> dict[int, Member]:
    """Return those of these new members, by ordinal, whose claim has to end first: it is being deleted, or never fits.

    Only members that need their first names wait for that. The disaster this prevents: a cluster is created with a
    wrong storage class, deleted, and created again; all members get other names because of the claims that were never
    bound, and the cluster file of FoundationDB names coordinators that will never exist.
    """
    if not facts.needs_first_names or pool.ephemeral:
        return {}
    found = ((n, facts.members.get(names.member(facts.obs.name, pool.name, n))) for n in free)
    claimed = ((n, m, m.claim) for n, m in found if m is not None and m.claim is not None and not m.present)
    return {n: m for n, m, claim in claimed if claim.terminating or (claim.empty and unfit(pool, m))}


def unwanted(facts: Facts, member: Member) -> str | None:
    """Return that the member's pool is no longer in the spec; None if it is, or if no object of the member exists."""
    gone = member.pool not in facts.pools and member.present
    return f"pool {member.pool} is no longer wanted" if gone else None


def keep_conflicts(facts: Facts) -> dict[str, str]:
    """Return why members that the user keeps would have to leave by the spec: both is impossible, and they stay."""
    keep = facts.obs.desired.replacement.keep
    kept = [m for m in facts.obs.members if m.name in keep and m.present]
    found = {m.name: why for m in kept if (why := unwanted(facts, m) or replaced_because(facts, m))}
    for pool in facts.obs.desired.pools:
        staying = [m for m in members_of(facts, pool) if m.alive and m.name in keep]
        found |= {m.name: f"pool {pool.name} shrinks to {pool.replicas}" for m in staying[pool.replicas :]}
    return found


def members_of(facts: Facts, pool: Pool) -> list[Member]:
    """Return the pool's members that have a StatefulSet or a pod, by ordinal."""
    return [m for m in facts.obs.members if m.pool == pool.name and m.present]


def kept_first(facts: Facts, staying: list[Member]) -> list[Member]:
    """Return members by ordinal, with those that the user keeps first: a pool shrinks from the others."""
    keep = facts.obs.desired.replacement.keep
    return sorted(staying, key=lambda member: (member.name not in keep, member.ordinal))


def replacements(facts: Facts, removals: Mapping[str, Removal]) -> dict[str, str]:
    """Return the member that is replaced now because of the spec, and all members that have no data to lose.

    A replacement in progress ends first: the next one starts when no object of the previous member, or of a failed one,
    is left. But members whose successors a member waits for are replaced beside it.

    Members of a pool without members leave, and nothing takes their place. The disaster this prevents: the last manager
    is in such a pool, it counts as the replacement in progress, and it waits for a manager of a pool that waits for it.
    """
    keep = facts.obs.desired.replacement.keep | removals.keys()
    filled = {pool.name for pool in facts.obs.desired.pools if pool.replicas}
    there = {m.name for m in facts.obs.members if m.present and m.pool in filled}
    listed = {n: removal for n, removal in removals.items() if n in there}
    rest = (m for m in facts.obs.members if m.present and m.name not in keep and m.pool in filled)
    wanting = {m.name: why for m in rest if (why := replaced_because(facts, m))}
    order = replacement_order(facts, wanting)
    now = [n for n in order if facts.never_had_data(facts.members[n]) and facts.members[n].claim is not None]
    busy = bool(in_flight(facts.obs, listed))
    now += [n for n in order if n not in now and (is_leaving(facts, n) or not busy)][:1]
    for beside in SUCCESSORS:
        is_needed = beside(facts, now, listed)
        if is_needed is not None:
            now += [n for n in order if n not in now and is_needed(facts, n)][:1]
    return {n: f"a new member takes its place: {wanting[n]}" for n in now}


def for_data(facts: Facts, now: Sequence[str], listed: Collection[str]) -> Predicate | None:
    """Return which member is replaced beside one that gives its data away, and beside one that can take it.

    The disasters this prevents: the role data moves from one pool to another one, and the last member of the first pool
    waits for a place for its data, while the members of the second pool wait for the end of its replacement; or the
    member of the second pool leaves first, and the new one of the first pool is deleted again and again. Or an upgrade
    runs, and a shard of an upgraded member that loses the role can only move to another upgraded one; but the members
    of all other pools with data are replaced too, and so upgraded only by their successors, which come later.
    """
    if any(loses_data_role(facts, n) for n in (*now, *listed)):
        return takes_data
    return loses_data_role if any(takes_data(facts, n) for n in now) else None


def for_election(facts: Facts, now: Sequence[str], listed: Collection[str]) -> Predicate | None:
    """Return which member is replaced beside a manager whose successor only votes: one whose successor can be elected.

    The last one that can be elected waits for that. The disaster this prevents: the last manager is being replaced, its
    pool gets `voting_only`, and the pool that loses it waits for the end of that replacement.
    """
    return gains_election if any(loses_election(facts, n) for n in (*now, *listed)) else None


def for_upgrade(facts: Facts, now: Sequence[str], listed: Collection[str]) -> Predicate | None:
    """Return which member is replaced beside an upgraded one with data: one with data that is not upgraded.

    Perhaps only its successor can take a shard of the first. The disaster this prevents: an upgrade is reverted and
    asked for again while an upgraded member leaves, and the members that are upgraded next wait, also for a new member,
    until it has left.
    """
    leaves = (upgraded(facts, n) and facts.holds_data(facts.members[n]) for n in (*now, *listed))
    return takes_data_later if facts.turn is not None and any(leaves) else None


SUCCESSORS = (for_data, for_election, for_upgrade)
"""What members wait for that leave: a successor of another one. Each may add one member to those replaced now."""


def replacement_order(facts: Facts, wanting: Collection[str]) -> list[str]:
    """Return the order of replacements: members that have started to leave, and last those that can be elected.

    Those that get the role data come before those that have it. The disaster this prevents: a pool gets that role and
    fewer members, and then another size of its volumes. Its only new member leaves without a successor, so its data has
    no place, and the old ones wait for the end of its replacement.

    Those with the lowest versions come first. The disaster this prevents: an upgrade runs, and a pool gets fewer
    members and another storage class. An upgraded member leaves without a successor, a shard of it can only move to
    another upgraded one, and the others of its pool are upgraded only by their successors, which come later.
    """

    def place(name: str) -> tuple[bool, bool, bool, bool, tuple[int, ...], str]:
        member = facts.members[name]
        version = parse(made_version(member))
        gains = takes_data(facts, name) and not facts.holds_data(member)
        elected = facts.votes(member) and can_be_elected(facts, member)
        return not is_leaving(facts, name), not gains, elected, facts.votes(member), version, name

    return sorted(wanting, key=place)


def made_version(member: Member) -> str:
    """Return the version that a member's pod, or else its StatefulSet, was made for; empty without both."""
    made = member.pod or member.workload
    return made.version if made is not None else ""


def upgraded(facts: Facts, name: str) -> bool:
    """Return whether a member has the desired version."""
    return made_version(facts.members[name]) == facts.obs.desired.version


def loses_data_role(facts: Facts, name: str) -> bool:
    """Return whether a member holds data, and its pool no longer does."""
    member = facts.members[name]
    return facts.holds_data(member) and not facts.pools[member.pool].data


def takes_data(facts: Facts, name: str) -> bool:
    """Return whether the new member in a member's place will hold data."""
    return facts.pools[facts.members[name].pool].data


def takes_data_later(facts: Facts, name: str) -> bool:
    """Return whether a member is not upgraded, and the new one in its place will hold data."""
    return takes_data(facts, name) and not upgraded(facts, name)


def loses_election(facts: Facts, name: str) -> bool:
    """Return whether a manager can be elected, and the new member in its place could not be."""
    member = facts.members[name]
    return facts.votes(member) and can_be_elected(facts, member) and not could_be_elected(facts, name)


def gains_election(facts: Facts, name: str) -> bool:
    """Return whether a member cannot be elected, and the new member in its place could be."""
    member = facts.members[name]
    return could_be_elected(facts, name) and not (facts.votes(member) and can_be_elected(facts, member))


def could_be_elected(facts: Facts, name: str) -> bool:
    """Return whether the new member in a member's place could be elected."""
    return facts.pools[facts.members[name].pool].elected


def replaced_because(facts: Facts, member: Member) -> str | None:
    """Return why the member cannot become what it should be without a new one in its place."""
    change = change_of(facts, member)
    if change.effect is Effect.REPLACE:
        return f"{change.describe()} cannot change on a member"
    return to_replace(facts, member) if facts.obs.desired.replace_on_shrink else None


def is_leaving(facts: Facts, name: str) -> bool:
    """Return whether the member has started to leave: its data or vote is being moved, or it was released."""
    database = facts.database
    told = database is not None and name in database.draining | database.voting_exclusions
    return told or not facts.members[name].alive


def free_ordinals(facts: Facts, pool: Pool, count: int) -> list[int]:
    """Return the lowest free ordinals, except those whose kept volume does not fit the pool or was given up.

    Nor one on whose volume is a vote that a silent database may need, if the pool does not vote. The disaster this
    prevents: two of three managers are deleted by mistake, while their pool gives the role to another one, and come
    back without their votes. Only new members could vote again, and these wait for the database.

    Those of members that have not left come first. The disaster this prevents: a manager was released after its vote
    has moved to a new one, the StatefulSet of the new one is deleted, and the released one is created again in its
    place: it waits for the vote, which is on the volume of the other.

    Where members need their first names, only what was given up is passed over, as in the cluster file.
    """
    lost, taken = lost_ordinals(facts, pool), taken_ordinals(facts, pool)
    order = dict.fromkeys((*lost, *range(count + len(lost) + len(taken))))
    return list(islice((n for n in order if n not in taken), max(0, count)))


def free_before(facts: Facts, pool: Pool, ordinal: int) -> int | None:
    """Return how many free ordinals come before this one; None if it is not free.

    They are not counted one by one. The disaster this prevents: someone creates a claim whose labels name the ordinal
    1,000,000,000, and the memory of the operator is used up.
    """
    lost, taken = lost_ordinals(facts, pool), taken_ordinals(facts, pool)
    first = [n for n in lost if n not in taken]
    if ordinal in taken:
        return None
    if ordinal in first:
        return first.index(ordinal)
    return len(first) + ordinal - sum(n < ordinal for n in taken.union(first))


def lost_ordinals(facts: Facts, pool: Pool) -> list[int]:
    """Return the ordinals of members that have not left, also where they have no StatefulSet."""
    mine = (m for m in facts.obs.members if m.pool == pool.name)
    return sorted(m.ordinal for m in mine if m.name in facts.obs.records and m.name not in facts.obs.let_go)


def taken_ordinals(facts: Facts, pool: Pool) -> frozenset[int]:
    """Return the ordinals that no new member may get."""
    mine = [m for m in facts.obs.members if m.pool == pool.name]
    keep = facts.obs.desired.replacement.keep
    left = {m.ordinal for m in mine if m.claim is not None and m.claim.left and m.name not in keep}
    first = facts.needs_first_names and not pool.ephemeral
    used = {m.ordinal for m in mine if m.alive or (not first and is_skipped(pool, m, facts.database))}
    needed = {m.ordinal for m in mine if not (pool.voting or keeps_roles(pool, m)) and may_hold_needed_vote(facts, m)}
    never = reserved_names(facts.obs, requests_wait=facts.needs_first_names)
    ends = (name.rpartition("-")[2] for name in never)
    reserved = {n for n in map(int, filter(str.isdecimal, ends)) if names.member(facts.obs.name, pool.name, n) in never}
    return frozenset(left | used | needed | reserved)
