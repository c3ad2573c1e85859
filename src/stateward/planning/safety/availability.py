"""Conditions that must hold while members are down: small predicates over one observation that return a reason.

They prevent disasters that single guards cannot see: a restart of the member with the last live copy of a shard, one
manager too many, a second zone. They count every member that is down or about to be, for any reason. `safe_set`
combines them for several members at once.
"""

from collections.abc import Iterable

from stateward.planning.facts.facts import Facts
from stateward.planning.facts.missing_members import loses_data_with_pod
from stateward.planning.model.observation import Database, Member, Unit


def copies_needed(facts: Facts, unit: Unit) -> int:
    """Return how many live copies of the unit have to stay; one less than it should have is always enough."""
    return min(facts.obs.desired.min_live_copies, max(1, unit.wanted - 1))


def sole_units(facts: Facts, name: str, gone: frozenset[str] = frozenset()) -> list[Unit]:
    """Return the units that would keep too few live copies if the member went down on top of those that are gone."""
    found: list[Unit] = []
    for unit in facts.units_of(name):
        sets = (facts.holders[unit.name], settled_holders(unit)) if is_relocating(unit) else (facts.holders[unit.name],)
        if any(name in holders - gone and len(holders - gone) - 1 < copies_needed(facts, unit) for holders in sets):
            found.append(unit)
    return found


def is_relocating(unit: Unit) -> bool:
    """Return whether a copy of the unit is relocating from one member to another."""
    return any(copy.target for copy in unit.copies)


def settled_holders(unit: Unit) -> frozenset[str]:
    """Return the members with a live copy after all relocations of the unit have finished.

    The disaster this prevents: the only copy of a shard is about to arrive on a member, and the member stops between
    the operator's read of the database and the deletion of its pod.
    """
    return frozenset(copy.target or copy.member for copy in unit.copies if copy.live)


def sole_reason(facts: Facts, unit: Unit, name: str) -> str:
    """Return in words that a unit cannot spare the member's copy."""
    if name not in facts.holders[unit.name]:
        return f"the only copy of shard {unit.name} is relocating to {name}"
    others = len(facts.holders[unit.name] - {name})
    if not others:
        return f"shard {unit.name} has its only started copy on {name}"
    return f"shard {unit.name} would keep {others} started copies of {copies_needed(facts, unit)} without {name}"


def sole_problem(facts: Facts, member: Member, gone: frozenset[str]) -> str | None:
    """Return which unit would lose its last live copy with this member because others are down already."""
    if not gone:
        return None
    alone = {unit.name for unit in sole_units(facts, member.name)}
    found = (unit for unit in sole_units(facts, member.name, gone) if unit.name not in alone)
    return next((sole_reason(facts, unit, member.name) for unit in found), None)


def zone_problem(facts: Facts, member: Member, gone: frozenset[str]) -> str | None:
    """Return which unavailable member may be in another zone, as a reason.

    An unknown zone counts as another zone, unless no zone is known.
    """
    zone = facts.zone(member.name)
    other = next((name for name in sorted(gone) if facts.zone(name) != zone), None)
    if other is None:
        return None
    return f"{other} is down in {facts.zone(other) or 'a zone that is not known'}, and zones change one at a time"


def voting_members(facts: Facts) -> frozenset[str]:
    """Return the members that have been in the cluster and may vote."""
    return frozenset(m.name for m in facts.obs.members if m.name in facts.obs.records and facts.votes(m))


def absent_voters(facts: Facts) -> frozenset[str]:
    """Return the managers that do not serve now, including those that only the voting configuration still contains.

    This includes a manager that has just joined for the first time: the vote can move to it as soon as it serves. The
    disaster this prevents: the first manager of a new cluster stops as if it were the only one while the others are
    about to take over, and the cluster has no manager until it is back.
    """
    voters = facts.database.voters if facts.database else frozenset[str]()
    missing = frozenset(v for v in voters if not facts.joined(v) or (v in facts.members and v not in facts.up))
    return missing | (voting_members(facts) & facts.down) | newcomers(facts)


def newcomers(facts: Facts) -> frozenset[str]:
    """Return the managers that have joined for the first time and do not serve yet."""
    new = (m for m in facts.obs.members if m.alive and m.name not in facts.obs.records and m.name not in facts.up)
    return frozenset(m.name for m in new if facts.joined(m.name) and facts.votes(m))


def unused_votes(facts: Facts) -> frozenset[str]:
    """Return the members in the voting configuration whose processes run without the role of a manager.

    The database counts their votes, and they never cast them. It keeps at least three votes, so it keeps these until
    three managers have joined, and takes no vote from one of the last two.
    """
    database = facts.database
    if database is None:
        return frozenset()
    return frozenset(name for name in database.voters & database.nodes.keys() if not database.nodes[name].voting)


