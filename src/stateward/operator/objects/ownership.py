"""Only objects of this very cluster are written: a name may be taken by somebody else, or by a dead namesake.

Objects are made by server-side apply and not by a create: what a create has set belongs to another entry of the field
managers, and would stay for ever when it is no longer wanted. An apply makes what is not there, but it also takes over
what is. So whoever applies without seeing the object as ours in the cache asks first.
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


class NotOurs(Exception):  # noqa: N818 - a state of the world, named as such
    """An object of the name that a cluster needs belongs to someone else; nothing is done to it."""


async def exists(api: Api, kind: Resource[Any], key: Key, cluster: Cluster) -> bool:
    """Return whether the object is there, read live; raises NotOurs when it is not this cluster's, ApiError."""
    try:
        existing = await api.get(kind, key)
    except NotFound:
        return False
    meta: ObjectMeta = existing.metadata
    labelled = meta.labels.get(names.LABEL_CLUSTER) == cluster.metadata.name
    controlled = belongs(meta, cluster)
    # Kept volumes have no owner: they outlive the cluster on purpose. One that another engine has written is not ours,
    # whatever the cluster was called.
    # Nor is a Secret that says that it was made for another cluster, or is a copy of one.
    unowned = not meta.controller_uid and names.ANNOTATION_MADE_FOR not in meta.annotations
    kept = unowned and meta.labels.get(names.LABEL_ENGINE) == kind_of(cluster).engine
    if meta.terminating or not labelled or not (controlled or kept):
        raise NotOurs(f"{kind.kind} {key} already exists and belongs to another owner")
    return True


def key_in(body: dict[str, Any]) -> Key:
    """Return where an object written as a manifest is."""
    return Key(body["metadata"].get("namespace", ""), body["metadata"]["name"])
