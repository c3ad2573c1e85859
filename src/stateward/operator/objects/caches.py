"""The watch caches of the operator, and their content for one cluster.

All are selected by Stateward's own label, so that a cache holds the objects of clusters and not every pod. Secrets and
ConfigMaps are cached as metadata: their contents never reach this process. Each kind of cluster has a store of its own;
the objects of clusters are watched once, for all kinds.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.scaling.pool_scale import PoolScale
from stateward.api.values import names
from stateward.kube.cache.deltas import Delta, by_label
from stateward.kube.cache.expectations import Expectations
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.storage import PersistentVolumeClaim
from stateward.kube.objects.workloads import StatefulSet
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import CLUSTERS, OPENSEARCH, ClusterKind
from stateward.operator.objects.pool_scales import POOL_SCALES, asked, by_cluster, cluster_id
from stateward.operator.objects.waves import Turn, turn
from stateward.planning.model.observation import Asked
from stateward.planning.report.urgency import is_urgent

__all__ = ["CLUSTERS", "OWNED", "SHARED", "Caches", "Objects", "controlled_by", "of_members"]

OWNED: tuple[Resource[Any], ...] = (
    kinds.STATEFUL_SETS,
    kinds.PODS,
    kinds.CLAIMS,
    kinds.SECRETS,
    kinds.CONFIG_MAPS,
    kinds.SERVICES,
    kinds.BUDGETS,
)
"""The kinds of objects that a cluster consists of, each labelled with its cluster."""

SHARED: tuple[Resource[Any], ...] = (kinds.NODES, kinds.STORAGE_CLASSES)
"""Kinds that are read for all clusters."""


class Objects:
    """What clusters of all kinds consist of: one store per kind of object, fed from the given namespaces."""

    def __init__(self, namespaces: tuple[str, ...] = ("",)) -> None:
        self.namespaces = namespaces
        index = {"cluster": by_label(names.LABEL_CLUSTER)}
        self.owned: dict[str, Store[Any]] = {
            kind.plural: Store(kind.plural, namespaces=namespaces, indexes=index) for kind in OWNED
        }
        self.shared: dict[str, Store[Any]] = {kind.plural: Store(kind.plural) for kind in SHARED}
        self.scales = Store[PoolScale](POOL_SCALES.plural, namespaces=namespaces, indexes={"cluster": by_cluster})
        """Fed by the controller of PoolScales. Nothing waits for it: an earlier installation has no such kind."""

    def stores(self) -> Iterator[Store[Any]]:
        """Return all stores."""
        yield from self.owned.values()
        yield from self.shared.values()

    def reflectors(self, api: Api, options: ReflectorOptions) -> Iterator[Reflector[Any]]:
        """Return the reflectors of the stores, one per kind and namespace."""
        for namespace in self.namespaces:
            for kind in OWNED:
                selection = Selection(namespace, labels=names.LABEL_CLUSTER)
                yield Reflector(api, kind, selection, self.owned[kind.plural], options)
        for kind in SHARED:
            yield Reflector(api, kind, Selection(), self.shared[kind.plural], options)

    async def wait_synced(self) -> None:
        """Wait until every store has the whole state."""
        for store in self.stores():
            await store.wait_synced()


T = TypeVar("T", StatefulSet, Pod, PersistentVolumeClaim)


class Caches:
    """Clusters of one kind, and what each of them consists of."""

    def __init__(self, kind: ClusterKind = OPENSEARCH, objects: Objects | None = None, wave: str = "") -> None:
        self.kind = kind
        self.wave = wave
        self._objects = objects or Objects()
        self.clusters: Store[Cluster] = Store(kind.resource.plural, namespaces=self._objects.namespaces)
        self._expectations: dict[Key, Expectations] = {}

    @property
    def owned(self) -> dict[str, Store[Any]]:
        """The stores of what clusters of all kinds consist of, by plural."""
        return self._objects.owned

    @property
    def shared(self) -> dict[str, Store[Any]]:
        """The stores of what is read for all clusters, by plural."""
        return self._objects.shared

    def reflectors(self, api: Api, options: ReflectorOptions) -> Iterator[Reflector[Cluster]]:
        """Return the reflectors of the clusters' store, one per namespace."""
        for namespace in self._objects.namespaces:
            yield Reflector(api, self.kind.resource, Selection(namespace), self.clusters, options)

    def managed(self) -> Iterator[Cluster]:
        """Yield the clusters that this operator manages."""
        return (cluster for cluster in self.clusters.all() if turn(cluster, self.wave) is Turn.MANAGE)

    async def wait_synced(self) -> None:
        """Wait until every store has the whole state."""
        await self._objects.wait_synced()
        await self.clusters.wait_synced()

    @property
    def synced(self) -> bool:
        """Whether every store has the whole state."""
        return all(store.has_synced for store in (self.clusters, *self._objects.stores()))

    def on_change(self, enqueue: Callable[[Key], None]) -> None:
        """Call `enqueue` with the key of each cluster that a change concerns."""

        def own(delta: Delta[Cluster]) -> None:
            if not is_display_only(delta):
                enqueue(delta.key)

        def part(delta: Delta[Any]) -> None:
            for obj in self._ours(obj for obj in (delta.old, delta.new) if obj is not None):
                enqueue(Key(obj.metadata.namespace, obj.metadata.labels.get(names.LABEL_CLUSTER, "")))

        def scale(delta: Delta[PoolScale]) -> None:
            for found in (delta.old, delta.new):
                if found is not None and found.spec.cluster.kind.value == self.kind.resource.kind:
                    enqueue(Key(found.metadata.namespace, found.spec.cluster.name))

        self.clusters.subscribe(own)
        self._objects.scales.subscribe(scale)
        for store in self.owned.values():
            store.subscribe(part)

    def of(self, kind: Resource[Any]) -> Store[Any]:
        """Return the store of a kind; raises KeyError for a kind that is not cached."""
        return self.owned[kind.plural]

    def expectations(self, key: Key) -> Expectations:
        """Return our own writes for a cluster that its caches still have to show."""
        return self._expectations.setdefault(key, Expectations())

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a cluster that is gone."""
        self._expectations.pop(key, None)

    def cluster_objects(self, key: Key) -> ClusterObjects | None:
        """Return the cached objects of a cluster; None if there is no such cluster."""
        cluster = self.clusters.get(key)
        if cluster is None:
            return None
        value = f"{key.namespace}/{key.name}"
        found = {plural: tuple(self._ours(store.indexed("cluster", value))) for plural, store in self.owned.items()}
        uid, shared = cluster.metadata.uid, self._objects.shared
        return ClusterObjects(
            cluster=cluster,
            sets=of_members(controlled_by(found["statefulsets"], uid), names.workload),
            pods=of_members(found["pods"], names.pod),
            claims=of_members(found["persistentvolumeclaims"], names.claim),
            secrets=tuple(controlled_by(found["secrets"], uid)),
            nodes={node.metadata.name: node for node in shared["nodes"].all()},
            classes={cls.metadata.name: cls for cls in shared["storageclasses"].all()},
            caught_up=self.expectations(key).caught_up,
            asked=self._asked(key),
        )

    def _asked(self, key: Key) -> dict[str, Asked] | None:
        """Return, by pool, what PoolScales ask for; None while they are not known."""
        scales = self._objects.scales
        if not scales.has_synced:
            return None
        return asked(scales.indexed("cluster", cluster_id(self.kind.resource.kind, key.namespace, key.name)))

    def _ours(self, objects: Iterable[Any]) -> Iterator[Any]:
        """Return the objects of clusters of this kind.

        The disaster this prevents: an OpenSearch and an Elasticsearch cluster of one name in one namespace, each taking
        the other's pods and volumes for members that it has too many of.
        """
        return (obj for obj in objects if obj.metadata.labels.get(names.LABEL_ENGINE) == self.kind.engine)


def is_display_only(delta: Delta[Cluster]) -> bool:
    """Return whether a cluster changed only in parts of its status that no plan relies on.

    Mostly these are the operator's own writes. They need no further reconciliation.
    """
    old, new = delta.old, delta.new
    if old is None or new is None or delta.trouble is not None or is_urgent(old.status, new.status):
        return False
    metadata = replace(old.metadata, resource_version=new.metadata.resource_version)
    return metadata == new.metadata and old.spec == new.spec


def controlled_by(objects: Iterable[Any], uid: str) -> Iterator[Any]:
    """Return the objects that the owner of this UID controls.

    By UID and not by name: a deleted cluster of the same name leaves objects behind until they are collected, and
    taking them for ours would bring a dead cluster's StatefulSets back.
    """
    return (obj for obj in objects if obj.metadata.controller_uid == uid)


def of_members(objects: Iterable[T], named: Callable[[str], str]) -> tuple[T, ...]:
    """Return the objects that are `named` as those of the member that their label names.

    The disaster this prevents: a user copies the claim of a member, with its labels, to keep its data. The copy counts
    as the member's claim, and is deleted with the member. Or the copy of a StatefulSet, with its owner, counts as the
    member's, and what is to end the member ends the copy.
    """
    return tuple(obj for obj in objects if obj.metadata.name == named(obj.metadata.labels.get(names.LABEL_MEMBER, "")))