def unused_problem(facts: Facts) -> str | None:
    """Return whose vote is never cast, as a reason why no other vote can be spared; None if every vote is."""
    unused = unused_votes(facts)
    return f"{min(unused)} is no manager and has a vote, which ends when three managers have joined" if unused else None


def quorum_without(facts: Facts, gone: Iterable[str]) -> bool:
    """Return whether the remaining voters are a majority of the voting configuration, now and without its exclusions.

    A vote that is excluded leaves the configuration at any moment. One of the remaining voters can be elected: only a
    voter ever is.
    """
    database = facts.database
    if database is None:
        return False
    remaining = (database.voters & database.nodes.keys()) - unused_votes(facts) - set(gone)
    staying = database.voters - database.voting_exclusions
    sizes = [(remaining & voters, voters) for voters in (database.voters, staying) if voters]
    able = {name for name in remaining if database.nodes[name].electable}
    return bool(sizes) and all(len(left) > len(voters) // 2 and left & able for left, voters in sizes)


def votes_beside(database: Database, exclude: frozenset[str]) -> frozenset[str]:
    """Return the node that only votes and is excluded too, so that one keeps its vote that can be elected.

    The database keeps an odd number of votes: of two nodes that stay it drops either vote. The disaster this prevents:
    the vote of the elected manager moves to a node that only votes, and once the manager has left, none is elected.
    """
    staying = sorted(name for name, node in database.nodes.items() if node.voting and name not in exclude)
    only = [name for name in staying if not database.nodes[name].electable]
    alone = len(staying) - len(only) == 1 and len(staying) % 2 == 0
    return frozenset(only[:1]) if exclude and alone else frozenset()


def needs_vote_moved(facts: Facts, member: Member) -> bool:
    """Return whether the vote must move to another manager before this one restarts.

    With two managers the database lets one of them vote alone. Excluding that one hands its vote to the other, so a
    cluster of two managers also stays available. One that leaves takes no vote over. The disaster this prevents: its
    only successor is restarted on request, and no manager may vote. Beside an unused vote, the database moves none.
    """
    database = facts.database
    if database is None or member.name not in database.voters or quorum_without(facts, {member.name}):
        return False
    if unused_votes(facts):
        return False
    able = other_managers(facts, member) - database.voting_exclusions
    return bool(able) and not absent_voters(facts) - {member.name}


def other_managers(facts: Facts, member: Member) -> frozenset[str]:
    """Return the other managers that serve and can be elected, also those that are not recorded yet.

    The disaster this prevents: a second manager joins and serves, and before that is recorded the first one stops as if
    it were the only one, so the cluster has no manager until it is back. And: the vote of the only manager moves to a
    node that votes and is never elected; then no node may be elected, and only an elected one can return the vote.
    """
    joined = frozenset(m.name for m in facts.obs.members if facts.joined(m.name) and facts.votes(m))
    others = (voting_members(facts) | joined) & facts.up - {member.name}
    return frozenset(name for name in others if can_be_elected(facts, facts.members[name]))


def can_be_elected(facts: Facts, member: Member) -> bool:
    """Return whether the member may be elected if it votes: from the database, from its objects, or from its pool.

    A member keeps this for its life, so what it was made for counts before what its pool asks for now.
    """
    node, pool = facts.node(member.name), facts.pools.get(member.pool)
    if node is not None:
        return node.electable
    if member.was_made("voting"):
        return not member.was_made("voting_only")
    return pool is None or pool.electable


def voter_problem(facts: Facts, member: Member, *, keeps: bool = False) -> str | None:
    """Return why a voter must stay up: one voter at a time, only while all others serve, and never without a quorum.

    The only manager may stop, because there is no other way to change it. It must stay if its pod holds the cluster
    state, which would be lost: also if others have that state, because a new pod joins only an elected manager. A
    process that `keeps` its pod keeps the state.
    """
    if facts.database is None or not facts.votes(member):
        return None
    absent = absent_voters(facts) - {member.name}
    if absent:
        return f"manager {min(absent)} is down, and managers stop one at a time"
    if not other_managers(facts, member):
        kept = f"{member.name} is the only manager, and its pod holds the cluster state"
        return kept if loses_data_with_pod(facts, member) and not keeps else None
    if member.name in facts.database.voters and not quorum_without(facts, {member.name}):
        lost = unused_problem(facts) or "the managers would lose their quorum"
        return None if needs_vote_moved(facts, member) else lost
    return None


def member_problem(facts: Facts, member: Member, *, keeps: bool = False) -> str | None:
    """Return why this member, which perhaps `keeps` its pod, must stay up, independently of the other candidates."""
    gone, voting = facts.down - {member.name}, voter_problem(facts, member, keeps=keeps)
    return zone_problem(facts, member, gone) or voting or sole_problem(facts, member, gone)
