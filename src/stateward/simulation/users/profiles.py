"""Profiles: each makes a few edits and faults frequent, so that rare combinations are reached.

Runs with all faults and edits seldom reach a state that needs three events at once, such as a coordinated restart while
a disk is unresponsive. A profile does not script such a state: it makes its parts frequent and the rest rare, and the
seed still draws the events. Every other seed takes a profile, in turn; the others have none.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from stateward.api.values.base import Json
from stateward.api.values.roles import VOTING_ONLY
from stateward.simulation.world.engine_products import Product
from stateward.simulation.world.world import LIMITED, Layout


class Profile(Struct, frozen=True):
    """Frequent edits and faults of a run, and its initial cluster."""

    name: str
    edits: tuple[str, ...] = ()
    """Names of the frequent edits and requests; if empty, all edits have their usual weights."""
    frequent_faults: Mapping[str, float] = {}
    """Active faults by name, with the factor of their rate. All other faults are rarer than usual."""
    pools: Mapping[str, int] = {}
    """The initial pools and their replicas; if empty, the seed chooses."""
    storage: Json = {}
    """Storage of the initial pools with data, instead of a small volume of the default class."""
    spec: Json = {}
    """Other fields of the initial spec."""
    layout: Layout | None = None
    agents: bool | None = None
    quiet_start: bool | None = True


POOL_SCALE_WRITTEN = "PoolScale written"
"""The fault that only runs have whose operators watch PoolScales: one more watch would change the course of others."""
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
"""All faults between the operator and the API server, the database and the pods."""
MACHINES = {
    "zone lost": 4.0,
    "node drained": 2.0,
    "node tainted": 3.0,
    "nodes full": 3.0,
    "pod deleted by a user": 3.0,
    "pod evicted by its kubelet": 2.0,
    "quota exhausted": 2.0,
}
"""Faults of nodes, and of the pods on them."""

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
"""Healthy members must stay whatever the edit is; for each engine."""

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
            "whenShrunk toggled",
            "whenScaled toggled",
            "pool shrunk",
        ),
        frequent_faults={"user edit": 4.0, "storage class deleted": 4.0, "index created": 3.0},
    ),
    Profile(
        "disks fill",
        edits=(
            "growth of volumes changed",
            "volumes grown",
            "volumes shrunk",
            "whenShrunk toggled",
            "pool grown",
            "pool shrunk",
            "member replacement requested",
        ),
        frequent_faults={
            "user edit": 2.0,
            "disk filled": 4.0,
            "storage class deleted": 2.0,
            "operator killed after writes": 1.0,
            "watches lag": 1.0,
        },
        pools={"managers": 3, "hot": 3},
        storage={"size": "50Gi", "storageClass": LIMITED, "grow": {"max": "200Gi"}},
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
        spec={"volumes": {"whenScaled": "Delete"}},
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
            "whenShrunk toggled",
            "restart of an unknown pool requested",
            "restart of an unknown kind requested",
            "member stop requested",
            "member stops cancelled",
        ),
        frequent_faults={"user edit": 8.0},
    ),
    Profile("network and file faults", frequent_faults={**NETWORK, "slow shard recovery": 1.0}),
    Profile("node and pod faults", frequent_faults={**MACHINES, "cluster deleted and recreated": 3.0}),
    Profile(
        "created again",
        edits=(
            "pool renamed",
            "managers renamed",
            "pool removed",
            "pool added",
            "pool grown",
            "pool shrunk",
            "roles changed",
            "member replacement requested",
            "volumes shrunk",
            "storage class changed",
        ),
        frequent_faults={
            "user edit": 4.0,
            "cluster deleted and recreated": 6.0,
            "index created": 3.0,
            "slow database start": 1.0,
        },
    ),
    Profile(
        "pools that scale",
        edits=("scaling of a pool changed", "scaling of a pool changed", "pool grown", "pool shrunk", "version up"),
        frequent_faults={
            "user edit": 4.0,
            "index created": 4.0,
            "operator killed after writes": 1.0,
            POOL_SCALE_WRITTEN: 4.0,
        },
        pools={"managers": 3, "hot": 3},
    ),
)
"""In the order in which seeds take them."""

VOTES_ONLY = Profile(
    "managers that only vote",
    edits=(
        "managers only vote, or can be elected again",
        "managers only vote, or can be elected again",
        "pool grown",
        "pool shrunk",
        "managers renamed",
        "member replacement requested",
        "coordinated restart requested",
        "version up",
    ),
    frequent_faults={"user edit": 4.0, "process crash": 2.0, "node powered off": 2.0, "voters change late": 1.0},
    pools={"managers": 2, "tiebreaker": 1, "hot": 2},
)
"""For Elasticsearch, the engine that has such nodes."""

OTHER_FAULTS = 0.3
"""Factor of the probability of faults that the profile of a run does not name."""
PROFILE_EDITS = 0.75
"""Probability that an edit is one of the profile's."""


def profile_of(seed: int, profiles: Sequence[Profile] = PROFILES) -> Profile | None:
    """Return the profile of a seed; even seeds have none."""
    return profiles[seed // 2 % len(profiles)] if seed % 2 else None


def profiles_of(product: Product) -> Sequence[Profile]:
    """Return the profiles of an engine of the search family."""
    return (*PROFILES, VOTES_ONLY) if product.voting_only else PROFILES


def pools_of(profile: Profile, product: Product) -> list[Json]:
    """Return the initial pools of a profile."""
    pools = [_pool(name, replicas, product) for name, replicas in profile.pools.items()]
    return [
        {**pool, "storage": profile.storage or pool["storage"]} if "data" in pool["roles"] else pool for pool in pools
    ]


def _pool(name: str, replicas: int, product: Product) -> Json:
    roles: dict[str, list[Any]] = {
        "managers": [product.manager],
        "tiebreaker": [product.manager, VOTING_ONLY],
        "all": [product.manager, "data"],
    }
    size = "1Gi" if name in ("managers", "tiebreaker") else "5Gi"
    return {"name": name, "replicas": replicas, "roles": roles.get(name, ["data"]), "storage": {"size": size}}
