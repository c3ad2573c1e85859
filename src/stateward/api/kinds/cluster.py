"""The spec of a cluster: the fields that all engines share.

Every field has the description that `kubectl explain` shows. Defaults are those that a careful administrator would
choose. A field that is not set stays unset in the stored object, so that a new default of a later Stateward never looks
like a change by the user.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from stateward.api.kinds.network import NetworkAccess
from stateward.api.kinds.replacement import MembersByHand, ReplacementPolicy
from stateward.api.kinds.shapes import POD_TEMPLATE, RESOURCES, ByteSize
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.base import API_VERSION, Json, Metadata, Record
from stateward.api.values.duration import DURATION, SPAN


class Retention(StrEnum):
    """Whether a volume without a member is kept or deleted."""

    RETAIN = "Retain"
    DELETE = "Delete"


class VolumeShrink(StrEnum):
    """The reaction to volumes that cannot become what the pool asks for."""

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


class Surge(StrEnum):
    """Whether a new member has to join before the member that it replaces leaves."""

    REQUIRED = "Required"
    PREFERRED = "Preferred"


class StorageGrowth(Record):
    """When and how far the operator grows the volumes of a pool."""

    max: Annotated[
        ByteSize,
        Meta(description="Largest size of each member's volume that the operator asks for, for example 500Gi."),
    ]
    when: Annotated[
        str,
        Meta(
            description="How full the fullest disk of the pool is when all its volumes grow: below 85%, the disk"
            " watermark at which OpenSearch and Elasticsearch place no more shards on a node.",
            pattern="^([1-7][0-9]|8[0-4])%$",
            max_length=3,
            extra={"accepts": "must be a percentage from 10% to 84%, for example 80%"},
        ),
    ] = "80%"
    by: Annotated[
        str,
        Meta(
            description="How much larger the volumes become at once, as a percentage of their size.",
            pattern="^([5-9]|[1-9][0-9]|100)%$",
            max_length=4,
            extra={"accepts": "must be a percentage from 5% to 100%, for example 25%"},
        ),
    ] = "25%"


class Storage(Record):
    """The storage of a pool's members."""

    size: Annotated[ByteSize, Meta(description="Size of each member's volume, for example 20Gi.")] = "10Gi"
    storage_class: Annotated[
        Annotated[str, Meta(max_length=253)] | None,
        Meta(description="StorageClass of the volumes. Default: the cluster's default class."),
    ] = None
    ephemeral: Annotated[
        bool,
        Meta(
            description="Keep data in the pod only: it is lost with the pod, so the operator drains members"
            " before restarts."
        ),
    ] = False
    grow: Annotated[
        StorageGrowth | None,
        Meta(
            description="Grow the volumes before they are full. `size` is then the size to begin with. Default:"
            " volumes grow only with `size`."
        ),
    ] = None


class MemberPool(Record, kw_only=True):
    """A set of members with the same template, for any engine."""

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
            description="Volumes of the members. Default: 10Gi of the default class, or no volume for members"
            " without data."
        ),
    ] = None
    resources: Annotated[
        Json | None,
        Meta(
            description="Resource requests and limits of the database container. Default: 2Gi of memory.",
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


class UpdatePolicy(Record):
    """How changes roll over the members."""

    max_unavailable: Annotated[
        int | str,
        Meta(
            description="How many members may be down at once for changes, as a number (1 or more) or a"
            " percentage of all members (1% to 100%). The operator stops fewer members whenever more"
            " would not be safe."
        ),
    ] = 1
    paused: Annotated[bool, Meta(description="Take no new step; steps in progress continue to a safe state.")] = False
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
            description="Before the operator stops a member that holds the only copy of a shard: move that copy"
            " away, wait, or accept that the shard is unavailable in between."
        ),
    ] = SingleCopy.MOVE
    surge: Annotated[
        Surge,
        Meta(
            description="Whether a new member has to join before the member that it replaces leaves. With"
            " Preferred one member of the cluster may leave first if the nodes are full, while all"
            " others serve."
        ),
    ] = Surge.REQUIRED
    wait_between_removals: Annotated[
        Annotated[str, Meta(pattern=DURATION, max_length=20, extra=SPAN)] | None,
        Meta(
            description="How long the operator waits after it removed a member with data or a vote before it"
            " removes the next one, for example 60s; 0s for no wait. Default: 60s with FoundationDB,"
            " 0s with others."
        ),
    ] = None
    in_place: Annotated[
        InPlace,
        Meta(
            description="Whether a change that only needs a new process stops and starts it in its pod, which"
            " keeps address, node and page cache, or recreates the pod. With Never new pods get no"
            " agent."
        ),
    ] = InPlace.PREFERRED


class VolumePolicy(Record):
    """What happens to volumes."""

    when_deleted: Annotated[
        Retention,
        Meta(
            description="Volumes of a deleted cluster. A change takes effect when the cluster is Ready again."
            " Delete applies to the volumes of members; a volume that was kept when its member left"
            " stays."
        ),
    ] = Retention.RETAIN
    when_scaled: Annotated[
        Retention, Meta(description="Volumes of members that were removed after their data had moved away.")
    ] = Retention.RETAIN
    when_shrunk: Annotated[
        VolumeShrink,
        Meta(
            description="The reaction to a smaller size, a larger size that the storage class does not allow, or"
            " another storage class: replace member by member, or refuse."
        ),
    ] = VolumeShrink.REPLACE


class ClusterSpec(Record):
    """The desired state of a cluster, for any engine."""

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
    volumes: Annotated[VolumePolicy | None, Meta(description="What happens to volumes; they are kept by default.")] = (
        None
    )
    replacement: Annotated[
        ReplacementPolicy | None, Meta(description="When the operator replaces failed members automatically.")
    ] = None
    members: Annotated[MembersByHand | None, Meta(description="Requests for single members, by name.")] = None
    network_policy: Annotated[
        NetworkAccess | None,
        Meta(
            description="Clients that may connect to the members, if the operator creates NetworkPolicies"
            " (--network-policies)."
        ),
    ] = None


class Cluster(Record):
    """A cluster of any engine; most of Stateward uses this type."""

    metadata: Metadata
    spec: ClusterSpec
    status: Annotated[
        ClusterStatus, Meta(description="The observed state, the steps in progress, and the pending steps.")
    ] = ClusterStatus()
    api_version: str = API_VERSION
    kind: str = ""
