"""The status of a cluster, as people read it: what is, what is going on, and what waits."""

from typing import Annotated

from msgspec import Meta, field

from stateward.api.kinds.access.dashboards import DashboardsStatus
from stateward.api.kinds.access.metrics import MetricsStatus
from stateward.api.kinds.access.remote import RemoteAccessStatus, RemoteClusterStatus
from stateward.api.kinds.access.routes import RoutesStatus
from stateward.api.kinds.replacement import RemovalStatus
from stateward.api.kinds.scaling.limits import ScalingStatus
from stateward.api.kinds.security import SecurityStatus
from stateward.api.values.base import Condition, Record


class MemberCounts(Record):
    """Members that are ready and members that should be."""

    ready: Annotated[int, Meta(description="Members that are ready to serve.")] = 0
    desired: Annotated[int, Meta(description="Members that the spec asks for.")] = 0


class DiskSample(Record):
    """How full the fullest disk of a pool was at a time."""

    time: Annotated[str, Meta(description="When it was measured.")]
    used_bytes: Annotated[int, Meta(description="Used bytes of the disk.")]


class DiskStatus(Record):
    """How full the disks of a pool are, and when they will be full; only for pools with storage.grow."""

    used_percent: Annotated[int, Meta(description="How full the fullest disk of the pool is, in percent.")] = 0
    member: Annotated[str, Meta(description="The member with that disk.")] = ""
    volume_size: Annotated[
        str, Meta(description="The size that each volume of the pool has, or that the operator asks for.")
    ] = ""
    full_time: Annotated[
        str,
        Meta(
            description="When that disk will be full at its present rate, with its volume as large as it may become."
            " Empty if that is not known, more than a year away, or if the disk does not fill."
        ),
    ] = ""
    samples: Annotated[
        list[DiskSample], Meta(description="What the rate is computed from: at most 24 measurements of a week.")
    ] = field(default_factory=list)


class PoolStatus(Record):
    """The state of a pool."""

    name: Annotated[str, Meta(description="Name of the pool.")]
    ready: Annotated[int, Meta(description="Members of the pool that are ready to serve.")] = 0
    desired: Annotated[int, Meta(description="Members that the spec asks for.")] = 0
    version: Annotated[str, Meta(description="The version that all members of the pool run or may come back with.")] = (
        ""
    )
    upgrade: Annotated[str, Meta(description="Empty, Pending, Upgrading or Upgraded.")] = ""
    disk: Annotated[
        DiskStatus | None,
        Meta(description="How full the disks are, and when they will be full; only with storage.grow."),
    ] = None
    scaling: Annotated[
        ScalingStatus | None, Meta(description="How many members the pool should have now, and why; only with scaling.")
    ] = None


class MemberStatus(Record):
    """The state of a member, and its reason."""

    name: Annotated[str, Meta(description="Name of the member: its StatefulSet and its node in the database.")]
    pool: Annotated[str, Meta(description="The pool that the member belongs to.")] = ""
    state: Annotated[str, Meta(description="What the member is doing.")] = ""
    version: Annotated[str, Meta(description="Newest version with which the member has joined the cluster.")] = ""
    volume: Annotated[str, Meta(description="UID of the volume claim with which it has joined the cluster.")] = ""
    pod: Annotated[
        str, Meta(description="UID of the pod with which it has joined the cluster, if the pod keeps its data itself.")
    ] = ""
    node: Annotated[str, Meta(description="The Kubernetes node that its pod is on.")] = ""
    zone: Annotated[str, Meta(description="The zone of that node.")] = ""
    address: Annotated[str, Meta(description="The address at which its process was last in the cluster.")] = ""
    pending: Annotated[str, Meta(description="The effect that still waits for this member.")] = ""
    reason: Annotated[str, Meta(description="Why the member is in its state, in one sentence.")] = ""
    last_transition_time: Annotated[str, Meta(description="Since when the member is in its state.")] = ""
    not_serving_since_time: Annotated[
        str,
        Meta(description="Since when the member does not serve; empty while it does, or a person keeps it stopped."),
    ] = ""
    absence: Annotated[
        str,
        Meta(
            description="Planned while a step of the operator takes the member down or it has not joined yet, and"
            " nothing has gone wrong; Unplanned while it does not serve for another reason; otherwise empty."
        ),
    ] = ""
    missing_since_time: Annotated[
        str, Meta(description="Since when the member is missing; empty while it is there, or while it leaves.")
    ] = ""
    missing_reason: Annotated[str, Meta(description="Why the member is missing, in one word for programs.")] = ""


class WaitStatus(Record):
    """Something that waits, for what, and since when."""

    subject: Annotated[str, Meta(description="What waits: a member, a pool or the cluster.")]
    reason: Annotated[str, Meta(description="What it waits for, in one word for programs.")]
    message: Annotated[str, Meta(description="What it waits for, in one sentence for people.")]
    since_time: Annotated[str, Meta(description="Since when it waits.")] = ""


class BootstrapStatus(Record):
    """Which member may form, or has formed, the cluster: granted once in a cluster's life."""

    member: Annotated[str, Meta(description="Name of the member that may form the cluster.")]
    volume: Annotated[
        str, Meta(description="UID of the claim, or of the pod if data is ephemeral, with the grant; empty before.")
    ]
    formed: Annotated[bool, Meta(description="The cluster has been formed; it is never formed again.")] = False
    restored_snapshot: Annotated[
        str, Meta(description="The snapshot that the cluster began with, once it is restored.")
    ] = ""
    restored_documents: Annotated[int, Meta(description="Documents that were restored from it.")] = 0


