"""How many members may be evicted by others (a node drain), per kind of member.

An eviction checks only one budget per pod, so every pod belongs to exactly one. Members that share a danger share a
budget: where a pool both votes and holds data, all voters and all data members are one group, or two evictions through
two budgets could take the quorum together.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward.api.values import names
from stateward.planning.facts.facts import Facts
from stateward.planning.model.intent import Intent, State
from stateward.planning.model.observation import Member
from stateward.planning.safety.availability import sole_units, voter_problem
from stateward.planning.safety.health_gate import unready


class Budget(Struct, frozen=True):
    """One PodDisruptionBudget: pods whose `stateward.dev/roles` label is one of `roles`, and how many may go now."""

    name: str
    roles: tuple[str, ...]
    allowed: int


def budgets(facts: Facts, intents: Mapping[str, Intent]) -> tuple[Budget, ...]:
    """Return one budget per kind of member, each with room for one eviction only when one more loss is harmless.

    None may go while Stateward itself takes members down: two that are each allowed one would take two. A kind of which
    there is only one member may always be evicted, and so may one of two managers: a budget that can never be met would
    keep a Kubernetes node from ever being drained.
    """
    busy = any(i.state in (State.RESTARTING, State.REPAIRING) for i in intents.values())
    return tuple(Budget(name, roles, allowed(facts, roles, busy=busy)) for name, roles in groups(facts))


def groups(facts: Facts) -> list[tuple[str, tuple[str, ...]]]:
    """Return the kinds of members that share a danger, by name, with the values of their roles label."""
    kinds = {names.roles(data=pool.data, voting=pool.voting) for pool in facts.obs.desired.pools}
    kinds |= {kind(facts, m) for m in facts.obs.members if m.pod is not None}
    if "data-voting" in kinds:
        together = [("data", ("data", "data-voting", "voting"))]
    else:
        together = [("data", ("data",)), ("managers", ("voting",))]
    return [group for group in (*together, ("others", ("none",))) if kinds & set(group[1])]


def allowed(facts: Facts, roles: tuple[str, ...], *, busy: bool) -> int:
    """Return how many members of a kind may be evicted now: one or none."""
    mine = [m for m in facts.obs.members if m.pod is not None and kind(facts, m) in roles]
    if len(mine) <= 1 or roles == ("none",):
        return 1
    if facts.database is None or facts.down or busy:
        return 0
    if "data" in roles and (unready(facts) is not None or any(sole_units(facts, m.name) for m in mine)):
        return 0
    return int(all(voter_problem(facts, m) is None for m in mine))


def kind(facts: Facts, member: Member) -> str:
    """Return the value of the member's roles label, also where its pool is no longer wanted."""
    pool = facts.pools.get(member.pool)
    if pool is None:
        return names.roles(data=facts.holds_data(member), voting=facts.votes(member))
    return names.roles(data=pool.data, voting=pool.voting)
