"""Worlds with a character: what their people mostly do, what mostly fails, and what the cluster is to begin with.

A swarm in which everything is possible meets rarely what needs three things at once: a restart of all members together
while a disk hangs, say. Such a meeting is not made by hand here. A profile only makes its parts frequent, and the rest
rare, and the story is still drawn by the seed. Every other seed has one, in turn, and the others have the plain swarm.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from stateward.api.values.base import Json
from stateward.simulation.world.engine_products import Product
from stateward.simulation.world.world import Layout


class Profile(Struct, frozen=True):
    """A character; names are those of faults, of weather, of edits and of what is asked for by annotations."""

    name: str
    edits: tuple[str, ...] = ()
    """What people do most of the time; nothing lets them do anything as usual."""
    frequent_faults: Mapping[str, float] = {}
    """What surely fails, and how many times as often as usual. Anything else fails more rarely than usual."""
    pools: Mapping[str, int] = {}
    """The pools to begin with, and their members; none lets the seed choose."""
    spec: Json = {}
    """What else the spec begins with."""
    layout: Layout | None = None
    agents: bool | None = None
    quiet_start: bool | None = True


NETWORK = {
    "API errors": 1.0,
    "API responses lost": 1.0,
    "API slow": 1.0,
    "watch streams break": 1.0,
    "engine errors": 1.0,
    "engine responses lost": 1.0,
    "engine slow": 1.0,
    "engine responses truncated": 1.0,
    "mounted files updated late": 1.0,
    "new pods mount outdated Secrets": 1.0,
}
"""Everything between the operator and the rest at once."""
MACHINES = {
    "zone lost": 4.0,
    "node drained": 2.0,
    "node tainted": 3.0,
    "nodes full": 3.0,
    "pod deleted by a user": 3.0,
    "pod evicted by its kubelet": 2.0,
    "quota exhausted": 2.0,
}
"""What people and chance do to machines and what runs on them."""

UNPLACEABLE = Profile(
    "unsatisfiable edits",
    edits=(
        "unknown storage class",
        "unknown storage class for all pools",
        "storage class changed with an unsatisfiable selector",
        "more memory than any node has",
        "unknown priority class",
        "surge toggled",
        "storage class changed",
        "volumes shrunk",
        "pool replacement requested",
    ),
    frequent_faults={
        "user edit": 3.0,
        "all nodes cordoned": 2.0,
        "nodes full": 2.0,
        "quota exhausted": 2.0,
        "node tainted": 2.0,
    },
)
"""The healthy members must stay, whatever is asked for; in the worlds of each engine."""

PROFILES = (
    Profile(
        "restarts",
        edits=("restart requested", "coordinated restart requested", "member stop requested", "setting changed"),
        frequent_faults={"user edit": 6.0, "slow StatefulSet controller": 1.0, "slow database start": 1.0},
        pools={"managers": 3, "hot": 3},
        agents=True,
    ),
    Profile(
        "operator restarts on stale state",
        edits=("restart requested", "member stop requested", "member stops cancelled"),
        frequent_faults={
            "user edit": 6.0,
            "restart annotation removed from a pod": 10.0,
            "operator killed after engine calls": 1.0,
            "watches lag": 1.0,
            "watches start from stale state": 1.0,
        },
        pools={"managers": 1, "hot": 3},
        agents=True,
    ),
    Profile(
        "unresponsive disks",
        edits=("coordinated restart requested", "setting changed"),
        frequent_faults={"user edit": 4.0, "disk unresponsive": 8.0},
        agents=True,
    ),
    Profile(
        "reverted upgrades",
        edits=("version up", "version up", "version down"),
        frequent_faults={"user edit": 2.0, "index created": 3.0},
    ),
    Profile(
        "insufficient capacity",
        edits=("pool replacement requested", "member replacement requested", "storage class changed", "pool grown"),
        frequent_faults={"user edit": 2.0, "nodes almost full": 1.0, "quota exhausted": 2.0},
        pools={"managers": 3, "hot": 3},
    ),
    UNPLACEABLE,
    Profile(
        "lost members",
        edits=(
            "member replacement requested",
            "member marked to keep",
            "member marked to keep and to replace",
            "replacement of an unknown member requested",
            "pool replacement without draining requested",
            "replacement cancelled",
        ),
        frequent_faults={
            "user edit": 2.0,
            "node powered off": 4.0,
            "node cut off": 3.0,
            "pod evicted by its kubelet": 3.0,
            "index created": 4.0,
            "slow database start": 1.0,
        },
        spec={"replacement": {"enabled": True, "after": "2m", "maxConcurrent": 1}},
    ),
    Profile(
        "volumes",
        edits=(
            "volumes grown",
            "volumes shrunk",
            "storage class changed",
            "onShrink toggled",
            "onScaleDown toggled",
            "pool shrunk",
        ),
        frequent_faults={"user edit": 4.0, "storage class deleted": 4.0, "index created": 3.0},
    ),
    Profile(
        "scaling",
        edits=(
            "roles changed",
            "roles changed",
            "pool grown",
            "pool shrunk",
            "pool added",
            "pool removed",
            "pool renamed",
        ),
        frequent_faults={"user edit": 4.0, "Secret of a removed member restored": 4.0, "index created": 3.0},
        pools={"managers": 3, "hot": 3, "extra1": 3},
        spec={"volumes": {"onScaleDown": "Delete"}},
    ),
    Profile(
        "broken managers",
        edits=("setting that prevents startup", "managers renamed", "setting removed", "version that cannot start"),
        frequent_faults={"user edit": 5.0},
        pools={"managers": 1, "hot": 2},
    ),
    Profile(
        "manager changes",
        edits=(
            "member replacement requested",
            "pool replacement requested",
            "setting changed",
            "managers renamed",
            "version up",
        ),
        frequent_faults={"user edit": 4.0, "process crash": 2.0},
        pools={"all": 3},
    ),
    Profile(
        "bootstrap with lost volumes",
        frequent_faults={"volumes of an empty cluster lost": 3.0, "operator killed": 2.0, "slow database start": 1.0},
        quiet_start=False,
    ),
    Profile(
        "read-only database",
        edits=("setting changed", "member replacement requested", "environment changed", "version up"),
        frequent_faults={"user edit": 3.0, "database made read-only": 4.0, "index created": 3.0},
    ),
    Profile(
        "remaining edits",
        edits=(
            "unsatisfiable node selector",
            "maxUnavailable changed",
            "paused or resumed",
            "volumes shrunk",
            "invalid edit",
            "setting removed",
            "member replacement without draining requested",
            "member marked to keep",
            "member requests removed",
            "automatic replacement toggled",
            "onShrink toggled",
            "restart of an unknown pool requested",
            "restart of an unknown kind requested",
            "member stop requested",
            "member stops cancelled",
        ),
        frequent_faults={"user edit": 8.0},
    ),
    Profile("network and file faults", frequent_faults={**NETWORK, "slow shard recovery": 1.0}),
    Profile("node and pod faults", frequent_faults={**MACHINES, "cluster deleted and recreated": 3.0}),
)
"""In the order in which seeds have them."""

OTHER_FAULTS = 0.3
"""How likely is, in a world with a profile, what its profile does not name; as a share of what is usual."""
PROFILE_EDITS = 0.75
"""How likely an edit is one of the profile's."""


def profile_of(seed: int, profiles: Sequence[Profile] = PROFILES) -> Profile | None:
    """Return the profile of a seed: every other seed has the plain swarm."""
    return profiles[seed // 2 % len(profiles)] if seed % 2 else None


def pools_of(profile: Profile, product: Product) -> list[Json]:
    """Return the pools that a profile begins with."""
    return [_pool(name, replicas, product) for name, replicas in profile.pools.items()]


def _pool(name: str, replicas: int, product: Product) -> Json:
    roles: dict[str, list[Any]] = {"managers": [product.manager], "all": [product.manager, "data"]}
    size = "1Gi" if name == "managers" else "5Gi"
    return {"name": name, "replicas": replicas, "roles": roles.get(name, ["data"]), "storage": {"size": size}}
