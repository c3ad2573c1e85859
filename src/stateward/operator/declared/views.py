"""The resources of declared kinds, and how they are found by their cluster and by what they claim."""

from collections.abc import Iterable
from typing import Any

from stateward.api.kinds.search_object import SearchObject
from stateward.api.kinds.search_user import SearchUser
from stateward.api.kinds.snapshots.restore import SearchRestore
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.kinds.snapshots.snapshot import SearchSnapshot
from stateward.api.schema.custom_resources import (
    SEARCH_OBJECT,
    SEARCH_RESTORE,
    SEARCH_SNAPSHOT,
    SEARCH_SNAPSHOT_SCHEDULE,
    SEARCH_USER,
)
from stateward.api.values.base import GROUP, VERSION
from stateward.kube.objects.resource import Resource

SEARCH_OBJECTS = Resource(GROUP, VERSION, SEARCH_OBJECT.plural, SEARCH_OBJECT.name, SearchObject)
SEARCH_USERS = Resource(GROUP, VERSION, SEARCH_USER.plural, SEARCH_USER.name, SearchUser)
SEARCH_SNAPSHOTS = Resource(GROUP, VERSION, SEARCH_SNAPSHOT.plural, SEARCH_SNAPSHOT.name, SearchSnapshot)
SEARCH_SNAPSHOT_SCHEDULES = Resource(
    GROUP, VERSION, SEARCH_SNAPSHOT_SCHEDULE.plural, SEARCH_SNAPSHOT_SCHEDULE.name, SearchSnapshotSchedule
)
SEARCH_RESTORES = Resource(GROUP, VERSION, SEARCH_RESTORE.plural, SEARCH_RESTORE.name, SearchRestore)
FINALIZER = f"{GROUP}/in-database"
"""On a resource for a cluster: what it has made in the database is removed, or left on purpose, before it goes."""
BY_CLUSTER, BY_SECRET = "cluster", "secret"


def cluster_id(found: Any) -> str:
    """Return the cluster of a declared resource: namespace, kind and name."""
    return f"{found.metadata.namespace}/{found.spec.cluster.kind}/{found.spec.cluster.name}"


def by_cluster(found: Any) -> Iterable[str]:
    """Index declared resources by their cluster."""
    return (cluster_id(found),)


def by_secret(found: SearchObject) -> Iterable[str]:
    """Index objects by the Secrets that they name: namespace and name."""
    return sorted({f"{found.metadata.namespace}/{value.secret_name}" for value in found.spec.values or ()})


def by_password_secret(found: SearchUser) -> Iterable[str]:
    """Index users by the Secrets whose change matters: the given password, and the one for applications."""
    namespace, name = found.metadata.namespace, found.metadata.name
    given = found.spec.password.secret_name
    own = found.spec.connection_secret_name or f"{name}-connection"
    return [f"{namespace}/{each}" for each in (given, own) if each]


def no_secret(found: object) -> Iterable[str]:  # noqa: ARG001 - the signature of an index
    """Index a kind that names no Secrets."""
    return ()
