"""The spec and status of a search cluster, as people write and read them.

Every field carries the description that `kubectl explain` shows. Defaults are those a careful operator of the
database would choose; whatever is left out stays out of the stored object, so that a new default of a later Stateward
never looks like a change somebody made.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from stateward.api.base import Condition, Json, Metadata, Record


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


class Storage(Record):
    """Where the members of a pool keep their data."""

    size: Annotated[str, Meta(description="Size of each member's volume, for example 20Gi.")] = "10Gi"
    storage_class: Annotated[
        str | None, Meta(description="StorageClass of the volumes; the cluster's default class when left out.")
    ] = None
    ephemeral: Annotated[
        bool,
        Meta(
            description="Keep data in the pod only: it is lost with the pod, so members are drained before they restart."
        ),
    ] = False


class Pool(Record):
    """A set of members with the same roles and the same template."""

    name: Annotated[
        str,
        Meta(
            description="Name of the pool, part of its members' names.",
            pattern="^[a-z]([-a-z0-9]*[a-z0-9])?$",
            max_length=30,
        ),
    ]
    replicas: Annotated[int, Meta(description="How many members the pool has.", ge=0, le=500)]
    roles: Annotated[
        list[str] | None,
        Meta(
            description="Roles of the database nodes. An empty list is a coordinating-only node; left out means all default roles."
        ),
    ] = None
    storage: Annotated[
        Storage | None, Meta(description="Volumes of the members; 10Gi of the default class when left out.")
    ] = None
    resources: Annotated[Json | None, Meta(description="Resource requests and limits of the database container.")] = (
        None
    )
    config: Annotated[
        Json | None, Meta(description="Settings of the configuration file for this pool; they win over the cluster's.")
    ] = None
    pod_template: Annotated[
        Json | None,
        Meta(
            description="Overrides of the pods (metadata and spec), merged over the cluster's and Stateward's own by the rules of Kubernetes: lists by name."
        ),
    ] = None


class UpdatePolicy(Record):
    """How changes roll over the members."""

    max_unavailable: Annotated[
        int | str,
        Meta(
            description="How many members may be down at once for changes, as a number or a percentage of all members. Fewer go down whenever more would not be safe."
        ),
    ] = 1
    paused: Annotated[bool, Meta(description="Take no new step; what was begun is brought to a safe state.")] = False
    order: Annotated[
        list[str] | None,
        Meta(description="Names of pools in the order in which they change, within the safe order by role."),
    ] = None
    min_live_copies: Annotated[
        int, Meta(description="Started copies that every shard keeps while members are down.", ge=1, le=10)
    ] = 1
    single_copy: Annotated[
        SingleCopy,
        Meta(
            description="Before a member goes down that holds the only copy of a shard: move that copy away, wait, or accept that the shard is unavailable meanwhile."
        ),
    ] = SingleCopy.MOVE


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

    type: Annotated[str, Meta(description="Type of the Service: ClusterIP, NodePort or LoadBalancer.")] = "ClusterIP"
    labels: Annotated[dict[str, str] | None, Meta(description="Labels added to the Service.")] = None
    annotations: Annotated[dict[str, str] | None, Meta(description="Annotations added to the Service.")] = None
    spec: Annotated[Json | None, Meta(description="Further fields of the Service's spec.")] = None


class OpenSearchSpec(Record):
    """What an OpenSearch cluster should be."""

    version: Annotated[
        str, Meta(description="Version of OpenSearch, for example 2.19.5.", pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")
    ]
    pools: Annotated[list[Pool], Meta(description="The pools of members.", min_length=1, max_length=50)]
    image: Annotated[
        str | None,
        Meta(description="Image to run instead of the official one; its tag or digest must be that of the version."),
    ] = None
    config: Annotated[
        Json | None, Meta(description="Settings of opensearch.yml for all pools, as nested or dotted keys.")
    ] = None
    pod_template: Annotated[
        Json | None, Meta(description="Overrides of all pods (metadata and spec), merged by the rules of Kubernetes.")
    ] = None
    update: Annotated[UpdatePolicy | None, Meta(description="How changes roll over the members.")] = None
    volumes: Annotated[
        VolumePolicy | None, Meta(description="What happens to volumes; they are kept unless it is said otherwise.")
    ] = None
    service: Annotated[ServiceTemplate | None, Meta(description="Overrides of the Service that clients use.")] = None


class MemberCounts(Record):
    """Members that are ready and members that should be."""

    ready: int = 0
    desired: int = 0


class PoolStatus(Record):
    """Where a pool stands."""

    name: str
    ready: int = 0
    desired: int = 0
    version: str = ""
    upgrade: Annotated[str, Meta(description="Empty, Pending, Upgrading or Upgraded.")] = ""


class MemberStatus(Record):
    """Where a member stands, and why."""

    name: str
    pool: str = ""
    state: str = ""
    version: Annotated[str, Meta(description="Newest version with which the member has joined the cluster.")] = ""
    node: str = ""
    zone: str = ""
    pending: Annotated[str, Meta(description="The effect that still waits for this member.")] = ""
    reason: str = ""
    since: str = ""


class WaitStatus(Record):
    """Something that waits, for what, and since when."""

    subject: str
    reason: str
    message: str
    since: str = ""


class BootstrapStatus(Record):
    """Which member may form, or has formed, the cluster: granted once in a cluster's life."""

    member: str
    volume: Annotated[
        str, Meta(description="UID of the claim, or of the pod where data is ephemeral, that the grant was given to.")
    ]
    formed: bool = False


class ClusterStatus(Record):
    """What is, what is going on, and what waits."""

    observed_generation: int = 0
    version: Annotated[str, Meta(description="The version that was last deployed everywhere.")] = ""
    health: Annotated[str, Meta(description="green, yellow, red or unknown, as the database says.")] = ""
    cluster_uuid: Annotated[str, Meta(description="The identity that the database gave itself when it was formed.")] = (
        ""
    )
    doing: Annotated[str, Meta(description="One sentence: what is going on.")] = ""
    members: MemberCounts = MemberCounts()
    ready: Annotated[str, Meta(description="Ready and desired members, as shown by kubectl get.")] = ""
    bootstrap: BootstrapStatus | None = None
    pools: list[PoolStatus] = []
    member_states: list[MemberStatus] = []
    waiting: list[WaitStatus] = []
    conditions: list[Condition] = []
    last_progress: Annotated[
        str, Meta(description="When something last moved forward while changes were going on.")
    ] = ""


class OpenSearchCluster(Record):
    """An OpenSearch cluster."""

    metadata: Metadata
    spec: OpenSearchSpec
    status: ClusterStatus = ClusterStatus()
    api_version: str = "stateward.dev/v1alpha1"
    kind: str = "OpenSearchCluster"
