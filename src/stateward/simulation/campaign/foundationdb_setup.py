"""Runs with FoundationDB: the machines, the cluster, the user's edits, and the faults."""

import asyncio
import random
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from stateward.api.values.base import Json
from stateward.operator.objects.kinds import FOUNDATIONDB
from stateward.simulation.faults import foundationdb_faults
from stateward.simulation.faults.faults import FAULTS, LASTING_FAULTS, Fault, LastingFault
from stateward.simulation.properties.foundationdb_goal import unmet
from stateward.simulation.users.edits import Edit
from stateward.simulation.users.foundationdb_edits import ABSENT, BROKEN, CHOICE, VERSIONS
from stateward.simulation.users.foundationdb_pools import pool_of
from stateward.simulation.users.foundationdb_user import FoundationDBUser
from stateward.simulation.users.profiles import MACHINES, NETWORK, POOL_SCALE_WRITTEN, UNPLACEABLE, Profile
from stateward.simulation.users.user import User
from stateward.simulation.world.operators import Process
from stateward.simulation.world.world import Layout, World

ELSEWHERE = frozenset(
    {
        "volumes of an empty cluster lost",
        "index created",
        "database made read-only",
        "cluster deleted and recreated",
        "disk filled",
        "process paused",
        POOL_SCALE_WRITTEN,
    }
)
"""Faults of worlds with shards, or of pools that scale; here no user recreates a cluster on its old volumes."""

LASTING_ELSEWHERE = frozenset({"engine commands performed late", "voters change late"})
"""Lasting faults of worlds with shards."""

FOUNDATIONDB_FAULTS = (
    *(fault for fault in FAULTS if fault.name not in ELSEWHERE),
    Fault("zone in maintenance", foundationdb_faults.maintenance, (600, 3600), 0.25),
    Fault("objects deleted by a user", foundationdb_faults.objects_deleted, (300, 2400), 0.2),
    Fault("members scaled to zero by a user", foundationdb_faults.members_scaled_to_zero, (300, 2400), 0.2),
    Fault("disks almost full", foundationdb_faults.disks_full, (600, 3600), 0.2),
    Fault("data distribution off", foundationdb_faults.distribution_off, (600, 3600), 0.0),
)
FOUNDATIONDB_LASTING_FAULTS = tuple(fault for fault in LASTING_FAULTS if fault.name not in LASTING_ELSEWHERE)

FOUNDATIONDB_PROFILES = (
    Profile(
        "incompatible versions",
        edits=("version up", "version up", "member replacement requested", "pool shrunk", "pool grown"),
        frequent_faults={"user edit": 4.0, "slow database start": 1.0, "slow StatefulSet controller": 1.0},
    ),
    Profile(
        "zones in maintenance",
        edits=("environment changed", "knob changed", "version up", "volumes shrunk"),
        frequent_faults={"user edit": 5.0, "zone in maintenance": 8.0},
    ),
    Profile(
        "restarts",
        edits=("restart requested", "coordinated restart requested", "member stop requested", "knob changed"),
        frequent_faults={"user edit": 5.0, "slow StatefulSet controller": 1.0},
        agents=True,
    ),
    UNPLACEABLE,
    Profile(
        "full disks",
        edits=("member replacement requested", "pool shrunk", "pool grown", "pool added", "redundancy changed"),
        frequent_faults={"user edit": 3.0, "disks almost full": 5.0},
    ),
    Profile(
        "lost members",
        edits=("member replacement requested", "replacement cancelled", "member marked to keep", "environment changed"),
        frequent_faults={"user edit": 2.0, "node powered off": 4.0, "node cut off": 3.0, "process crash": 2.0},
        spec={
            "replacement": {"enabled": True, "after": "2m", "maxConcurrent": 1},
            "security": {"enabled": True},
        },
    ),
    Profile(
        "remaining edits",
        edits=(
            "version down",
            "knob changed",
            "knob removed",
            "unsatisfiable node selector",
            "paused or resumed",
            "processes of a member changed",
            "redundancy changed",
            "pool removed",
            "invalid edit",
            "volumes grown",
            "storage class changed",
            "whenShrunk toggled",
            "whenScaled toggled",
            "member replacement without draining requested",
            "member marked to keep and to replace",
            "replacement of an unknown member requested",
            "pool replacement requested",
            "pool replacement without draining requested",
            "member requests removed",
            "automatic replacement toggled",
            "restart of an unknown pool requested",
            "restart of an unknown kind requested",
        ),
        frequent_faults={"user edit": 8.0, "disk unresponsive": 2.0, "storage class deleted": 4.0},
    ),
    Profile(
        "changing pools",
        edits=(
            "pool renamed",
            "pool added",
            "pool removed",
            "process class changed",
            "volumes of stateless members toggled",
            "pool size left to the default",
            "redundancy changed",
            "several edits at once",
            "several edits at once",
            "version up",
        ),
        frequent_faults={"user edit": 6.0, "slow StatefulSet controller": 1.0, "objects deleted by a user": 2.0},
    ),
    Profile(
        "impatient users",
        edits=("pool shrunk", "pool grown", "member replacement requested", "pool replacement requested"),
        frequent_faults={
            "user edit": 5.0,
            "members scaled to zero by a user": 6.0,
            "zone in maintenance": 2.0,
            "slow shard recovery": 1.0,
        },
        spec={"redundancy": "single", "volumes": {"whenScaled": "Delete"}},
    ),
    Profile(
        "one copy",
        edits=(
            "version up",
            "knob changed",
            "environment changed",
            "member replacement requested",
            "member replacement without draining requested",
            "volumes of stateless members toggled",
            "storage class changed",
            "several edits at once",
        ),
        frequent_faults={"user edit": 5.0, "process crash": 1.0},
        spec={"redundancy": "single"},
    ),
    Profile(
        "network and file faults",
        frequent_faults={**NETWORK, "slow shard recovery": 1.0, "restart annotation removed from a pod": 2.0},
    ),
    Profile("node and pod faults", frequent_faults={**MACHINES, "Secret of a removed member restored": 4.0}),
    Profile(
        "data distribution off",
        edits=(
            "member replacement requested",
            "member replacement without draining requested",
            "pool shrunk",
            "pool grown",
            "knob changed",
            "storage class changed",
            "version up",
        ),
        frequent_faults={
            "user edit": 4.0,
            "data distribution off": 4.0,
            "node powered off": 3.0,
            "pod evicted by its kubelet": 3.0,
        },
    ),
)


