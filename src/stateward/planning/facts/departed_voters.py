"""Finds voters without a member: the database still counts them, and no member will come back as one of them.

A cluster that was deleted while it had three managers, and created again with two on the kept volumes, has such a
voter: the database keeps three votes when a node merely goes away. The two remaining managers could never be restarted,
because one of three is already down. So this vote is excluded until the database no longer counts it, which takes
seconds.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.observation import Member

NOBODY: frozenset[str] = frozenset()


def departed_voters(facts: Facts) -> frozenset[str]:
    """Return the ids of the voters without a member; empty while an unavailable member may be one of them.

    The disaster this prevents: a manager that only restarts is also known by its id alone. Without its vote the others
    would continue as a smaller cluster, and one more failure would break the quorum.
    """
    database = facts.database
    if database is None or not database.nameless or not database.leader:
        return NOBODY
    away = any(might_vote(facts, m) and not facts.joined(m.name) for m in facts.obs.members)
    forgotten = any(name not in facts.members for name in facts.obs.records)
    return NOBODY if away or forgotten else database.nameless


def might_vote(facts: Facts, member: Member) -> bool:
    """Return whether a member may have the vote of an unavailable node, including members of unknown pools.

    A member that was released leaves a volume at most, and no member starts from it.
    """
    return member.present and (facts.votes(member) or member.pool not in facts.pools)
