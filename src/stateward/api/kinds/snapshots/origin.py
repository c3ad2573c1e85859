"""The snapshot that a new cluster begins with."""

from typing import Annotated

from msgspec import Meta

from stateward.api.kinds.snapshots.restore import RestoredPattern, SnapshotPattern
from stateward.api.kinds.snapshots.snapshot import MOST_PATTERNS, Repository
from stateward.api.values.base import Record


class SnapshotOrigin(Record):
    """Which snapshot of which repository is restored into a new cluster."""

    repository: Annotated[
        Repository,
        Meta(description="Name of the repository in the database; a SearchObject of this cluster declares it."),
    ]
    snapshot: Annotated[
        SnapshotPattern,
        Meta(
            description="Name of the snapshot, or a pattern such as nightly-*: the newest successful one with such a"
            " name and such indices."
        ),
    ]
    indices: Annotated[
        Annotated[list[RestoredPattern], Meta(max_length=MOST_PATTERNS, min_length=1)] | None,
        Meta(
            description="Indices and data streams of the snapshot, by name or pattern; all if left out. Those whose"
            " name begins with a dot are never restored."
        ),
    ] = None


class Beginning(Record):
    """What a new cluster begins with."""

    from_snapshot: Annotated[
        SnapshotOrigin,
        Meta(description="The operator restores this snapshot when the cluster is formed. It is Ready afterwards."),
    ]
