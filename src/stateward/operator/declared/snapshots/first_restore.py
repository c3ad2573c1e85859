"""The SearchRestore of a cluster that begins with a snapshot: how it is read, and how it is created."""

from typing import Any

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.snapshots.origin import SnapshotOrigin
from stateward.api.kinds.snapshots.restore import RestorePhase, SearchRestoreStatus
from stateward.api.values import names
from stateward.api.values.base import API_VERSION, Json
from stateward.engines.pods.objects import owner
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import AlreadyExists, ApiError, NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta, WireRecord
from stateward.operator.declared.reporting import stalled_reason
from stateward.operator.declared.views import SEARCH_RESTORES
from stateward.planning.model.observation import Restore, Unknown


class OwnedRestore(WireRecord):
    """A restore with its owners."""

    metadata: ObjectMeta = ObjectMeta()
    status: SearchRestoreStatus = SearchRestoreStatus()


VIEWED = SEARCH_RESTORES.viewed_as(OwnedRestore)


def origin_of(cluster: Cluster) -> SnapshotOrigin | None:
    """Return the snapshot that a cluster begins with; None if it begins empty, or has begun."""
    if not isinstance(cluster, SearchCluster) or cluster.spec.bootstrap is None:
        return None
    recorded = cluster.status.bootstrap
    begun = recorded is not None and bool(recorded.restored_snapshot)
    return None if begun else cluster.spec.bootstrap.from_snapshot


def restore_name(cluster: Cluster) -> str:
    """Return the name of a cluster's first restore."""
    return f"{cluster.metadata.name}-bootstrap"


async def read_first_restore(api: Api, cluster: Cluster) -> Restore | Unknown | None:
    """Return the restore of a cluster that still has to begin, read live; None if it does not exist or is not due.

    What cannot be read is unknown and not an error: it must not delay any other step.
    """
    if origin_of(cluster) is None:
        return None
    key = Key(cluster.metadata.namespace, restore_name(cluster))
    try:
        found = await api.get(VIEWED, key)
    except NotFound:
        return None
    except ApiError as error:
        return Unknown(error.message)
    status = found.status
    return Restore(
        name=key.name,
        ours=found.metadata.controller_uid == cluster.metadata.uid and not found.metadata.terminating,
        done=status.phase == RestorePhase.DONE,
        stalled=bool(stalled_reason(status)),
        message=status.activity,
        snapshot=status.snapshot,
        documents=status.documents or 0,
    )


async def create_first_restore(api: Api, cluster: Cluster) -> None:
    """Create the restore; one that exists is left as it is, and the next reconciliation reads it. Raises ApiError."""
    origin = origin_of(cluster)
    if origin is None:
        return
    try:
        await api.create(SEARCH_RESTORES.raw(), document(cluster, origin), namespace=cluster.metadata.namespace)
    except AlreadyExists:
        return


def document(cluster: Cluster, origin: SnapshotOrigin) -> Json:
    """Return the restore as the API server gets it; it goes with its cluster."""
    chosen: dict[str, Any] = msgspec.to_builtins(origin)
    return {
        "apiVersion": API_VERSION,
        "kind": SEARCH_RESTORES.kind,
        "metadata": {
            "name": restore_name(cluster),
            "labels": {"app.kubernetes.io/managed-by": names.FIELD_MANAGER},
            "ownerReferences": [owner(cluster)],
        },
        "spec": {"cluster": {"kind": cluster.kind, "name": cluster.metadata.name}, **chosen},
    }
