"""A fresh read of one cluster from the API server: nothing is destroyed on a cached read.

Nodes and storage classes belong to no cluster, and no action writes them. A plan judges by them only what is wrong: a
node that is missing, not ready or tainted, a class that is missing. So a reader that knows them from a watch reads them
live only if the watch shows anything like that for these pods and claims. If the watch is late, a node or a class
counts as usable for a moment longer than it is: a member on it may restart in that moment, within the budget. Which
members are down, and where copies are, is known from the pods and the database, which are always asked.
"""

from dataclasses import replace
from typing import TypeVar

from stateward.api.values import names
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import Api
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import DecodeError, Forbidden
from stateward.kube.objects.metadata import Key, KubeObject, key_of
from stateward.kube.objects.nodes import Node
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.objects.caches import controlled_by, of_members
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import ClusterKind
from stateward.operator.objects.pool_scales import asked_live

T = TypeVar("T", bound=KubeObject)


async def read_live(
    api: Api,
    key: Key,
    kind: ClusterKind,
    *,
    secrets: bool = True,
    denied: list[str] | None = None,
    cached: ClusterObjects | None = None,
) -> ClusterObjects:
    """Return the live state of the cluster and its objects from the API server.

    Raises NotFound if the cluster is gone, any other ApiError if a part could not be read: then nothing is known, and
    nothing may be destroyed. Without `secrets`, the existing have none: only for a reader that needs none, and has no
    right to them. With `denied`, a reader that changes nothing goes on without Secrets, nodes and storage classes that
    it may not list; the list gets their kinds. `cached` has the nodes and storage classes that a watch shows.
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
    selection = selection_of(key, kind)
    uid = cluster.metadata.uid
    sets = of_members(controlled_by(await everything(api, kinds.STATEFUL_SETS, selection), uid), names.workload)
    pods = of_members(await everything(api, kinds.PODS, selection), names.pod)
    claims = of_members(await everything(api, kinds.CLAIMS, selection), names.claim)
    owned = tuple(controlled_by(await optional(kinds.SECRETS, selection), uid)) if secrets else ()
    existing = ClusterObjects(
        cluster=cluster,
        sets=sets,
        pods=pods,
        claims=claims,
        secrets=owned,
        nodes={} if cached is None else cached.nodes,
        classes={} if cached is None else cached.classes,
        caught_up=True,
        live=True,
        asked=await asked_live(api, kind.resource.kind, cluster),
    )
    if cached is None or not has_usable_nodes(existing):
        nodes = {node.metadata.name: node for node in await optional(kinds.NODES, Selection())}
        existing = replace(existing, nodes=nodes)
    if cached is None or not has_classes(existing):
        classes = {cls.metadata.name: cls for cls in await optional(kinds.STORAGE_CLASSES, Selection())}
        existing = replace(existing, classes=classes)
    return existing


async def with_pods_of_now(api: Api, existing: ClusterObjects, kind: ClusterKind) -> ClusterObjects:
    """Return a live read with its pods read again, and the nodes if one of the pods is on another; raises ApiError."""
    selection = selection_of(key_of(existing.cluster), kind)
    existing = replace(existing, pods=of_members(await everything(api, kinds.PODS, selection), names.pod))
    if has_usable_nodes(existing):
        return existing
    nodes = await everything(api, kinds.NODES, Selection())
    return replace(existing, nodes={node.metadata.name: node for node in nodes})


def selection_of(key: Key, kind: ClusterKind) -> Selection:
    """Return the selection of a cluster's objects by its labels."""
    return Selection(key.namespace, labels=f"{names.LABEL_CLUSTER}={key.name},{names.LABEL_ENGINE}={kind.engine}")


def has_usable_nodes(existing: ClusterObjects) -> bool:
    """Return whether each pod's node is known, and nothing is wrong with it by which a plan judges."""
    return all(is_usable(existing.nodes.get(pod.spec.node_name)) for pod in existing.pods if pod.spec.node_name)


def has_classes(existing: ClusterObjects) -> bool:
    """Return whether the storage class of each claim is known."""
    return {claim.spec.storage_class_name or "" for claim in existing.claims} - {""} <= existing.classes.keys()


def is_usable(node: Node | None) -> bool:
    """Return whether a node exists, is ready, and has no taint by which a plan judges its pods."""
    return node is not None and node.ready and all(taint.effect == "PreferNoSchedule" for taint in node.spec.taints)


async def everything(api: Api, kind: Resource[T], selection: Selection) -> tuple[T, ...]:
    """Return all selected objects; raises DecodeError when one cannot be read, for it may be the one that matters."""
    state = await list_all(api, kind, selection)
    if state.troubles:
        raise DecodeError(f"{kind.kind} {key_of(state.troubles[0])} cannot be read: {state.troubles[0].reason}")
    return state.hand_over()
