"""The spec of a FoundationDB cluster: pools of process classes, and settings of the database.

Its status is that of all clusters. A pool is a set of members of one process class; a member is one pod with one volume
and one or more processes, which share both.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from stateward.api.kinds.access.metrics import Metrics
from stateward.api.kinds.cluster import Cluster, ClusterSpec, MemberPool
from stateward.api.kinds.security import TransportSecurity
from stateward.api.kinds.shapes import version


class ProcessClass(StrEnum):
    """What the processes of a pool are for."""

    STORAGE = "storage"
    LOG = "log"
    STATELESS = "stateless"


class Redundancy(StrEnum):
    """How many copies the database keeps of all data."""

    SINGLE = "single"
    DOUBLE = "double"
    TRIPLE = "triple"


class StorageEngine(StrEnum):
    """How processes keep data on their volumes."""

    SSD = "ssd"
    SSD_2 = "ssd-2"
    MEMORY = "memory"
    REDWOOD = "ssd-redwood-1"
    ROCKSDB = "ssd-rocksdb-v1"


class FaultDomain(StrEnum):
    """What fails together, so that no two copies of anything are in it."""

    NODE = "Node"
    MEMBER = "Member"


class ProcessPool(MemberPool, kw_only=True):
    """A set of members with processes of one class and the same template."""

    process_class: Annotated[ProcessClass, Meta(description="The class of the pool's processes.")]
    replicas: Annotated[
        Annotated[int, Meta(ge=0, le=500)] | None,
        Meta(
            description="How many members the pool has. Default: as many as the redundancy mode needs, plus the"
            " number of failures that it tolerates."
        ),
    ] = None
    processes_per_member: Annotated[
        int,
        Meta(description="How many processes run in each pod; they share its volume, and fail together.", ge=1, le=16),
    ] = 1
    knobs: Annotated[
        dict[str, str] | None,
        Meta(description="Knobs of these processes, without `knob_`; they override the cluster's."),
    ] = None


class FoundationDBSpec(ClusterSpec, kw_only=True):
    """What a FoundationDB cluster should be."""

    version: Annotated[str, version("Version of FoundationDB, from 7.1.0 on", "7.1.67")]
    pools: Annotated[
        list[ProcessPool],
        Meta(description="The pools of members.", min_length=1, max_length=50, extra={"map_keys": ["name"]}),
    ]
    redundancy: Annotated[
        Redundancy, Meta(description="How many copies the database keeps of everything: 1, 2 or 3.")
    ] = Redundancy.DOUBLE
    storage_engine: Annotated[
        StorageEngine,
        Meta(description="How processes keep data. It cannot be changed later."),
    ] = StorageEngine.SSD_2
    fault_domain: Annotated[
        FaultDomain,
        Meta(
            description="The fault domain: a Kubernetes node, or (Member, for tests on few nodes) each pod. No"
            " two copies of the same data are in one fault domain."
        ),
    ] = FaultDomain.NODE
    knobs: Annotated[
        dict[str, str] | None,
        Meta(
            description="Knobs of all processes, without `knob_`. A change restarts all processes together, once each"
            " pod has the new ones.",
        ),
    ] = None
    security: Annotated[TransportSecurity | None, Meta(description="TLS between the processes and for clients.")] = None
    metrics: Annotated[
        Metrics | None,
        Meta(
            description="The database's own metrics for Prometheus, from an exporter beside the database. A second"
            " container of its pod, fdbcli, asks the database."
        ),
    ] = None


class FoundationDBCluster(Cluster):
    """A FoundationDB cluster."""

    spec: Annotated[FoundationDBSpec, Meta(description="The desired state of the cluster.")]
    kind: str = "FoundationDBCluster"


COPIES = {Redundancy.SINGLE: 1, Redundancy.DOUBLE: 2, Redundancy.TRIPLE: 3}
"""Copies of everything, by redundancy mode."""

LOGS, STATELESS = 3, 8
"""Log processes, and stateless processes, that the database uses by default: 3 logs; 3 commit proxies, a GRV proxy, a
resolver, the master, the cluster controller, the ratekeeper with the data distributor. From its configuration guide.
"""


def tolerance(spec: FoundationDBSpec) -> int:
    """Return how many failures cost no data."""
    return COPIES[spec.redundancy] - 1


def replicas(spec: FoundationDBSpec, pool: ProcessPool) -> int:
    """Return how many members a pool has.

    By default what the class needs, and as many more as failures are borne: so the loss of those leaves enough to take
    over from them.
    """
    if pool.replicas is not None:
        return pool.replicas
    spare = tolerance(spec)
    if pool.process_class is ProcessClass.STORAGE:
        return 2 * spare + 1
    wanted = LOGS if pool.process_class is ProcessClass.LOG else STATELESS
    return max(-(-wanted // pool.processes_per_member), spare + 1) + spare
