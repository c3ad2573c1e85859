"""Decides how many members of each kind others may evict, for example with a node drain.

The API server checks one PodDisruptionBudget per pod, so every pod belongs to exactly one. Members with a shared risk
share a budget: if a pool both votes and holds data, all voters and all data members form one group. Otherwise two
evictions through two budgets could break the quorum.

A budget says how many members must be available, and not how many may be unavailable: Kubernetes counts the latter by
the pods that exist. The disaster this prevents: the pods of two of three members cannot be created, no operator runs,
and the last member is evicted because it is the only one that counts.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from stateward.api.values import names
from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action, DeletePod, Release, StopProcess
from stateward.planning.model.intent import State, StepResult
from stateward.planning.model.observation import Member
from stateward.planning.safety.availability import sole_units, voter_problem
from stateward.planning.safety.health_gate import health_problem


class Budget(Struct, frozen=True):
    """One PodDisruptionBudget, for the pods whose label `stateward.dev/roles` is one of `roles`."""

    name: str
    roles: tuple[str, ...]
    members: int
    """Members of these roles: the pods that the budget selects, and those that the spec asks for and have none."""
    allowed: int
    """How many of them may be evicted now: 1 or 0."""

    @property
    def min_available(self) -> int:
        """How many pods must be available after an eviction."""
        return max(0, self.members - self.allowed)


def budgets(facts: Facts, part: StepResult) -> tuple[Budget, ...]:
    """Return one budget per kind of member; each allows one eviction only if the loss of one more member is harmless.

    A budget allows none while Stateward itself stops members, or lets one leave with its copies because the user asked
    for that: the two together would be two. A kind that has, and is to have, a single member always allows its
    eviction, and so does one of two managers: a budget that is never met would block every drain of a Kubernetes node.
    """
    busy = any(i.state in (State.RESTARTING, State.REPAIRING) for i in part.intents.values())
    busy = busy or stops_serving(facts, part.actions)
    return tuple(budget(facts, name, roles, busy=busy) for name, roles in budget_groups(facts))


def stops_serving(facts: Facts, actions: Iterable[Action]) -> bool:
    """Return whether one of these actions stops a member that serves, or takes copies away with a member.

    One that the database lists serves, also if its pod is not ready yet: it may be, before the member stops, and then
    an eviction of another one is admitted.
    """
    return any(
        (isinstance(action, DeletePod | StopProcess) and (action.member in facts.up or facts.joined(action.member)))
        or (isinstance(action, Release) and bool(facts.units_of(action.member)))
        for action in actions
    )


def budget(facts: Facts, name: str, roles: tuple[str, ...], *, busy: bool) -> Budget:
    """Return the budget of one kind of member."""
    with_pod = Counter(m.pool for m in facts.obs.members if m.pod is not None)
    pods = sum(m.pod is not None and roles_label(facts, m) in roles for m in facts.obs.members)
    pools = [p for p in facts.obs.desired.pools if names.roles(data=p.data, voting=p.voting) in roles]
    members = pods + sum(max(0, pool.replicas - with_pod[pool.name]) for pool in pools)
    return Budget(name, roles, members, allowed_evictions(facts, roles, members, busy=busy))


def budget_groups(facts: Facts) -> list[tuple[str, tuple[str, ...]]]:
    """Return the kinds of members that share a danger, by name, with the values of their roles label."""
    kinds = {names.roles(data=pool.data, voting=pool.voting) for pool in facts.obs.desired.pools}
    kinds |= {roles_label(facts, m) for m in facts.obs.members if m.pod is not None}
    if "data-voting" in kinds:
        together = [("data", ("data", "data-voting", "voting"))]
    else:
        together = [("data", ("data",)), ("managers", ("voting",))]
    return [group for group in (*together, ("others", ("none",))) if kinds & set(group[1])]


def allowed_evictions(facts: Facts, roles: tuple[str, ...], members: int, *, busy: bool) -> int:
    """Return how many of the members of a kind may be evicted now: 1 or 0."""
    mine = [m for m in facts.obs.members if m.pod is not None and roles_label(facts, m) in roles]
    if members <= 1 or roles == ("none",):
        return 1
    if facts.database is None or facts.down or busy:
        return 0
    if "data" in roles and (health_problem(facts) is not None or any(sole_units(facts, m.name) for m in mine)):
        return 0
    return int(all(voter_problem(facts, m) is None for m in mine))


def roles_label(facts: Facts, member: Member) -> str:
    """Return the value of the roles label of the member's pod, or the one that its next pod gets.

    The disaster this prevents: a pool gets other roles, and a budget counts its pods as they will be. It selects them
    as they are, so it would keep too few available.
    """
    if member.pod is not None and member.pod.roles:
        return member.pod.roles
    pool = facts.pools.get(member.pool)
    if pool is None:
        return names.roles(data=facts.holds_data(member), voting=facts.votes(member))
    return names.roles(data=pool.data, voting=pool.voting)
