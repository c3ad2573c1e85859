"""The edits of a user, as changes of the spec; pure, so that a schedule and its seed give the same specs again."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tests.chaos.faults import CERTIFICATE_LIFETIME
from tests.chaos.schedule import Edit
from tests.chaos.world import ZONES, zone_of
from tests.e2e.clusters import pool

OLD, NEW = "2.17.1", "2.19.5"
SECURED = "2.19.3"
NO_VERSION = "2.19.999"
LEAST, MOST, MOST_OF_A_ZONE = 4, 5, 2
"""Data members. One zone at least has two of them: see `faults.replaceable`.

With three of five members in one zone, an index with a copy on each member could not be green: of five copies in three
zones, awareness allows two in each.
"""
MEMORY = ("768Mi", "832Mi")
SECURED_MEMORY = ("1280Mi", "1344Mi")


class Wanted(Struct, frozen=True):
    """What the user wants now."""

    version: str
    secured: bool
    hot: tuple[int, ...] = (2, 1, 1)
    """Data members in each zone."""
    memory: int = 0
    """Index of the sizes above."""
    content_length: int = 100
    """A setting that needs a restart, in MB."""
    replaced: tuple[str, ...] = ()

    def spec(self) -> dict[str, Any]:
        """Return the spec of the cluster."""
        sizes = SECURED_MEMORY if self.secured else MEMORY
        resources = {"limits": {"memory": sizes[self.memory]}, "requests": {"memory": sizes[0], "cpu": "50m"}}
        wanted: dict[str, Any] = {
            "version": self.version,
            "pools": [
                *(managers(zone, resources) for zone in ZONES),
                *(hot(zone, replicas, resources) for zone, replicas in zip(ZONES, self.hot, strict=True)),
            ],
            "config": {
                "http.max_content_length": f"{self.content_length}mb",
                "cluster.routing.allocation.awareness.attributes": "zone",
            },
            "replacement": {"enabled": True, "after": "60s"},
            "security": {"enabled": False},
        }
        if self.secured:
            wanted["security"] = {"enabled": True, "certificateLifetime": f"{CERTIFICATE_LIFETIME / 60:.0f}m"}
        if self.replaced:
            wanted["members"] = {"replace": list(self.replaced)}
        return wanted


def managers(zone: str, resources: dict[str, Any]) -> dict[str, Any]:
    """Return the pool of the one manager in a zone."""
    return pool(f"managers-{zone}", 1, "cluster_manager", resources=resources, podTemplate=only_in(zone))


def hot(zone: str, replicas: int, resources: dict[str, Any]) -> dict[str, Any]:
    """Return the pool of the data members in a zone, which know it."""
    config = {"node.attr.zone": zone}
    return pool(
        f"hot-{zone}", replicas, "data", "ingest", resources=resources, config=config, podTemplate=only_in(zone)
    )


def only_in(zone: str) -> dict[str, Any]:
    """Return a pod template for the nodes of a zone."""
    return {"spec": {"nodeSelector": {"topology.kubernetes.io/zone": f"zone-{zone}"}}}


def first(*, secured: bool) -> Wanted:
    """Return what the cluster is at the beginning."""
    return Wanted(SECURED if secured else OLD, secured)


def edited(wanted: Wanted, edit: Edit, member: str) -> Wanted:
    """Return what is wanted after an edit; `member` is replaced, or its zone has one member more or fewer if it may."""
    now = replace(wanted, replaced=())
    changes: dict[Edit, dict[str, Any]] = {
        Edit.NONE: {},
        Edit.CONFIGURATION: {"content_length": now.content_length % 400 + 50},
        Edit.GROW: {"hot": resized(now.hot, 1, zone_of(member))},
        Edit.SHRINK: {"hot": resized(now.hot, -1, zone_of(member))},
        Edit.MEMORY: {"memory": 1 - now.memory},
        Edit.UPGRADE: {} if now.secured else {"version": NEW},
        Edit.WRONG_VERSION: {"version": NO_VERSION},
        Edit.REPLACE: {"replaced": (member,)},
    }
    return replace(now, **changes[edit])


def resized(hot: tuple[int, ...], by: int, zone: str) -> tuple[int, ...]:
    """Return the sizes of the pools with one member more or fewer, in this zone if that is possible."""
    if not LEAST <= sum(hot) + by <= MOST:
        return hot
    possible = [i for i, size in enumerate(hot) if 1 <= size + by <= MOST_OF_A_ZONE]
    chosen = next((i for i in possible if ZONES[i] == zone), possible[0])
    return tuple(size + by if i == chosen else size for i, size in enumerate(hot))
