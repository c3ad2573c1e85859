"""Pools whose roles and kind of volume can only be changed by new members, as in OpenSearch and Elasticsearch."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as changed
from random import Random

from msgspec.structs import replace

from stateward.planning.model import observation as o
from tests.unit.planning.pools import PoolSpec

__all__ = [
    "HOLDS",
    "KEPT_INPUTS",
    "VOTES_ONLY",
    "RolePool",
    "changed",
    "pool",
    "pools_with_tiebreakers",
    "random_pools",
]

HOLDS, EPHEMERAL, VOTES_ONLY = "storage/holds", "storage/ephemeral", "votingOnly"
KEPT_INPUTS = frozenset({HOLDS, EPHEMERAL, VOTES_ONLY})
KINDS: Mapping[frozenset[str], Mapping[str, str]] = {
    frozenset({"data", "voting"}): {},
    frozenset({"data"}): {HOLDS: "TrueFalse"},
    frozenset({"voting"}): {HOLDS: "FalseTrue"},
    frozenset({"data", "voting", "voting_only"}): {VOTES_ONLY: "1"},
    frozenset({"voting", "voting_only"}): {HOLDS: "FalseTrue", VOTES_ONLY: "1"},
}


@dataclass(frozen=True)
class RolePool(PoolSpec):
    """A pool as a user would write it, with the inputs by which a member keeps its roles and its kind of volume."""

    def inputs(self, version: str) -> dict[str, str]:
        kept = {} if self.data and self.voting else {HOLDS: f"{self.data}{self.voting}"}
        kept |= {EPHEMERAL: "True"} if self.ephemeral else {}
        kept |= {VOTES_ONLY: "1"} if self.voting and not self.electable else {}
        return {"version": version, "roles": f"{self.data}{self.voting}{self.electable}", **self.config, **kept}

    def desired(self, version: str, deployed: str) -> o.Pool:
        made = super().desired(version, deployed)
        return replace(made, retained=KEPT_INPUTS, kinds=KINDS, effects={**made.effects, "roles": o.Effect.RECREATE})


def roles_kept(keeps: Mapping[str, str]) -> tuple[bool, bool, bool]:
    """Return whether a member with these kept inputs holds data, votes, and keeps its data in its pod."""
    held = keeps.get(HOLDS)
    data, voting = held in (None, "TrueFalse", "TrueTrue"), held in (None, "FalseTrue", "TrueTrue")
    return data, voting, EPHEMERAL in keeps


def pool(name: str, replicas: int, *, voting: bool = False, data: bool = False, ephemeral: bool = False) -> RolePool:
    return RolePool(name, replicas, voting, data, ephemeral)


def random_pools(random: Random) -> tuple[RolePool, ...]:
    """Return the pools of a new cluster: with one to five managers, of one pool or several."""
    return random.choice(
        [
            (pool("m", 3, voting=True), pool("h", 3, data=True)),
            (pool("m", 3, voting=True), pool("h", 2, data=True), pool("g", 1, ephemeral=True)),
            (pool("m", 5, voting=True), pool("h", 2, data=True)),
            (pool("a", 3, voting=True, data=True),),
            (pool("a", 1, voting=True, data=True),),
            (pool("m", 1, voting=True), pool("h", 2, data=True)),
            (pool("m", 2, voting=True), pool("h", 3, data=True)),
            (pool("m", 3, voting=True), pool("n", 2, voting=True), pool("h", 2, data=True)),
            (pool("a", 3, voting=True, data=True), pool("h", 2, data=True, ephemeral=True)),
            (pool("m", 3, voting=True, ephemeral=True), pool("h", 2, data=True)),
        ]
    )


def pools_with_tiebreakers(random: Random) -> tuple[RolePool, ...]:
    """Return the pools of a new cluster of which one votes and is never elected."""
    tiebreaker = changed(pool("t", 1, voting=True), electable=False)
    return random.choice(
        [
            (pool("m", 2, voting=True), tiebreaker, pool("h", 2, data=True)),
            (pool("m", 1, voting=True), changed(tiebreaker, replicas=2), pool("h", 2, data=True)),
            (pool("a", 2, voting=True, data=True), changed(tiebreaker, ephemeral=True)),
            (pool("m", 1, voting=True), changed(tiebreaker, replicas=3, data=True)),
            (pool("m", 3, voting=True), changed(tiebreaker, replicas=2), pool("h", 2, data=True)),
            (pool("m", 2, voting=True, ephemeral=True), tiebreaker, pool("h", 2, data=True)),
        ]
    )


def is_valid(pools: list[RolePool]) -> bool:
    """Return whether the operator accepts the pools: some member can be elected, and some member holds data."""
    return any(p.voting and p.electable and p.replicas for p in pools) and any(p.data and p.replicas for p in pools)