class MaintenanceStatus(Record):
    """The zone of the database in maintenance, or the last one."""

    zone: Annotated[str, Meta(description="The fault domain whose members may be down without being replaced.")]
    end_time: Annotated[
        str, Meta(description="When its end was noticed: losses count from then on. Absent while it lasts.")
    ] = ""


class DataChangeStatus(Record):
    """When the data that the members use last changed; changes that come together are one restart."""

    first_time: Annotated[str, Meta(description="When the last changes began.")] = ""
    last_time: Annotated[str, Meta(description="When the last of them came.")] = ""


class ForecastStatus(Record):
    """How long the change in progress takes without failures, as forecast from the state in which it began."""

    start_time: Annotated[str, Meta(description="When the change began, or was last edited.")]
    change: Annotated[
        str, Meta(description="create, upgrade, replace, scale, restart, grow or other; empty while it is not known.")
    ] = ""
    duration_seconds: Annotated[
        int | None, Meta(description="The forecast duration from then on; absent if it is not known.")
    ] = None


class ClusterStatus(Record):
    """What is, what is going on, and what waits."""

    observed_generation: Annotated[
        int, Meta(description="The generation of the resource that this status describes.")
    ] = 0
    version: Annotated[
        str,
        Meta(description="The version that was last deployed everywhere; at first, the one that formed the database."),
    ] = ""
    health: Annotated[str, Meta(description="green, yellow, red or unknown, as the database reports.")] = ""
    cluster_uuid: Annotated[str, Meta(description="The identity that the database gave itself when it was formed.")] = (
        field(default="", name="clusterUUID")
    )
    connection: Annotated[
        str,
        Meta(
            description="Always empty. Earlier versions kept FoundationDB's cluster file here; it is in a Secret now."
        ),
    ] = ""
    connection_secret_name: Annotated[
        str,
        Meta(
            description="Secret with what clients need to find a database without a Service and to get in: the cluster"
            " file of FoundationDB, as fdb.cluster."
        ),
    ] = ""
    activity: Annotated[str, Meta(description="One sentence: what is in progress.")] = ""
    members: Annotated[MemberCounts, Meta(description="Ready and desired members of all pools.")] = MemberCounts()
    ready: Annotated[str, Meta(description="Ready and desired members, as shown by kubectl get.")] = ""
    bootstrap: Annotated[
        BootstrapStatus | None, Meta(description="Which member may form, or has formed, the cluster.")
    ] = None
    security: Annotated[
        SecurityStatus | None, Meta(description="Whether the cluster is secured, by what, and until when.")
    ] = None
    pools: Annotated[list[PoolStatus], Meta(description="Where each pool stands.", extra={"map_keys": ["name"]})] = (
        field(default_factory=list)
    )
    member_states: Annotated[
        list[MemberStatus], Meta(description="Where each member stands, and why.", extra={"map_keys": ["name"]})
    ] = field(default_factory=list)
    waiting: Annotated[list[WaitStatus], Meta(description="What waits, for what, and since when.")] = field(
        default_factory=list
    )
    pending_removals: Annotated[
        list[RemovalStatus],
        Meta(
            description="Members that are replaced or leave. They do not count towards the size of their pools.",
            extra={"map_keys": ["name"]},
        ),
    ] = field(default_factory=list)
    outdated_pods: Annotated[
        int,
        Meta(
            description="Pods that an earlier version of Stateward made. Each is renewed when it is next recreated"
            " for a change, or by the annotation stateward.dev/apply-pending; the cluster is Ready with them."
        ),
    ] = 0
    conditions: Annotated[
        list[Condition],
        Meta(
            description="Ready, Reconciling and Stalled as kstatus defines them, and Available and Upgrading.",
            extra={"map_keys": ["type"]},
        ),
    ] = field(default_factory=list)
    data_digests: Annotated[
        dict[str, str] | None,
        Meta(
            description="Keyed digests of what the members use of ConfigMaps and Secrets, by Kind/name:key; they say"
            " nothing about the data."
        ),
    ] = None
    data_change: Annotated[
        DataChangeStatus | None,
        Meta(description="When that data last changed: members begin to restart for it when it has settled."),
    ] = None
    forecast: Annotated[
        ForecastStatus | None,
        Meta(description="How long the change in progress takes; absent once the cluster matches its spec."),
    ] = None
    dashboards: Annotated[
        DashboardsStatus | None,
        Meta(description="Where OpenSearch Dashboards or Kibana stand; also while what is left of them is removed."),
    ] = None
    metrics: Annotated[
        MetricsStatus | None,
        Meta(description="Where the exporter of metrics stands; also while what is left of it is removed."),
    ] = None
    routes: Annotated[RoutesStatus | None, Meta(description="The routes to the database and to its dashboards.")] = None
    remote_clusters: Annotated[
        list[RemoteClusterStatus] | None,
        Meta(
            description="Where each remote cluster stands; also while what is left of one is removed.",
            extra={"map_keys": ["name"]},
        ),
    ] = None
    remote_access: Annotated[
        RemoteAccessStatus | None, Meta(description="Where other clusters reach the members of a search cluster.")
    ] = None
    maintenance: Annotated[
        MaintenanceStatus | None, Meta(description="The zone of FoundationDB in maintenance, or the last one.")
    ] = None
    last_removal_time: Annotated[
        str,
        Meta(
            description="When a member with data or a vote was last removed; update.waitBetweenRemovals counts from"
            " then."
        ),
    ] = ""
    last_progress_time: Annotated[
        str, Meta(description="When something last moved forward while changes were going on.")
    ] = ""
