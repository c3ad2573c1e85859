"""Pools as a user would write them, in a few words."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stateward.planning.model import observation as o

GIB = 1 << 30


@dataclass(frozen=True)
class PoolSpec:
    """A pool as a user would write it."""

    name: str
    replicas: int
    voting: bool = False
    data: bool = False
    ephemeral: bool = False
    size: int = 10 * GIB
    storage_class: str | None = None
    growth: o.Growth | None = None
    scaling: o.Scaling | None = None
    config: Mapping[str, str] = field(default_factory=dict[str, str])
    tier: int = 0
    coordinated: frozenset[str] = frozenset()
    electable: bool = True

    def inputs(self, version: str) -> dict[str, str]:
        holds = {} if self.data and self.voting else {"storage/holds": f"{self.data}{self.voting}"}
        only = {"votingOnly": "1"} if self.voting and not self.electable else {}
        return {"version": version, **self.config, **holds, **only}

    def desired(self, version: str, deployed: str) -> o.Pool:
        return o.Pool(
            name=self.name,
            replicas=self.replicas,
            voting=self.voting,
            electable=self.electable,
            data=self.data,
            ephemeral=self.ephemeral,
            inputs=self.inputs(version),
            held_inputs=self.inputs(deployed or version),
            effects={
                "version": o.Effect.RECREATE,
                "config": o.Effect.RESTART,
                "security": o.Effect.RESTART,
                "template": o.Effect.RECREATE,
                "keystore": o.Effect.RESTART,
                "storage": o.Effect.REPLACE,
                "votingOnly": o.Effect.REPLACE,
                "dynamic": o.Effect.RELOAD,
                "label": o.Effect.NONE,
            },
            volume_size=0 if self.ephemeral else self.size,
            growth=self.growth,
            scaling=self.scaling,
            storage_class=self.storage_class,
            tier=self.tier,
            coordinated=self.coordinated,
            retained=frozenset({"votingOnly"}),
        )


def managers(replicas: int = 3, name: str = "managers", **more: object) -> PoolSpec:
    return PoolSpec(name, replicas, voting=True, **more)  # type: ignore[arg-type]


def tiebreaker(replicas: int = 1, name: str = "tiebreaker", **more: object) -> PoolSpec:
    """Return a pool whose members vote and are never elected."""
    return PoolSpec(name, replicas, voting=True, electable=False, **more)  # type: ignore[arg-type]


def hot(replicas: int = 3, name: str = "hot", **more: object) -> PoolSpec:
    return PoolSpec(name, replicas, data=True, **more)  # type: ignore[arg-type]


def mixed(replicas: int = 3, name: str = "all", **more: object) -> PoolSpec:
    return PoolSpec(name, replicas, voting=True, data=True, **more)  # type: ignore[arg-type]


def gateway(replicas: int = 1, name: str = "gateway", **more: object) -> PoolSpec:
    return PoolSpec(name, replicas, **more)  # type: ignore[arg-type]
