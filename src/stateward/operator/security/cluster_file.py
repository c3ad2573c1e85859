"""Keeps the cluster file of FoundationDB, which grants access to everyone with a copy, in a Secret only.

The Secret is the record of the file. The database changes the file whenever its coordinators change, and only the
database knows the current content. So the operator never makes the file up if it is merely unread, or gone while the
database does not answer: a pod that came back with the first coordinators would look for members that no longer exist,
and would overwrite its own copy.

Earlier versions of the operator kept the file in the status and in a ConfigMap. The status is newer than the Secret,
because only such an operator has written it. The ConfigMap is deleted once a live read shows no pod and no pod template
that mounts it.
"""

from contextlib import suppress
from dataclasses import replace

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.engines.foundationdb.objects.shared import CLUSTER_FILE
from stateward.engines.foundationdb.spec.identity import cluster_file, names_it
from stateward.engines.foundationdb.spec.security import formed
from stateward.kube.client.client import Api, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, key_of
from stateward.operator.databases.foundationdb import uses_config_map
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import FOUNDATIONDB
from stateward.operator.objects.live import read_live
from stateward.operator.objects.ownership import NotOwnedError
from stateward.operator.security.own_secrets import OwnSecrets
from stateward.planning.model.observation import Database, Refusal, Unknown


class ClusterFiles:
    """Reads the cluster files of FoundationDB clusters."""

    def __init__(self, api: Api, caches: Caches) -> None:
        self._own = OwnSecrets(api, caches)

    async def known(self, existing: ClusterObjects) -> ClusterObjects:
        """Return the existing objects with the recorded cluster file; raises ApiError, NotOwnedError: file unknown."""
        cluster = existing.cluster
        if not isinstance(cluster, FoundationDBCluster):
            return existing
        kept = [cluster.status.connection, await self._kept(cluster)]
        found = next((text for text in kept if names_it(cluster, text)), None if formed(cluster) else "")
        return replace(existing, connection=found)

    def forget(self, cluster: Key) -> None:
        """Drop what was read of a cluster that is gone; names that begin alike are only read once more."""
        self._own.forget(cluster)

    async def _kept(self, cluster: FoundationDBCluster) -> str:
        """Return the content of the Secret; empty if a live read shows that it does not exist.

        A Secret of another owner counts as lost once the database was created: what was restored without its labels
        must not keep the status from saying so.
        """
        try:
            found = await self._own.read(cluster_file(cluster), cluster)
        except NotOwnedError:
            if not formed(cluster):
                raise
            return ""
        return (found or {}).get(CLUSTER_FILE, "").strip()


def with_cluster_file(
    existing: ClusterObjects, database: Database | Unknown
) -> tuple[ClusterObjects, tuple[Refusal, ...]]:
    """Return the existing with the database's current cluster file, and the refusals while the file is lost."""
    cluster = existing.cluster
    if not isinstance(cluster, FoundationDBCluster):
        return existing, ()
    if isinstance(database, Database) and database.connection:
        return replace(existing, connection=database.connection), ()
    if existing.connection is not None:
        return existing, ()
    name = cluster_file(cluster)
    text = (
        f"Secret {name} does not hold the cluster file, and the database does not answer: the operator"
        " writes it again as soon as"
        " the database answers; if you restore it, give it the labels"
        f" {names.LABEL_CLUSTER}={cluster.metadata.name} and {names.LABEL_ENGINE}={FOUNDATIONDB.engine}"
        "; a Secret without them is not the operator's, which never writes it: label or delete it"
    )
    return existing, (Refusal("status.connectionSecretName", "ClusterFileLost", text),)


async def delete_config_map(api: Api, caches: Caches, existing: ClusterObjects) -> Key | None:
    """Delete the earlier ConfigMap if a live read shows that no pod mounts it; return it if it existed.

    Raises ApiError.
    """
    cluster = existing.cluster
    if (
        not isinstance(cluster, FoundationDBCluster)
        or existing.connection is None
        or uses_config_map(cluster, existing)
    ):
        return None
    meta, store = cluster.metadata, caches.of(kinds.CONFIG_MAPS)
    found = store.get(Key(meta.namespace, cluster_file(cluster)))
    if found is None or found.metadata.controller_uid != meta.uid or found.metadata.terminating:
        return None
    live = await read_live(api, Key(meta.namespace, meta.name), caches.kind, secrets=False)
    if live.cluster.metadata.uid != meta.uid or uses_config_map(cluster, live):
        return None
    with suppress(NotFound):
        await api.delete(kinds.CONFIG_MAPS, key_of(found), DeleteOptions(Preconditions.of(found)))
    caches.expectations(Key(meta.namespace, meta.name)).deleted(store, found)
    return key_of(found)
