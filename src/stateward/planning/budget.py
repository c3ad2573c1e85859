"""How many members may be evicted by others (a node drain), per kind of member.

An eviction checks only one budget per pod, so every pod belongs to exactly one. Members that share a danger share a
budget: where a pool both votes and holds data, all voters and all data members are one group, or two evictions through
two budgets could take the quorum together.
"""

from msgspec import Struct

from stateward.api import names
from stateward.planning.facts import Facts
from stateward.planning.gate import unready
from stateward.planning.observation import Member
from stateward.planning.safety import sole_units, voter_problem


class Budget(Struct, frozen=True):
    """One PodDisruptionBudget: pods whose `stateward.dev/roles` label is one of `roles`, and how many may go now."""

    name: str
    roles: tuple[str, ...]
    allowed: int


def budgets(facts: Facts) -> tuple[Budget, ...]:
    """Return one budget per kind of member, each with room for one eviction only when one more loss is harmless.

    A kind of which there is only one member may always be evicted: a budget that can never be met would keep a
    Kubernetes node from ever being drained.
    """
    return tuple(Budget(name, roles, allowed(facts, roles)) for name, roles in groups(facts))


def groups(facts: Facts) -> list[tuple[str, tuple[str, ...]]]:
    """Return the kinds of members that share a danger, by name, with the values of their roles label."""
    kinds = {names.roles(data=pool.data, voting=pool.voting) for pool in facts.obs.desired.pools}
    if "data-voting" in kinds:
        together = [("data", ("data", "data-voting", "voting"))]
    else:
        together = [("data", ("data",)), ("managers", ("voting",))]
    return [group for group in (*together, ("others", ("none",))) if kinds & set(group[1])]


def allowed(facts: Facts, roles: tuple[str, ...]) -> int:
    """Return how many members of a kind may be evicted now: one or none."""
    mine = [m for m in facts.obs.members if m.pod is not None and kind(facts, m) in roles]
    if len(mine) <= 1 or roles == ("none",):
        return 1
    if facts.database is None or facts.down:
        return 0
    if "voting" not in roles or len(roles) > 1:
        safe = unready(facts) is None and not any(sole_units(facts, m.name) for m in mine)
        return int(safe and all(voter_problem(facts, m, frozenset()) is None for m in mine))
    return int(all(voter_problem(facts, m, frozenset()) is None for m in mine))


def kind(facts: Facts, member: Member) -> str:
    """Return the value of the member's roles label."""
    pool = facts.pools.get(member.pool)
    return names.roles(data=pool.data, voting=pool.voting) if pool else ""
