"""How many members may be evicted by others (a node drain), per kind of member.

An eviction checks only one budget per pod, so every pod belongs to exactly one. Members that share a danger share a
budget: where a pool both votes and holds data, all voters and all data members are one group, or two evictions through
two budgets could take the quorum together.
"""

from msgspec import Struct


class Budget(Struct, frozen=True):
    """One PodDisruptionBudget: pods whose `stateward.dev/roles` label is one of `roles`, and how many may go now."""

    name: str
    roles: tuple[str, ...]
    allowed: int
