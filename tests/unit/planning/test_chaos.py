"""Edits, pod and node failures and operator deaths in any order: afterwards the cluster matches its spec.

What must be true in every state is checked after every plan on the way (`World.check`, `World.check_data`).
"""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateward.planning.model import observation as o
from tests.unit.planning.pools import GIB, PoolSpec
from tests.unit.planning.world import World, gateway, hot, managers, mixed, settled

BAD = ("config/a", "bad")


class Turmoil:
    """Random edits and faults in one world."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - nothing here is secret
        ephemeral = self.random.random() < 0.25
        pools = self.random.choice(
            [
                (managers(3), hot(3, ephemeral=ephemeral)),
                (managers(3), hot(4), gateway(1)),
                (mixed(3),),
                (managers(1), hot(3), hot(2, "warm", tier=1)),
                (managers(2), hot(3)),
            ]
        )
        copies = tuple((self.random.choice([1, 2, 2, 2]),) for _ in range(self.random.randint(0, 5)))
        budget = self.random.choice([1, 1, 2, None])
        zones = self.random.choice([0, 0, 3])
        self.world = settled(*pools, indices=copies, zones=zones, max_unavailable=budget)
        self.world.edit(crash={BAD})
        self.version = 17

    def edit(self) -> None:
        """Edit the resource as users do."""
        pools = self.world.pools
        i = self.random.randrange(len(pools))
        kind = self.random.choice(["config", "bad", "scale", "version", "rename", "size", "add", "managers"])
        spec = pools[i]
        if kind == "version":
            self.version += 1
            self.world.version = f"2.{self.version}.0"
        elif kind in ("config", "bad"):
            value = "bad" if kind == "bad" else str(self.random.randint(1, 9))
            pools[i] = changed(spec, config={"config/a": value})
        elif kind == "scale" and not spec.voting:
            pools[i] = changed(
                spec, replicas=max(3 if spec.data else 0, spec.replicas + self.random.choice([-1, 1, 2]))
            )
        elif kind == "managers" and spec.voting:
            pools[i] = changed(spec, replicas=self.random.choice([1, 3, 3, 5]) if not spec.data else 3)
        elif kind == "rename" and BAD not in spec.config.items():
            pools[i] = changed(spec, name=f"{spec.name[:6]}{self.random.randint(0, 9)}")
        elif kind == "size":
            pools[i] = changed(spec, size=self.random.choice([5, 10, 20]) * GIB)
        elif kind == "add" and len(pools) < 4:
            pools.append(hot(2, f"extra{self.random.randint(0, 9)}"))
        names = [p.name for p in pools]
        self.world.pools = [p for n, p in enumerate(pools) if p.name not in names[:n]]

    def fault(self) -> None:
        """Let something go wrong; at most one member is away at a time for longer."""
        world = self.world
        names = [n for n, b in world.bodies.items() if b.pod is not None]
        name = self.random.choice(names)
        kind = self.random.choice(["kill", "away", "answers", "stuck", "lag", "scaled"])
        body = world.bodies[name]
        if kind == "kill" or (kind == "away" and not self.keeps_data(name)):
            self.kill(name)
        elif kind == "away":
            world.unschedulable = {name}
            self.kill(name)
        elif kind == "answers":
            world.answers = False
        elif kind == "stuck":
            world.stuck = {name}
        elif kind == "lag":
            world.settled_writes = False
        elif body.workload is not None and body.claim is not None and not body.workload.voting:
            body.workload.replicas = 0

    def keeps_data(self, name: str) -> bool:
        return self.world.bodies[name].claim is not None

    def kill(self, name: str) -> None:
        """Evict a pod as a budget would let it: not one that takes its data with it."""
        if self.keeps_data(name) and self.world.bodies[name].pod is not None:
            self.world.kill(name)

    def heal(self) -> None:
        """Revert the faults, including a StatefulSet scaled to zero whose template is unknown now."""
        wanted = {pool.name for pool in self.world.pools}
        for body in self.world.bodies.values():
            if body.pool not in wanted and body.workload is not None:
                body.workload.replicas = 1
        self.world.edit(unschedulable=set(), answers=True, stuck=set(), settled_writes=True)

    def go(self) -> World:
        world = self.world
        for _ in range(self.random.randint(2, 6)):
            if self.random.random() < 0.5:
                self.edit()
            else:
                self.fault()
            for _ in range(self.random.randint(0, 12)):
                self.step()
            self.heal()
        world.pools = [changed(p, config={"config/a": "1"}) for p in world.pools]
        return world.run(1500)

    def step(self) -> None:
        """One round, which now and then dies in the middle and leaves no trace of itself."""
        if self.random.random() < 0.15:
            observed, made = self.world.observe(), self.world.plan()
            self.world.check(observed, made)
            for action in made.actions[: self.random.randint(0, 3)]:
                self.world.carry_out(action)
            self.world.pass_time()
        else:
            self.world.tick()


def changed(spec: PoolSpec, **fields: object) -> PoolSpec:
    return PoolSpec(**{**{name: getattr(spec, name) for name in spec.__dataclass_fields__}, **fields})  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=0, max_value=2**32))
def test_the_cluster_reaches_its_spec_whatever_happens_on_the_way(seed: int) -> None:
    world = Turmoil(seed).go()
    assert len(world.pods()) == sum(pool.replicas for pool in world.pools)
    assert set(world.pods().values()) <= {world.version}
    assert world.allocation is o.Allocation.ALL
    assert not world.draining | world.exclusions
    assert world.plan().settled
