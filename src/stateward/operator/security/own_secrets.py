"""The Secrets that the operator creates for a cluster: reads them live after a change of the cache, and writes.

Caches hold Secrets as metadata only. Contents stay in this module; they are in no log, event, status or plan.
"""

import base64
from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.engines.pods.objects import owner
from stateward.kube.client.client import Api, ApplyOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.secret_content import text_content
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.copied_secrets import SUFFIXES, mark
from stateward.operator.objects.kinds import kind_of
from stateward.operator.objects.ownership import key_in, own_secret
from stateward.operator.security.material import Files

RAW_SECRETS = kinds.SECRETS.raw()


class OwnSecrets:
    """Reads and writes the Secrets of clusters of one kind."""

    def __init__(self, api: Api, caches: Caches) -> None:
        self._api = api
        self._caches = caches
        self._read: dict[Key, tuple[tuple[str, str], Files]] = {}
        """By Secret: the UID of the cluster for which its owner was checked, its version, and its content."""

    async def read(self, name: str, cluster: Cluster) -> Files | None:
        """Return the content of a Secret; None if a live read shows that it does not exist.

        Raises ApiError, NotOwnedError. The disaster this prevents: a cluster is deleted and created again between two
        looks, and takes the certificates of the earlier one, whose Secrets are just being deleted.
        """
        key = Key(cluster.metadata.namespace, name)
        cached = self._caches.of(kinds.SECRETS).get(key)
        known = self._read.get(key)
        version = None if cached is None else (cluster.metadata.uid, cached.metadata.resource_version)
        if known is not None and known[0] == version:
            return known[1]
        found = await own_secret(self._api, key, cluster)
        if found is None:
            return None
        self._read[key] = ((cluster.metadata.uid, found["metadata"]["resourceVersion"]), text_content(found))
        return self._read[key][1]

    async def apply(self, cluster: Cluster, name: str, files: Files) -> None:
        """Write one; raises ApiError."""
        body = secret(cluster, name, files)
        options = ApplyOptions(manager=names.FIELD_MANAGER, force=True)
        written = await self._api.apply(kinds.SECRETS, key_in(body), body, options)
        key = Key(cluster.metadata.namespace, cluster.metadata.name)
        self._caches.expectations(key).wrote(self._caches.of(kinds.SECRETS), written)
        self._read[key_in(body)] = ((cluster.metadata.uid, written.metadata.resource_version), files)

    def forget(self, cluster: Key) -> None:
        """Drop what was read of a cluster that is gone; names that begin alike are only read once more."""
        for key in [k for k in self._read if k.namespace == cluster.namespace and k.name.startswith(cluster.name)]:
            del self._read[key]


def secret(cluster: Cluster, name: str, files: Files) -> dict[str, Any]:
    """Return a Secret of the cluster; those that people copy have a mark and no owner."""
    key = Key(cluster.metadata.namespace, name)
    copied = name in {f"{cluster.metadata.name}{suffix}" for suffix in SUFFIXES}
    marked = {"annotations": {names.ANNOTATION_CREATED_FOR: mark(cluster.metadata.uid, key)}}
    metadata = {
        "name": name,
        "namespace": cluster.metadata.namespace,
        "labels": {
            names.LABEL_CLUSTER: cluster.metadata.name,
            names.LABEL_ENGINE: kind_of(cluster).engine,
            "app.kubernetes.io/managed-by": names.FIELD_MANAGER,
        },
        **(marked if copied else {"ownerReferences": [owner(cluster)]}),
    }
    data = {name: base64.b64encode(value.encode()).decode() for name, value in files.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
