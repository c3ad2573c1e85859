"""The engine's part of a run: the world, the user's edits, the faults, and the goal."""

import asyncio
import random
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Protocol

from stateward.api.values.base import Json
from stateward.simulation.faults.faults import DECLARED_FAULTS, FAULTS, LASTING_FAULTS, Fault, LastingFault
from stateward.simulation.properties.goal import unmet
from stateward.simulation.users.edits import Edit
from stateward.simulation.users.profiles import PROFILES, Profile, pools_of
from stateward.simulation.users.user import CHOICE, User
from stateward.simulation.world.engine_products import Product
from stateward.simulation.world.operators import Process
from stateward.simulation.world.world import RIGID, Layout, World


class EngineSetup(Protocol):
    """One engine's part of a run."""

    @property
    def layouts(self) -> Sequence[Layout]:
        """The possible node layouts."""
        ...

    @property
    def faults(self) -> Sequence[Fault]:
        """The point faults of the engine."""
        ...

    @property
    def lasting_faults(self) -> Sequence[LastingFault]:
        """The lasting faults of the engine."""
        ...

    @property
    def declared_faults(self) -> Sequence[Fault]:
        """The events of runs with declared resources; none if the engine has no such resources."""
        ...

    @property
    def profiles(self) -> Sequence[Profile]:
        """The profiles, which every other seed takes in turn."""
        ...

    @property
    def edits(self) -> Sequence[Edit]:
        """The edits of the spec that users make."""
        ...

    def world(self, seed: int, layout: Layout, loop: asyncio.AbstractEventLoop) -> World:
        """Return a world for the engine."""
        ...

    def process(self, world: World, name: str, *, leader_elect: bool) -> Process:
        """Return an operator process."""
        ...

    def user(self, world: World, spec: Json, frequent_edits: Sequence[str]) -> User:
        """Return the simulated user."""
        ...

    def spec(self, rng: random.Random, profile: Profile | None) -> Json:
        """Return the initial spec."""
        ...

    def unmet(self, world: World) -> list[str]:
        """Return the differences from the desired state."""
        ...

    def fill(self, world: World) -> None:
        """Write some data to a new database."""
        ...


@dataclass(frozen=True)
class SearchSetup:
    """Runs with OpenSearch or Elasticsearch."""

    product: Product
    layouts: Sequence[Layout] = (
        Layout(),
        Layout(zones=1, nodes_per_zone=3, capacity=8),
        Layout(zones=2, nodes_per_zone=3),
        Layout(where="node"),
        Layout(where=""),
    )
    faults: Sequence[Fault] = FAULTS
    lasting_faults: Sequence[LastingFault] = LASTING_FAULTS
    declared_faults: Sequence[Fault] = DECLARED_FAULTS
    profiles: Sequence[Profile] = PROFILES
    edits: Sequence[Edit] = CHOICE

    def world(self, seed: int, layout: Layout, loop: asyncio.AbstractEventLoop) -> World:
        """Return a world for the engine."""
        world = World(seed, layout, loop, self.product)
        world.kubelets.behavior.missing = frozenset({self.product.absent})
        world.databases.behavior.broken = frozenset({self.product.broken})
        return world

    def process(self, world: World, name: str, *, leader_elect: bool) -> Process:
        """Return an operator process."""
        return Process(world, name, leader_elect=leader_elect)

    def user(self, world: World, spec: Json, frequent_edits: Sequence[str]) -> User:
        """Return the simulated user."""
        return User(world, spec, frequent_edits=frequent_edits)

    def spec(self, rng: random.Random, profile: Profile | None) -> Json:
        """Return an initial cluster: random, except for the fields of the profile."""
        drawn: Json = {"version": self.product.versions[0], "pools": self._pools(rng)}
        if profile is None:
            return drawn
        pools = pools_of(profile, self.product)
        return {**drawn, **deepcopy(profile.spec), **({"pools": pools} if pools else {})}

    def unmet(self, world: World) -> list[str]:
        """Return the differences from the desired state."""
        return unmet(world)

    def fill(self, world: World) -> None:
        """Create some indices in a new database."""
        database = world.database()
        for number in range(3 if database is not None else 0):
            assert database is not None  # noqa: S101 - checked above
            database.create_index(f"first-{number}", 1, 50 * 2**20, 5.0)

    def _pools(self, rng: random.Random) -> list[Json]:
        storage: Json = {"size": f"{rng.randint(2, 20)}Gi"}
        if rng.random() < 0.2:
            storage["storageClass"] = RIGID
        data: Json = {"name": "hot", "replicas": rng.randint(2, 4), "roles": ["data", "ingest"], "storage": storage}
        managers = rng.choice((1, 3, 3))
        if rng.random() < 0.3:
            roles = [self.product.manager, "data"]
            return [{"name": "all", "replicas": 3, "roles": roles, "storage": dict(storage)}]
        pools: list[Json] = [
            {"name": "managers", "replicas": managers, "roles": [self.product.manager], "storage": {"size": "1Gi"}},
            data,
        ]
        if rng.random() < 0.3:
            pools.append({"name": "gateway", "replicas": 1, "roles": [], "storage": {"size": "1Gi"}})
        return pools
