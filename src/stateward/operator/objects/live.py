"""A fresh read of one cluster from the API server: nothing is destroyed on a cached read."""

from typing import TypeVar

from stateward.api.values import names
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import Api
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import DecodeError, Forbidden
from stateward.kube.objects.metadata import Key, KubeObject, key_of
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.objects.caches import controlled_by
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import ClusterKind

T = TypeVar("T", bound=KubeObject)


async def read_live(
    api: Api, key: Key, kind: ClusterKind, *, secrets: bool = True, denied: list[str] | None = None
) -> ClusterObjects:
    """Return the live state of the cluster and its objects from the API server.

    Raises NotFound if the cluster is gone, any other ApiError if a part could not be read: then nothing is known, and
    nothing may be destroyed. Without `secrets`, the existing have none: only for a reader that needs none, and has no
    right to them. With `denied`, a reader that changes nothing goes on without Secrets, nodes and storage classes that
    it may not list; the list gets their kinds.
    """

    async def optional(resource: Resource[T], chosen: Selection) -> tuple[T, ...]:
        try:
            return await everything(api, resource, chosen)
        except Forbidden:
            if denied is None:
                raise
            denied.append(resource.kind)
            return ()

    cluster = await api.get(kind.resource, key)
    labels = f"{names.LABEL_CLUSTER}={key.name},{names.LABEL_ENGINE}={kind.engine}"
    selection = Selection(key.namespace, labels=labels)
    uid = cluster.metadata.uid
    return ClusterObjects(
        cluster=cluster,
        sets=tuple(controlled_by(await everything(api, kinds.STATEFUL_SETS, selection), uid)),
        pods=await everything(api, kinds.PODS, selection),
        claims=await everything(api, kinds.CLAIMS, selection),
        secrets=tuple(controlled_by(await optional(kinds.SECRETS, selection), uid)) if secrets else (),
        nodes={node.metadata.name: node for node in await optional(kinds.NODES, Selection())},
        classes={cls.metadata.name: cls for cls in await optional(kinds.STORAGE_CLASSES, Selection())},
        caught_up=True,
        live=True,
    )


async def everything(api: Api, kind: Resource[T], selection: Selection) -> tuple[T, ...]:
    """Return all selected objects; raises DecodeError when one cannot be read, for it may be the one that matters."""
    state = await list_all(api, kind, selection)
    if state.troubles:
        raise DecodeError(f"{kind.kind} {key_of(state.troubles[0])} cannot be read: {state.troubles[0].reason}")
    return state.hand_over()
