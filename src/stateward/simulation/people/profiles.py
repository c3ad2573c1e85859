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
    often: Mapping[str, float] = {}
    """What surely fails, and how many times as often as usual. Anything else fails more rarely than usual."""
    pools: Mapping[str, int] = {}
    """The pools to begin with, and their members; none lets the seed choose."""
    more: Json = {}
    """What else the spec begins with."""
    layout: Layout | None = None
    agents: bool | None = None
    calm_start: bool | None = True


NETWORK = {
    "API errors": 1.0,
    "API answers lost": 1.0,
    "API slow": 1.0,
    "watches break": 1.0,
    "engine errors": 1.0,
    "engine answers lost": 1.0,
    "engine slow": 1.0,
    "engine answers garbled": 1.0,
    "files late in running pods": 1.0,
    "Secrets late in new pods": 1.0,
}
"""Everything between the operator and the rest at once."""
MACHINES = {
    "zone lost": 4.0,
    "node drained": 2.0,
    "node tainted": 3.0,
    "nodes full": 3.0,
    "pod deleted by somebody": 3.0,
    "pod evicted by its kubelet": 2.0,
    "quota": 2.0,
}
"""What people and chance do to machines and what runs on them."""

UNPLACEABLE = Profile(
    "edits that no node can satisfy",
    edits=(
        "storage class that does not exist",
        "storage class of all pools that does not exist",
        "storage class changed where no node fits",
        "more memory than any node has",
        "priority class that does not exist",
        "surge preferred or required",
        "storage class changed",
        "volumes shrunk",
        "pool to be replaced",
    ),
    often={"user edit": 3.0, "all nodes cordoned": 2.0, "nodes full": 2.0, "quota": 2.0, "node tainted": 2.0},
)
"""The healthy members must stay, whatever is asked for; in the worlds of each engine."""

PROFILES = (
    Profile(
        "restarts",
        edits=("restart asked for", "coordinated restart asked for", "member kept stopped", "setting changed"),
        often={"user edit": 6.0, "StatefulSet controller slow": 1.0, "slow start": 1.0},
        pools={"managers": 3, "hot": 3},
        agents=True,
    ),
    Profile(
        "an operator that forgets",
        edits=("restart asked for", "member kept stopped", "nobody kept stopped"),
        often={
            "user edit": 6.0,
            "restart taken off a pod": 10.0,
            "operator killed after engine calls": 1.0,
            "watches behind": 1.0,
            "stale state at the start of a watch": 1.0,
        },
        pools={"managers": 1, "hot": 3},
        agents=True,
    ),
    Profile(
        "disks that hang",
        edits=("coordinated restart asked for", "setting changed"),
        often={"user edit": 4.0, "disk hangs": 8.0},
        agents=True,
    ),
    Profile(
        "upgrades taken back",
        edits=("version up", "version up", "version down"),
        often={"user edit": 2.0, "index created": 3.0},
    ),
    Profile(
        "no room",
        edits=("pool to be replaced", "member to be replaced", "storage class changed", "pool grown"),
        often={"user edit": 2.0, "nodes almost full": 1.0, "quota": 2.0},
        pools={"managers": 3, "hot": 3},
    ),
    UNPLACEABLE,
    Profile(
        "members that go missing",
        edits=(
            "member to be replaced",
            "member to be kept",
            "member to be kept and replaced at once",
            "member replaced that is none",
            "pool to be replaced undrained",
            "replacement taken back",
        ),
        often={
            "user edit": 2.0,
            "node without power": 4.0,
            "node cut off": 3.0,
            "pod evicted by its kubelet": 3.0,
            "index created": 4.0,
            "slow start": 1.0,
        },
        more={"replacement": {"enabled": True, "after": "2m", "maxConcurrent": 1}},
    ),
    Profile(
        "volumes",
        edits=(
            "volumes grown",
            "volumes shrunk",
            "storage class changed",
            "smaller volumes refused or not",
            "volumes of who left deleted or not",
            "pool shrunk",
        ),
        often={"user edit": 4.0, "storage class gone": 4.0, "index created": 3.0},
    ),
    Profile(
        "sizes",
        edits=(
            "roles changed",
            "roles changed",
            "pool grown",
            "pool shrunk",
            "pool added",
            "pool removed",
            "pool renamed",
        ),
        often={"user edit": 4.0, "Secret of a member that is gone restored": 4.0, "index created": 3.0},
        pools={"managers": 3, "hot": 3, "extra1": 3},
        more={"volumes": {"onScaleDown": "Delete"}},
    ),
    Profile(
        "managers that break",
        edits=("setting that does not start", "managers renamed", "setting removed", "version that does not start"),
        often={"user edit": 5.0},
        pools={"managers": 1, "hot": 2},
    ),
    Profile(
        "managers that change",
        edits=("member to be replaced", "pool to be replaced", "setting changed", "managers renamed", "version up"),
        often={"user edit": 4.0, "process crash": 2.0},
        pools={"all": 3},
    ),
    Profile(
        "before there is data",
        often={"volumes of an empty cluster lost": 3.0, "operator killed": 2.0, "slow start": 1.0},
        calm_start=False,
    ),
    Profile(
        "a database that refuses",
        edits=("setting changed", "member to be replaced", "environment changed", "version up"),
        often={"user edit": 3.0, "database made read-only": 4.0, "index created": 3.0},
    ),
    Profile(
        "people who try everything",
        edits=(
            "selector that fits no node",
            "budget changed",
            "paused or resumed",
            "volumes shrunk",
            "invalid edit",
            "setting removed",
            "member to be replaced undrained",
            "member to be kept",
            "wishes for members taken back",
            "automatic replacement on or off",
            "smaller volumes refused or not",
            "restart of a pool that is none",
            "restart of a kind that is none",
            "member kept stopped",
            "nobody kept stopped",
        ),
        often={"user edit": 8.0},
    ),
    Profile("bad weather", often={**NETWORK, "copies move slowly": 1.0}),
    Profile("bad machines", often={**MACHINES, "cluster deleted and created again": 3.0}),
)
"""In the order in which seeds have them."""

RARELY = 0.3
"""How likely is, in a world with a profile, what its profile does not name; as a share of what is usual."""
MOSTLY = 0.75
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
