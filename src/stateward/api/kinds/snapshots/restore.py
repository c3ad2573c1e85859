"""Indices of a search cluster that are restored once from a snapshot, into the same cluster."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from stateward.api.kinds.search_object import ClusterReference
from stateward.api.kinds.snapshots.snapshot import MOST_PATTERNS, Repository
from stateward.api.values.base import API_VERSION, Condition, Json, Metadata, Record

RestoredPattern = Annotated[
    str,
    Meta(
        pattern=r"""^-?[^-.\s,/\\?"<>|#_+A-Z][^\s,/\\?"<>|#A-Z]*$""",
        max_length=255,
        extra={
            "accepts": "must be an index, a data stream or a pattern such as logs-*, and not begin with a dot: such"
            " indices belong to the database"
        },
    ),
]
SnapshotPattern = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9*][-a-z0-9._*]*$",
        max_length=250,
        extra={
            "accepts": "must be the name of a snapshot, or a pattern such as nightly-*: lower-case letters, digits,"
            " dashes, dots, underscores and stars"
        },
    ),
]


class ExistingIndices(StrEnum):
    """What happens to indices that have the name of a restored one."""

    REFUSE = "Refuse"
    REPLACE = "Replace"


class SearchRestoreSpec(Record):
    """Which indices are restored from which snapshot, and under which names."""

    cluster: Annotated[ClusterReference, Meta(description="The cluster that gets the indices.")]
    repository: Annotated[Repository, Meta(description="Name of the repository in the database.")]
    snapshot: Annotated[
        SnapshotPattern,
        Meta(
            description="Name of the snapshot, or a pattern such as nightly-*: the newest successful one with such a"
            " name."
        ),
    ]
    indices: Annotated[
        Annotated[list[RestoredPattern], Meta(max_length=MOST_PATTERNS)] | None,
        Meta(
            description="Indices and data streams of the snapshot, by name or pattern; all if left out. Those whose"
            " name begins with a dot are never restored."
        ),
    ] = None
    rename_pattern: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^\^?[-a-z0-9_]*(\(\.\+\)[-a-z0-9_]*){0,2}\$?$",
                min_length=1,
                max_length=200,
                extra={
                    "accepts": "must be letters, digits, dashes and underscores with at most two groups (.+), and may"
                    " begin with ^ and end with $: for example (.+) or ^logs-(.+)$"
                },
            ),
        ]
        | None,
        Meta(description="What is replaced in the names: a regular expression, for example (.+)."),
    ] = None
    rename_replacement: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^([-a-z0-9_.]|\$[12])+$",
                max_length=200,
                extra={
                    "accepts": "must be text with $1 and $2 for the groups of renamePattern, for example restored-$1"
                },
            ),
        ]
        | None,
        Meta(description="What it is replaced by; $1 and $2 stand for the groups."),
    ] = None
    include_aliases: Annotated[
        bool | None,
        Meta(description="Whether the indices get their aliases back. Default: yes, unless they are renamed."),
    ] = None
    index_settings: Annotated[
        Json, Meta(description="Settings that the restored indices get, for example index.number_of_replicas: 0.")
    ] = field(default_factory=dict)
    ignore_index_settings: Annotated[
        Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=100)] | None,
        Meta(description="Settings that the restored indices do not get back."),
    ] = None
    existing: Annotated[
        ExistingIndices,
        Meta(
            description="What happens if an index of that name exists. Refuse: nothing is restored. Replace: it is"
            " closed, and its data is lost."
        ),
    ] = ExistingIndices.REFUSE


class RestorePhase(StrEnum):
    """How far a restore came; each is written before its first request that changes the database."""

    CLOSING = "Closing"
    """Indices that are replaced are being closed."""
    STARTING = "Starting"
    RESTORING = "Restoring"
    DONE = "Done"
    REFUSED = "Refused"
    """The database refused the restore, or another client opened an index before; what had been closed is open."""


class RestoredIndex(Record):
    """One restored index or data stream."""

    source: Annotated[str, Meta(description="Its name in the snapshot.")]
    name: Annotated[str, Meta(description="Its name in the cluster.")]
    data_stream: Annotated[bool, Meta(description="Whether it is a data stream.")] = False
    replaced: Annotated[bool, Meta(description="Whether it replaces an index.")] = False
    closed: Annotated[bool, Meta(description="Whether the operator closes that index.")] = False
    history: Annotated[str, Meta(description="The history of the replaced index, as the database calls it.")] = ""
    documents: Annotated[int | None, Meta(description="Documents in it after the restore.")] = None


class SearchRestoreStatus(Record):
    """What is known of the restore."""

    observed_generation: Annotated[int, Meta(description="The generation that this status describes.")] = 0
    phase: Annotated[
        str, Meta(description="Closing, Starting, Restoring, Done or Refused; empty before anything has begun.")
    ] = ""
    cluster_uuid: Annotated[str, Meta(description="Identity of the database that this status is about.")] = field(
        default="", name="clusterUUID"
    )
    snapshot: Annotated[str, Meta(description="The snapshot that is restored.")] = ""
    snapshot_uuid: Annotated[str, Meta(description="Its identity in the repository.")] = field(
        default="", name="snapshotUUID"
    )
    snapshot_time: Annotated[str, Meta(description="When the snapshot was finished.")] = ""
    start_time: Annotated[str, Meta(description="When the operator started the restore.")] = ""
    completion_time: Annotated[str, Meta(description="When all primaries were restored.")] = ""
    indices: Annotated[
        list[RestoredIndex], Meta(description="What is restored, with the number of documents in the end.")
    ] = field(default_factory=list)
    documents: Annotated[int | None, Meta(description="Documents in all restored indices.")] = None
    recovered_bytes: Annotated[int | None, Meta(description="Bytes that are restored so far.")] = None
    total_bytes: Annotated[int | None, Meta(description="Bytes of the shards that have begun to be restored.")] = None
    activity: Annotated[str, Meta(description="One sentence: what is in progress, or why it waits.")] = ""
    conditions: Annotated[
        list[Condition],
        Meta(description="Ready, Reconciling and Stalled as kstatus defines them.", extra={"map_keys": ["type"]}),
    ] = field(default_factory=list)


class SearchRestore(Record):
    """Indices that are restored once from a snapshot."""

    metadata: Metadata
    spec: Annotated[SearchRestoreSpec, Meta(description="The desired state.")]
    status: Annotated[SearchRestoreStatus, Meta(description="What is known of the restore.")] = SearchRestoreStatus()
    api_version: str = API_VERSION
    kind: str = "SearchRestore"
