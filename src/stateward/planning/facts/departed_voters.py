"""Voters that are nobody's any more: the database still counts them, and no member will ever come back as one of them.

A cluster that was deleted while it had three managers, and made again with two on the volumes that were kept, has such
a voter: three votes are not made two by a node that merely went away. Without it the two that are left could never be
restarted, as one of three is down already. Its vote is taken for as long as it is counted, which is for seconds.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.observation import Member

NOBODY: frozenset[str] = frozenset()


def departed(facts: Facts) -> frozenset[str]:
    """Return the ids of the voters that belong to nobody; none while any member is away that may be one of them.

    The disaster this prevents: a manager that only restarts is known by its id alone, too. Without its vote the others
    would go on as a smaller cluster, and one more that fails would end it.
    """
    database = facts.database
    if database is None or not database.nameless or not database.leader:
        return NOBODY
    away = any(might_vote(facts, m) and not facts.joined(m.name) for m in facts.obs.members)
    forgotten = any(name not in facts.members for name in facts.obs.records)
    return NOBODY if away or forgotten else database.nameless


def might_vote(facts: Facts, member: Member) -> bool:
    """Return whether a member may have the vote of a node that is away: also one of whose pool nothing is known.

    What is left of a member that was let go is a volume, which nobody starts from again.
    """
    return member.present and (facts.votes(member) or member.pool not in facts.pools)
