"""Ensures that only objects of this cluster are written: a name may belong to another owner, or to an earlier cluster.

Objects are created by server-side apply and not by a create: fields of a create belong to another field manager, and
would stay forever when they are no longer desired. An apply creates a missing object, but it also adopts an existing
one. So if the cache does not show the object as ours, a live read comes first.
"""

from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta
from stateward.kube.objects.resource import Resource
from stateward.operator.objects.copied_secrets import belongs
from stateward.operator.objects.kinds import kind_of


class NotOwnedError(Exception):
    """An object of the name that a cluster needs belongs to someone else; nothing is done to it."""


async def exists(api: Api, kind: Resource[Any], key: Key, cluster: Cluster) -> bool:
    """Return whether the object exists, by a live read; raises NotOwnedError if it has another owner, ApiError."""
    try:
        existing = await api.get(kind, key)
    except NotFound:
        return False
    meta: ObjectMeta = existing.metadata
    labelled = meta.labels.get(names.LABEL_CLUSTER) == cluster.metadata.name
    controlled = belongs(meta, cluster)
    # Kept volumes have no owner: they outlive the cluster on purpose. One written by another engine is not ours, for
    # any name of the cluster. Nor is a Secret whose mark names another cluster, or a copy of one.
    copied_secrets = not meta.controller_uid and names.ANNOTATION_CREATED_FOR not in meta.annotations
    kept = copied_secrets and meta.labels.get(names.LABEL_ENGINE) == kind_of(cluster).engine
    if meta.terminating or not labelled or not (controlled or kept):
        raise NotOwnedError(f"{kind.kind} {key} already exists and belongs to another owner")
    return True


def key_in(body: dict[str, Any]) -> Key:
    """Return the key of an object in its manifest."""
    return Key(body["metadata"].get("namespace", ""), body["metadata"]["name"])
