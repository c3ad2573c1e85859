"""The spec and status of a cluster, as people write and read them.

Every field carries the description that `kubectl explain` shows. Defaults are those a careful operator of the
database would choose; whatever is left out stays out of the stored object, so that a new default of a later Stateward
never looks like a change somebody made.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from stateward.api.base import API_VERSION, Condition, Json, Metadata, Record
from stateward.api.replacement import MembersByHand, RemovalStatus, ReplacementPolicy
from stateward.api.security import Security, SecurityStatus
from stateward.api.settings import OWNED
from stateward.api.shapes import POD_TEMPLATE, QUANTITY, RESOURCES


class Retention(StrEnum):
    """What becomes of a volume whose member is gone."""

    RETAIN = "Retain"
    DELETE = "Delete"


class VolumeShrink(StrEnum):
    """What to do when a pool asks for smaller volumes or another storage class."""

    REPLACE = "Replace"
    REFUSE = "Refuse"


class SingleCopy(StrEnum):
    """What to do before a member goes down that holds the only copy of a shard."""

    MOVE = "Move"
    WAIT = "Wait"
    INTERRUPT = "Interrupt"


class InPlace(StrEnum):
    """Whether a change that only needs a new process keeps the pod."""

    PREFERRED = "Preferred"
    NEVER = "Never"


class ServiceType(StrEnum):
    """How a Service can be reached."""

    CLUSTER_IP = "ClusterIP"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"


class Storage(Record):
    """Where the members of a pool keep their data."""

    size: Annotated[
        str,
        Meta(
            description="Size of each member's volume, for example 20Gi.",
            pattern=QUANTITY,
            max_length=32,
            extra={"accepts": "must be a quantity of bytes, for example 500Mi, 20Gi or 1.5Ti"},
        ),
    ] = "10Gi"
    storage_class: Annotated[
        Annotated[str, Meta(max_length=253)] | None,
        Meta(description="StorageClass of the volumes; the cluster's default class when left out."),
    ] = None
    ephemeral: Annotated[
        bool,
        Meta(description="Keep data in the pod only: it is lost with the pod, so members are drained before restarts."),
    ] = False


class MemberPool(Record, kw_only=True):
    """A set of members with the same template, whatever their engine."""

    name: Annotated[
        str,
        Meta(
            description="Name of the pool, part of its members' names.",
            pattern="^[a-z]([-a-z0-9]*[a-z0-9])?$",
            max_length=30,
            extra={
                "accepts": "must be lower-case letters, digits and dashes, begin with a letter and not end with a dash,"
                " for example hot"
            },
        ),
    ]
    storage: Annotated[
        Storage | None,
        Meta(
            description="Volumes of the members. Left out: 10Gi of the default class, or none where there is no data."
        ),
    ] = None
    resources: Annotated[
        Json | None,
        Meta(
            description="Resource requests and limits of the database container; 2Gi of memory when left out.",
            extra={"shape": RESOURCES},
        ),
    ] = None
    pod_template: Annotated[
        Json | None,
        Meta(
            description="Overrides of the pods (metadata and spec), merged over the cluster's and Stateward's own by"
            " the rules of Kubernetes: lists by name.",
            extra={"shape": POD_TEMPLATE},
        ),
    ] = None


class Pool(MemberPool, kw_only=True):
    """A set of members with the same roles and the same template."""

    replicas: Annotated[int, Meta(description="How many members the pool has.", ge=0, le=500)]
    roles: Annotated[
        Annotated[list[Annotated[str, Meta(min_length=1, max_length=40)]], Meta(max_length=16)] | None,
        Meta(
            description="Roles of the database nodes: cluster_manager (in Elasticsearch master), data, ingest,"
            " remote_cluster_client and others that the version knows. An empty list is a coordinating-only node; left"
            " out means all default roles.",
            extra={"list_type": "set"},
        ),
    ] = None
    config: Annotated[
        Json | None,
        Meta(
            description="Settings of the configuration file (opensearch.yml, elasticsearch.yml) for this pool; they win"
            " over the cluster's.",
            extra={"owned": OWNED},
        ),
    ] = None


class UpdatePolicy(Record):
    """How changes roll over the members."""

    max_unavailable: Annotated[
        int | str,
        Meta(
            description="How many members may be down at once for changes, as a number (1 or more) or a percentage of"
            " all members (1% to 100%). Fewer go down whenever more would not be safe."
        ),
    ] = 1
    paused: Annotated[bool, Meta(description="Take no new step; what was begun is brought to a safe state.")] = False
    order: Annotated[
        Annotated[list[Annotated[str, Meta(max_length=30)]], Meta(max_length=50)] | None,
        Meta(description="Names of pools in the order in which they change, within the safe order by role."),
    ] = None
    min_live_copies: Annotated[
        int, Meta(description="Started copies that every shard keeps while members are down.", ge=1, le=10)
    ] = 1
    single_copy: Annotated[
        SingleCopy,
        Meta(
            description="Before a member goes down that holds the only copy of a shard: move that copy away, wait, or"
            " accept that the shard is unavailable meanwhile."
        ),
    ] = SingleCopy.MOVE
    in_place: Annotated[
        InPlace,
        Meta(
            description="Whether a change that only needs a new process stops and starts it in its pod, which keeps"
            " address, node and page cache, or makes the pod anew. With Never new pods get no agent."
        ),
    ] = InPlace.PREFERRED


class VolumePolicy(Record):
    """What happens to volumes."""

    on_cluster_delete: Annotated[Retention, Meta(description="Volumes of a deleted cluster.")] = Retention.RETAIN
    on_scale_down: Annotated[
        Retention, Meta(description="Volumes of members that were removed after their data had moved away.")
    ] = Retention.RETAIN
    on_shrink: Annotated[
        VolumeShrink, Meta(description="A smaller size or another storage class: replace member by member, or refuse.")
    ] = VolumeShrink.REPLACE


class ServiceTemplate(Record):
    """Overrides of the client Service."""

    type: Annotated[ServiceType, Meta(description="How clients reach the Service.")] = ServiceType.CLUSTER_IP
    labels: Annotated[dict[str, str] | None, Meta(description="Labels added to the Service.")] = None
    annotations: Annotated[dict[str, str] | None, Meta(description="Annotations added to the Service.")] = None
    spec: Annotated[Json | None, Meta(description="Further fields of the Service's spec.")] = None


VERSION_PATTERN = r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$"


class ClusterSpec(Record):
    """What a cluster should be, whatever its engine."""

    version: str
    pools: Sequence[MemberPool]
    image: Annotated[
        Annotated[str, Meta(max_length=512)] | None,
        Meta(
            description="Image to run instead of the official one. Its tag must have the version in it, as 2.19.5-ours"
            " has 2.19.5; with a digest and no tag, the version cannot be changed later.",
        ),
    ] = None
    pod_template: Annotated[
        Json | None,
        Meta(
            description="Overrides of all pods (metadata and spec), merged by the rules of Kubernetes.",
            extra={"shape": POD_TEMPLATE},
        ),
    ] = None
    update: Annotated[UpdatePolicy | None, Meta(description="How changes roll over the members.")] = None
    volumes: Annotated[
        VolumePolicy | None, Meta(description="What happens to volumes; they are kept unless it is said otherwise.")
    ] = None
    replacement: Annotated[
        ReplacementPolicy | None, Meta(description="When members that failed are replaced by themselves.")
    ] = None
    members: Annotated[MembersByHand | None, Meta(description="What is wanted of single members, by name.")] = None


class SearchSpec(ClusterSpec, kw_only=True):
    """What a search cluster should be, whatever its engine."""

    pools: Annotated[
        list[Pool],
        Meta(description="The pools of members.", min_length=1, max_length=50, extra={"map_keys": ["name"]}),
    ]
    config: Annotated[
        Json | None,
        Meta(
            description="Settings of the configuration file (opensearch.yml, elasticsearch.yml) for all pools, as"
            " nested or dotted keys.",
            extra={"owned": OWNED},
        ),
    ] = None
    service: Annotated[ServiceTemplate | None, Meta(description="Overrides of the Service that clients use.")] = None
    security: Annotated[
        Security | None, Meta(description="Who may talk to the database, and by which certificates.")
    ] = None


class MemberCounts(Record):
    """Members that are ready and members that should be."""

    ready: Annotated[int, Meta(description="Members that are ready to serve.")] = 0
    desired: Annotated[int, Meta(description="Members that the spec asks for.")] = 0


class PoolStatus(Record):
    """Where a pool stands."""

    name: Annotated[str, Meta(description="Name of the pool.")]
    ready: Annotated[int, Meta(description="Members of the pool that are ready to serve.")] = 0
    desired: Annotated[int, Meta(description="Members that the spec asks for.")] = 0
    version: Annotated[str, Meta(description="The version that all members of the pool run or may come back with.")] = (
        ""
    )
    upgrade: Annotated[str, Meta(description="Empty, Pending, Upgrading or Upgraded.")] = ""


class MemberStatus(Record):
    """Where a member stands, and why."""

    name: Annotated[str, Meta(description="Name of the member: its StatefulSet and its node in the database.")]
    pool: Annotated[str, Meta(description="The pool that the member belongs to.")] = ""
    state: Annotated[str, Meta(description="What the member is doing.")] = ""
    version: Annotated[str, Meta(description="Newest version with which the member has joined the cluster.")] = ""
    volume: Annotated[str, Meta(description="UID of the volume claim with which it has joined the cluster.")] = ""
    node: Annotated[str, Meta(description="The Kubernetes node that its pod is on.")] = ""
    zone: Annotated[str, Meta(description="The zone of that node.")] = ""
    pending: Annotated[str, Meta(description="The effect that still waits for this member.")] = ""
    reason: Annotated[str, Meta(description="Why the member is in its state, in one sentence.")] = ""
    since: Annotated[str, Meta(description="Since when the member is in its state.")] = ""
    missing_since: Annotated[
        str, Meta(description="Since when the member is missing; empty while it is there or was told to leave.")
    ] = ""
    missing: Annotated[str, Meta(description="Why the member is missing, in one word for programs.")] = ""


class WaitStatus(Record):
    """Something that waits, for what, and since when."""

    subject: Annotated[str, Meta(description="What waits: a member, a pool or the cluster.")]
    reason: Annotated[str, Meta(description="What it waits for, in one word for programs.")]
    message: Annotated[str, Meta(description="What it waits for, in one sentence for people.")]
    since: Annotated[str, Meta(description="Since when it waits.")] = ""


class BootstrapStatus(Record):
    """Which member may form, or has formed, the cluster: granted once in a cluster's life."""

    member: Annotated[str, Meta(description="Name of the member that may form the cluster.")]
    volume: Annotated[
        str, Meta(description="UID of the claim, or of the pod where data is ephemeral, that the grant was given to.")
    ]
    formed: Annotated[bool, Meta(description="The cluster has been formed; it is never formed again.")] = False


