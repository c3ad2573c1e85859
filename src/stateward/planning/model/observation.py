"""The whole state of one cluster at one instant, immutable: a plan follows from nothing else.

Its parts are in `member`, `database` and `desired`, and may be imported from here. Times are seconds since the epoch.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward.planning.model.database import (
    TOO_LARGE,
    Allocation,
    Barrier,
    Copy,
    CopyState,
    Database,
    Duties,
    Health,
    Node,
    Unformed,
    Unit,
    Unknown,
)
from stateward.planning.model.desired import (
    Desired,
    Effect,
    Growth,
    Measure,
    Pool,
    ProtocolSwitch,
    Refusal,
    Replacement,
    Scaling,
    ScalingRule,
    SoleCopy,
    Surge,
)
from stateward.planning.model.member import (
    Changing,
    Claim,
    DiskSample,
    Inputs,
    Member,
    Orphan,
    Pod,
    Record,
    Ref,
    Removal,
    Workload,
)
from stateward.planning.model.phase import Phase
from stateward.planning.model.process import Process, ProcessState
from stateward.planning.model.scaling import Asked, PoolSize
from stateward.planning.model.security import Protection
from stateward.planning.model.snapshots import Restore, Saved, SnapshotGate

__all__ = [
    "TOO_LARGE",
    "Allocation",
    "Asked",
    "Barrier",
    "Bootstrap",
    "Changing",
    "Claim",
    "Copy",
    "CopyState",
    "Database",
    "Desired",
    "DiskSample",
    "Duties",
    "Effect",
    "Growth",
    "Health",
    "Inputs",
    "Measure",
    "Member",
    "Node",
    "Observation",
    "Orphan",
    "Phase",
    "Pod",
    "Pool",
    "PoolSize",
    "Process",
    "ProcessState",
    "ProtocolSwitch",
    "Record",
    "Ref",
    "Refusal",
    "Removal",
    "Replacement",
    "Restore",
    "Saved",
    "Scaling",
    "ScalingRule",
    "Schedule",
    "SnapshotGate",
    "SoleCopy",
    "Surge",
    "Unformed",
    "Unit",
    "Unknown",
    "Workload",
]


class Bootstrap(Struct, frozen=True):
    """The one grant to form the cluster."""

    member: str
    volume: str
    formed: bool
    restored: str = ""
    """The snapshot that the cluster began with, once it is restored; never restored again."""


class Schedule(Struct, frozen=True):
    """A restart that the user has requested on the cluster, of some pools or (none named) of all."""

    phase: str
    pools: tuple[str, ...] = ()


class Observation(Struct, frozen=True):
    """One cluster at one instant."""

    name: str
    namespace: str
    uid: str
    generation: int
    desired: Desired
    members: tuple[Member, ...]
    database: Database | Unknown
    deployed_version: str = ""
    """The version last deployed everywhere, or with which the database was formed; empty before that."""
    records: Mapping[str, Record] = {}
    since: Mapping[str, float] = {}
    """Since when each member has been in the state that the status names."""
    states: Mapping[str, str] = {}
    """The state that the status names for each member: what `since` speaks of."""
    away: Mapping[str, float] = {}
    """Since when each member has not served, through all states in between."""
    missing: Mapping[str, float] = {}
    """Since when each missing member is missing."""
    causes: Mapping[str, str] = {}
    """The cause that the status names for each missing member: what `missing_members` speaks of."""
    removals: Mapping[str, Removal] = {}
    """Members that are replaced, as the status lists them."""
    last_removal: float | None = None
    """When a member was last released, from the status."""
    maintenance_end: float | None = None
    """When the last maintenance of a zone ended, from the status: infinity before that; None if there was none."""
    let_go: frozenset[str] = frozenset()
    """Members that the status records as released: `last_removal` includes them."""
    slots: int | None = None
    """How many automatic replacements the operator's limit leaves to this cluster; None without a limit."""
    protection: Protection | None = None
    """Whether and how the cluster is secured; None if it never was, or if that could not be read."""
    bootstrap: Bootstrap | None = None
    bootstrap_again: bool = False
    """Whether the user accepted a new and empty cluster in place of a lost one."""
    restore: Restore | Unknown | None = None
    """The restore with which the cluster begins; None if there is none, or if none is due."""
    saved: Saved | Unknown | None = None
    """The snapshot before an upgrade; None if nothing asked for it."""
    waits: Mapping[str, float] = {}
    """Since when each thing that the status names waits, by subject and reason with a space between them."""
    changing: Changing | None = None
    """When the data of ConfigMaps and Secrets that the members use last changed; None if it never did."""
    schedule: Schedule | None = None
    apply_pending: bool = False
    """Whether the user agrees that pods of an earlier version of the operator are recreated."""
    stopped: frozenset[str] = frozenset()
    """Members whose processes the user wants kept stopped."""
    orphans: tuple[Orphan, ...] = ()
    disk_samples: Mapping[str, tuple[DiskSample, ...]] = {}
    """By pool: how full its fullest disk was, from the status, the oldest first."""
    sizes: Mapping[str, PoolSize] = {}
    """By pool that scales: the number of members that the status records. `desired` has these numbers already."""
    asked: Mapping[str, Asked] | None = None
    """By pool: the number of members that a PoolScale asks for; None if that could not be read."""
    settled_writes: bool = True
    """Whether every cache has caught up with the operator's own writes; if not, nothing is destroyed."""
    live: bool = False
    """Whether it was read live from the API server for this decision, and not from a cache.

    Planning makes the same plan either way: `Plan.needs_live` requires the plan to be made again from live reads.
    """
