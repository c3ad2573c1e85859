"""One snapshot of a search cluster, taken once, and the names that all kinds about snapshots share."""

from typing import Annotated

from msgspec import Meta, field

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search_object import ClusterReference
from stateward.api.values.base import API_VERSION, Condition, Metadata, Record

MOST_PATTERNS = 100
"""Patterns in one list."""
_OTHERS = r"""[^\s,/\\?"<>|#A-Z]*$"""
Repository = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][-A-Za-z0-9._]*$",
        max_length=200,
        extra={"accepts": "must be the name of a repository: letters, digits, dashes, dots and underscores"},
    ),
]
SnapshotName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][-a-z0-9._]*$",
        max_length=250,
        extra={"accepts": "must be the name of a snapshot: lower-case letters, digits, dashes, dots and underscores"},
    ),
]
IndexPattern = Annotated[
    str,
    Meta(
        pattern=rf"""^-?[^-\s,/\\?"<>|#_+A-Z]{_OTHERS}""",
        max_length=255,
        extra={"accepts": "must be an index, a data stream or a pattern such as logs-*, or one to leave out: -logs-x*"},
    ),
]
Patterns = Annotated[list[IndexPattern], Meta(max_length=MOST_PATTERNS)]


class SnapshotContent(Record, kw_only=True):
    """What is in a snapshot, and where it is stored."""

    cluster: Annotated[ClusterReference, Meta(description="The cluster whose data is saved.")]
    repository: Annotated[Repository, Meta(description="Name of the repository in the database.")]
    indices: Annotated[
        Patterns | None,
        Meta(
            description="Indices and data streams, by name or pattern. Default: all but indices whose name begins with"
            " a dot, which belong to the database."
        ),
    ] = None
    include_global_state: Annotated[
        bool, Meta(description="Whether templates, policies and persistent settings of the cluster are saved too.")
    ] = False
    partial: Annotated[
        bool,
        Meta(description="Whether indices without all primaries are saved as far as they go; else the snapshot fails."),
    ] = False


class SearchSnapshotSpec(SnapshotContent, kw_only=True):
    """What is in the snapshot, its name, and what becomes of it without its resource."""

    snapshot: Annotated[
        SnapshotName | None, Meta(description="Name of the snapshot; the name of this resource if left out.")
    ] = None
    deletion_policy: Annotated[
        Retention, Meta(description="Whether the snapshot is deleted in the repository with this resource.")
    ] = Retention.RETAIN


class SnapshotShards(Record):
    """The shards of a snapshot."""

    total: Annotated[int, Meta(description="All shards.")] = 0
    successful: Annotated[int, Meta(description="Shards that are saved.")] = 0
    failed: Annotated[int, Meta(description="Shards that are not saved.")] = 0


class SearchSnapshotStatus(Record):
    """What is known of the snapshot."""

    observed_generation: Annotated[int, Meta(description="The generation that this status describes.")] = 0
    snapshot: Annotated[str, Meta(description="The snapshot in the repository.")] = ""
    claim: Annotated[
        str, Meta(description="Creating before the snapshot is started, then Owned; empty if it is not ours.")
    ] = ""
    cluster_uuid: Annotated[str, Meta(description="Identity of the database that the claim is about.")] = field(
        default="", name="clusterUUID"
    )
    state: Annotated[
        str, Meta(description="What the database says: IN_PROGRESS, SUCCESS, PARTIAL, FAILED or INCOMPATIBLE.")
    ] = ""
    version: Annotated[str, Meta(description="The version of the database that took it.")] = ""
    start_time: Annotated[str, Meta(description="When the database began it.")] = ""
    end_time: Annotated[str, Meta(description="When the database finished it.")] = ""
    size_bytes: Annotated[
        int | None, Meta(description="Bytes of all files that the snapshot needs; other snapshots may share them.")
    ] = None
    indices: Annotated[int, Meta(description="Number of indices in it.")] = 0
    shards: Annotated[SnapshotShards | None, Meta(description="Its shards, once it is finished.")] = None
    failures: Annotated[
        list[str] | None, Meta(description="Why shards are not saved: the first reasons of the database.")
    ] = None
    activity: Annotated[str, Meta(description="One sentence: what is in progress, or why it waits.")] = ""
    conditions: Annotated[
        list[Condition],
        Meta(description="Ready, Reconciling and Stalled as kstatus defines them.", extra={"map_keys": ["type"]}),
    ] = field(default_factory=list)


class SearchSnapshot(Record):
    """One snapshot of a search cluster."""

    metadata: Metadata
    spec: Annotated[SearchSnapshotSpec, Meta(description="The desired state.")]
    status: Annotated[SearchSnapshotStatus, Meta(description="What is known of the snapshot.")] = SearchSnapshotStatus()
    api_version: str = API_VERSION
    kind: str = "SearchSnapshot"
