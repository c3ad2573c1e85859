"""Reads what new pods may name or need: nodes, storage classes, priority classes, Secrets of registries.

What may not be read, or cannot be, is left out: the answer is for warnings, and a warning is no reason to fail.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json
from stateward.api.values.quantity import QuantityError, parse_bytes
from stateward.kube.cache.listing import list_all
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, NotFound
from stateward.kube.objects.metadata import Key, KubeObject
from stateward.kube.objects.nodes import Node
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.storage import StorageClass
from stateward.operator.databases.engine import Family
from stateward.planning.facts.placement import Inventory, Machine, Need, cores, obstacles, priorities, pull_secrets

T = TypeVar("T", bound=KubeObject)

PATIENCE = 3.0
"""Seconds that the webhook waits for reads that only cause warnings."""


def needs_of(family: Family, cluster: Cluster) -> tuple[Need, ...]:
    """Return what the pods of each pool need, by the objects that a new member would get."""
    found: list[Need] = []
    for number, pool in enumerate(cluster.spec.pools):
        made = family.member_objects(cluster, pool.name, 0, cluster.spec.version)
        claim: Json = made.claim["spec"] if made.claim is not None else {}
        own: Json = (pool.pod_template or {}).get("spec") or {}
        pod = made.workload["spec"]["template"]["spec"]
        named = claim.get("storageClassName")
        found.append(Need(f"spec.pools[{number}]", pod, own, made.claim is not None, named))
    return tuple(found)


async def read_inventory(api: Api, needs: tuple[Need, ...], namespace: str) -> Inventory:
    """Return what the server has of it; raises nothing."""
    nodes, classes = await _all(api, kinds.NODES), await _all(api, kinds.STORAGE_CLASSES)
    return Inventory(
        machines=None if nodes is None else machines(nodes),
        storage_classes=None if classes is None else storage_classes(classes),
        priority_classes=await _there(api, kinds.PRIORITY_CLASSES, "", priorities(needs)),
        pull_secrets=await _there(api, kinds.SECRETS, namespace, pull_secrets(needs)),
    )


async def advance_warnings(
    api: Api, family: Family, cluster: Cluster, cached: Mapping[str, Store[Any]]
) -> tuple[str, ...]:
    """Return what would keep new pods of a cluster from starting, by the caches of nodes and storage classes.

    Only what the spec names besides is read. The API server waits for the answer, so what takes long is left out.
    """
    needs, named = needs_of(family, cluster), Inventory()
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            namespace = cluster.metadata.namespace
            named = Inventory(
                priority_classes=await _there(api, kinds.PRIORITY_CLASSES, "", priorities(needs)),
                pull_secrets=await _there(api, kinds.SECRETS, namespace, pull_secrets(needs)),
            )
    known = replace(
        named,
        machines=machines(cached[kinds.NODES.plural].all()),
        storage_classes=storage_classes(cached[kinds.STORAGE_CLASSES.plural].all()),
    )
    return tuple(str(problem) for problem in obstacles(needs, known))


def machines(nodes: Iterable[Node]) -> tuple[Machine, ...]:
    """Return Kubernetes nodes as the check of placement sees them."""
    return tuple(
        Machine(
            name=node.metadata.name,
            labels=node.metadata.labels,
            taints=tuple((t.key, t.value, t.effect) for t in node.spec.taints),
            unschedulable=node.spec.unschedulable,
            memory=_quantity(node, "memory"),
            cpu=_quantity(node, "cpu"),
        )
        for node in nodes
    )


def storage_classes(classes: Iterable[StorageClass]) -> dict[str, bool]:
    """Return the names of storage classes, each with whether it is the default."""
    return {found.metadata.name: found.is_default for found in classes}


def _quantity(node: Node, resource: str) -> int | None:
    text = node.status.allocatable.get(resource, "")
    with suppress(QuantityError):
        return (parse_bytes(text) if resource == "memory" else cores(text)) if text else None
    return None


async def _all(api: Api, kind: Resource[T]) -> tuple[T, ...] | None:
    try:
        return (await list_all(api, kind, Selection())).hand_over()
    except ApiError:
        return None


async def _there(api: Api, kind: Resource[T], namespace: str, names: Iterable[str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for name in sorted(names):
        with suppress(ApiError):
            try:
                await api.get(kind, Key(namespace, name))
                found[name] = True
            except NotFound:
                found[name] = False
    return found