class ClusterStatus(Record):
    """What is, what is going on, and what waits."""

    observed_generation: Annotated[
        int, Meta(description="The generation of the resource that this status speaks of.")
    ] = 0
    version: Annotated[str, Meta(description="The version that was last deployed everywhere.")] = ""
    health: Annotated[str, Meta(description="green, yellow, red or unknown, as the database says.")] = ""
    cluster_uuid: Annotated[str, Meta(description="The identity that the database gave itself when it was formed.")] = (
        ""
    )
    connection: Annotated[
        str, Meta(description="How clients find a database without a Service: the cluster file of FoundationDB.")
    ] = ""
    doing: Annotated[str, Meta(description="One sentence: what is going on.")] = ""
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
    conditions: Annotated[
        list[Condition],
        Meta(
            description="Ready, Reconciling and Stalled as kstatus defines them, and Available and Upgrading.",
            extra={"map_keys": ["type"]},
        ),
    ] = field(default_factory=list)
    last_progress: Annotated[
        str, Meta(description="When something last moved forward while changes were going on.")
    ] = ""


class Cluster(Record):
    """A cluster, whatever its engine: what most of Stateward works with."""

    metadata: Metadata
    spec: ClusterSpec
    status: Annotated[ClusterStatus, Meta(description="What is, what is going on, and what waits.")] = ClusterStatus()
    api_version: str = API_VERSION
    kind: str = ""


