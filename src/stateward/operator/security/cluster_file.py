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
from stateward.engines.foundationdb.objects.shared import CLUSTER_FILE
from stateward.engines.foundationdb.spec.identity import cluster_file, names_it
from stateward.engines.foundationdb.spec.security import formed
from stateward.kube.client.client import Api, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, key_of
from stateward.operator.databases.foundationdb import mapped
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import Holdings
from stateward.operator.objects.live import read_live
from stateward.operator.objects.ownership import exists
from stateward.operator.security.given_secrets import decoded
from stateward.planning.model.observation import Database, Refusal, Unknown

RAW_SECRETS = kinds.SECRETS.raw()


class ClusterFiles:
    """Reads the cluster files of FoundationDB clusters."""

    def __init__(self, api: Api, caches: Caches) -> None:
        self._api = api
        self._caches = caches
        self._read: dict[Key, tuple[str, str]] = {}
        """By Secret: the version that was read, and the file in it."""

    async def known(self, holdings: Holdings) -> Holdings:
        """Return the holdings with the recorded cluster file; raises ApiError, NotOurs: then the file is unknown."""
        cluster = holdings.cluster
        if not isinstance(cluster, FoundationDBCluster):
            return holdings
        kept = [cluster.status.connection, await self._kept(cluster)]
        found = next((text for text in kept if names_it(cluster, text)), None if formed(cluster) else "")
        return replace(holdings, connection=found)

    def forget(self, cluster: Key) -> None:
        """Drop what was read of a cluster that is gone; names that begin alike are only read once more."""
        for key in [k for k in self._read if k.namespace == cluster.namespace and k.name.startswith(cluster.name)]:
            del self._read[key]

    async def _kept(self, cluster: FoundationDBCluster) -> str:
        """Return the content of the Secret; empty if a live read shows that it does not exist."""
        key = Key(cluster.metadata.namespace, cluster_file(cluster))
        cached, known = self._caches.of(kinds.SECRETS).get(key), self._read.get(key)
        if cached is not None and known is not None and known[0] == cached.metadata.resource_version:
            return known[1]
        if not await exists(self._api, kinds.SECRETS, key, cluster):
            return ""
        try:
            found = await self._api.get(RAW_SECRETS, key)
        except NotFound:
            return ""
        self._read[key] = (found["metadata"]["resourceVersion"], decoded(found).get(CLUSTER_FILE, "").strip())
        return self._read[key][1]


def told(holdings: Holdings, database: Database | Unknown) -> tuple[Holdings, tuple[Refusal, ...]]:
    """Return the holdings with the database's current cluster file, and the refusals while the file is lost."""
    cluster = holdings.cluster
    if not isinstance(cluster, FoundationDBCluster):
        return holdings, ()
    if isinstance(database, Database) and database.connection:
        return replace(holdings, connection=database.connection), ()
    if holdings.connection is not None:
        return holdings, ()
    name = cluster_file(cluster)
    text = (
        f"Secret {name} does not hold the cluster file, and the database does not answer: the operator"
        " writes it again as soon as"
        " the database answers"
    )
    return holdings, (Refusal("status.connectionSecretName", "ClusterFileLost", text),)


async def retired(api: Api, caches: Caches, holdings: Holdings) -> Key | None:
    """Delete the earlier ConfigMap if a live read shows that no pod mounts it; return it if it existed.

    Raises ApiError.
    """
    cluster = holdings.cluster
    if not isinstance(cluster, FoundationDBCluster) or holdings.connection is None or mapped(cluster, holdings):
        return None
    meta, store = cluster.metadata, caches.of(kinds.CONFIG_MAPS)
    found = store.get(Key(meta.namespace, cluster_file(cluster)))
    if found is None or found.metadata.controller_uid != meta.uid or found.metadata.terminating:
        return None
    live = await read_live(api, Key(meta.namespace, meta.name), caches.kind, secrets=False)
    if live.cluster.metadata.uid != meta.uid or mapped(cluster, live):
        return None
    with suppress(NotFound):
        await api.delete(kinds.CONFIG_MAPS, key_of(found), DeleteOptions(Preconditions.of(found)))
    caches.expectations(Key(meta.namespace, meta.name)).deleted(store, found)
    return key_of(found)