@dataclass(frozen=True)
class FoundationDBSetup:
    """Runs with FoundationDB."""

    layouts: Sequence[Layout] = (
        Layout(zones=3, nodes_per_zone=4, capacity=4),
        Layout(zones=1, nodes_per_zone=9, capacity=5),
        Layout(zones=3, nodes_per_zone=4, capacity=4, where="node"),
    )
    faults: Sequence[Fault] = FOUNDATIONDB_FAULTS
    lasting_faults: Sequence[LastingFault] = FOUNDATIONDB_LASTING_FAULTS
    declared_faults: Sequence[Fault] = ()
    profiles: Sequence[Profile] = FOUNDATIONDB_PROFILES
    edits: Sequence[Edit] = CHOICE

    def world(self, seed: int, layout: Layout, loop: asyncio.AbstractEventLoop) -> World:
        """Return a world for the engine."""
        world = World(seed, layout, loop, kind=FOUNDATIONDB)
        world.kubelets.behavior.missing = frozenset({ABSENT})
        world.foundationdb.behavior.broken = frozenset({BROKEN})
        return world

    def process(self, world: World, name: str, *, leader_elect: bool) -> Process:
        """Return an operator process."""
        return Process(world, name, leader_elect=leader_elect, foundationdb=True)

    def user(self, world: World, spec: Json, frequent_edits: Sequence[str]) -> User:
        """Return the simulated user."""
        return FoundationDBUser(world, spec, frequent_edits=frequent_edits)

    def spec(self, rng: random.Random, profile: Profile | None) -> Json:
        """Return the initial spec."""
        mode = rng.choice(("single", "double", "double", "triple"))
        least = 5 if mode == "triple" else 3
        pools = [
            pool_of("storage", "storage", rng.randint(least, 5)),
            pool_of("log", "log", rng.randint(least, 5)),
            pool_of("stateless", "stateless", rng.randint(1, 3)),
        ]
        if rng.random() < 0.5:
            pools[-1]["storage"] = {"ephemeral": True}
        spec: Json = {"version": VERSIONS[0], "pools": pools, "redundancy": mode}
        if rng.random() < 0.2:
            spec["faultDomain"] = "Member"
        if rng.random() < 0.3:
            spec["update"] = {"waitBetweenRemovals": "5s"}
        return {**spec, **(deepcopy(profile.spec) if profile is not None else {})}

    def unmet(self, world: World) -> list[str]:
        """Return the differences from the desired state."""
        return unmet(world)

    def fill(self, world: World) -> None:
        """Do nothing: the model's database has data from the start."""