class SearchCluster(Cluster):
    """A cluster of the search family, whatever its engine."""

    spec: SearchSpec


class OpenSearchSpec(SearchSpec):
    """What an OpenSearch cluster should be."""

    version: Annotated[
        str,
        Meta(
            description="Version of OpenSearch, for example 2.19.5.",
            pattern=VERSION_PATTERN,
            max_length=20,
            extra={"accepts": "must be three numbers with dots between them, for example 2.19.5"},
        ),
    ]


class OpenSearchCluster(SearchCluster):
    """An OpenSearch cluster."""

    spec: Annotated[OpenSearchSpec, Meta(description="What the cluster should be.")]
    kind: str = "OpenSearchCluster"


class ElasticsearchSpec(SearchSpec):
    """What an Elasticsearch cluster should be."""

    version: Annotated[
        str,
        Meta(
            description="Version of Elasticsearch, from 7.17.0 to 8.x, for example 8.19.4.",
            pattern=VERSION_PATTERN,
            max_length=20,
            extra={"accepts": "must be three numbers with dots between them, for example 8.19.4"},
        ),
    ]


class ElasticsearchCluster(SearchCluster):
    """An Elasticsearch cluster."""

    spec: Annotated[ElasticsearchSpec, Meta(description="What the cluster should be.")]
    kind: str = "ElasticsearchCluster"
