"""Runs with FoundationDB: the machines, the cluster, the user's edits, and the faults."""

import asyncio
import random
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from stateward.api.values.base import Json
from stateward.operator.objects.kinds import FOUNDATIONDB
from stateward.simulation.faults import foundationdb_accidents
from stateward.simulation.faults.faults import FAULTS, WEATHER, Fault, LastingFault
from stateward.simulation.people.edits import Edit
from stateward.simulation.people.foundationdb_edits import ABSENT, BROKEN, CHOICE, VERSIONS, pool_of
from stateward.simulation.people.foundationdb_user import FoundationUser
from stateward.simulation.people.profiles import MACHINES, NETWORK, UNPLACEABLE, Profile
from stateward.simulation.people.user import User
from stateward.simulation.properties.foundationdb_goal import unmet
from stateward.simulation.world.operators import Process
from stateward.simulation.world.world import Layout, World

ELSEWHERE = frozenset(
    {
        "volumes of an empty cluster lost",
        "index created",
        "database made read-only",
        "cluster deleted and created again",
    }
)
"""Faults of worlds with shards; users here do not create a cluster again on its old volumes."""

FOUNDATION_FAULTS = (
    *(fault for fault in FAULTS if fault.name not in ELSEWHERE),
    Fault("zone in maintenance", foundationdb_accidents.maintenance, (600, 3600), 0.25),
    Fault("disks almost full", foundationdb_accidents.disks_full, (600, 3600), 0.2),
)
FOUNDATION_WEATHER = tuple(weather for weather in WEATHER if weather.name != "copies move slowly")

FOUNDATION_PROFILES = (
    Profile(
        "versions that do not talk",
        edits=("version up", "version up", "member to be replaced", "pool shrunk", "pool grown"),
        often={"user edit": 4.0, "slow start": 1.0, "StatefulSet controller slow": 1.0},
    ),
    Profile(
        "zones in maintenance",
        edits=("environment changed", "knob changed", "version up", "volumes shrunk"),
        often={"user edit": 5.0, "zone in maintenance": 8.0},
    ),
    Profile(
        "restarts",
        edits=("restart asked for", "coordinated restart asked for", "member kept stopped", "knob changed"),
        often={"user edit": 5.0, "StatefulSet controller slow": 1.0},
        agents=True,
    ),
    UNPLACEABLE,
    Profile(
        "disks that fill",
        edits=("member to be replaced", "pool shrunk", "pool grown", "pool added", "pool removed"),
        often={"user edit": 3.0, "disks almost full": 5.0},
    ),
    Profile(
        "members that go missing",
        edits=("member to be replaced", "replacement taken back", "member to be kept", "environment changed"),
        often={"user edit": 2.0, "node without power": 4.0, "node cut off": 3.0, "process crash": 2.0},
        more={
            "replacement": {"enabled": True, "after": "2m", "maxConcurrent": 1},
            "security": {"enabled": True},
        },
    ),
    Profile(
        "people who try everything",
        edits=(
            "version down",
            "knob changed",
            "knob removed",
            "selector that fits no node",
            "paused or resumed",
            "processes of a member changed",
            "invalid edit",
            "volumes grown",
            "storage class changed",
            "smaller volumes refused or not",
            "volumes of who left deleted or not",
            "member to be replaced undrained",
            "member to be kept and replaced at once",
            "member replaced that is none",
            "pool to be replaced",
            "pool to be replaced undrained",
            "wishes for members taken back",
            "automatic replacement on or off",
            "restart of a pool that is none",
            "restart of a kind that is none",
        ),
        often={"user edit": 8.0, "disk hangs": 2.0, "storage class gone": 4.0},
    ),
    Profile("bad weather", often={**NETWORK, "restart taken off a pod": 2.0}),
    Profile("bad machines", often={**MACHINES, "Secret of a member that is gone restored": 4.0}),
)


@dataclass(frozen=True)
class FoundationSetup:
    """Runs with FoundationDB."""

    layouts: Sequence[Layout] = (
        Layout(zones=3, nodes_per_zone=4, capacity=4),
        Layout(zones=1, nodes_per_zone=9, capacity=5),
        Layout(zones=3, nodes_per_zone=4, capacity=4, where="node"),
    )
    faults: Sequence[Fault] = FOUNDATION_FAULTS
    weather: Sequence[LastingFault] = FOUNDATION_WEATHER
    profiles: Sequence[Profile] = FOUNDATION_PROFILES
    edits: Sequence[Edit] = CHOICE

    def world(self, seed: int, layout: Layout, loop: asyncio.AbstractEventLoop) -> World:
        """Return a world for the engine."""
        world = World(seed, layout, loop, kind=FOUNDATIONDB)
        world.kubelets.habits.missing = frozenset({ABSENT})
        world.foundations.habits.broken = frozenset({BROKEN})
        return world

    def process(self, world: World, name: str, *, leader_elect: bool) -> Process:
        """Return an operator process."""
        return Process(world, name, leader_elect=leader_elect, foundationdb=True)

    def user(self, world: World, spec: Json, often: Sequence[str]) -> User:
        """Return the simulated user."""
        return FoundationUser(world, spec, often=often)

    def spec(self, chance: random.Random, profile: Profile | None) -> Json:
        """Return a cluster to begin with."""
        pools = [
            pool_of("storage", "storage", chance.randint(4, 5)),
            pool_of("log", "log", chance.randint(3, 4)),
            pool_of("stateless", "stateless", chance.randint(2, 3)),
        ]
        return {"version": VERSIONS[0], "pools": pools, **(deepcopy(profile.more) if profile is not None else {})}

    def unmet(self, world: World) -> list[str]:
        """Return the differences from the desired state."""
        return unmet(world)

    def fill(self, world: World) -> None:
        """Do nothing: the model's database has its data from its creation on."""
