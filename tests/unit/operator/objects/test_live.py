"""A live read shows everything, as it is now, or nothing: what cannot be read may be what matters."""

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from stateward.api.values import names
from stateward.api.values.base import API_VERSION, Json
from stateward.kube.client.client import DeleteOptions, ListOptions, Page, PatchKind, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import DecodeError, NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta
from stateward.kube.objects.nodes import Node, NodeSpec, NodeStatus, Taint
from stateward.kube.objects.pods import Condition
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.storage import StorageClass
from stateward.kube.objects.watching import Unreadable
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.objects.live import read_live, with_pods_of_now
from stateward.operator.objects.translate import observation
from stateward.planning.model.observation import Desired, Unknown
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock
from tests.unit.operator.test_process import operator, reconciler

KEY = Key("data", "logs")
MEMBER = "logs-hot-0"
LABELS = {
    names.LABEL_CLUSTER: "logs",
    names.LABEL_ENGINE: "opensearch",
    names.LABEL_POOL: "hot",
    names.LABEL_ORDINAL: "0",
    names.LABEL_MEMBER: MEMBER,
}
CONTAINERS = {"containers": [{"name": "opensearch", "image": "i"}]}
HELD = ["stateward.dev/test"]
"""A finalizer: what has it is not gone before it was taken off."""


class Garbled(WorldApi):
    """An API server on which one object of a kind cannot be read."""

    garbled = ""

    async def list(
        self, resource: Resource[Any], selection: Selection, options: ListOptions | None = None
    ) -> Page[Any]:
        page = await super().list(resource, selection, options)
        if resource.plural != self.garbled:
            return page
        return Page(page.items, page.resource_version, "", (Unreadable(ObjectMeta(name="odd"), "no number"),))


@pytest.fixture
async def api() -> Garbled:
    clock = WorldClock(asyncio.get_running_loop())
    store = Store(clock.monotonic, clock.now)
    made = Garbled(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
    await made.create(kinds.NAMESPACES, {"metadata": {"name": "data"}})
    spec = {"version": "2.19.5", "pools": [{"name": "hot", "replicas": 1}]}
    meta = {"name": "logs", "namespace": "data", "finalizers": HELD}
    body = {"apiVersion": API_VERSION, "kind": OPENSEARCH.resource.kind, "metadata": meta, "spec": spec}
    cluster = await made.create(OPENSEARCH.resource, body, namespace="data")
    owner = {"apiVersion": API_VERSION, "kind": OPENSEARCH.resource.kind, "name": "logs", "controller": True}
    owned = {"ownerReferences": [{**owner, "uid": cluster.metadata.uid}]}
    template = {"metadata": {"labels": LABELS}, "spec": CONTAINERS}
    await make(made, kinds.STATEFUL_SETS, MEMBER, owned, spec=workload(template))
    await make(made, kinds.PODS, f"{MEMBER}-0", {}, spec=CONTAINERS)
    volume = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await make(made, kinds.CLAIMS, f"data-{MEMBER}", {}, spec=volume)
    left = {names.LABEL_ORDINAL: "7", names.LABEL_MEMBER: "logs-hot-7"}
    await make(made, kinds.SECRETS, "logs-hot-7-config", {**owned, "labels": LABELS | left})
    return made


def workload(template: Json) -> Json:
    return {"replicas": 1, "serviceName": "logs", "selector": {"matchLabels": LABELS}, "template": template}


async def make(api: WorldApi, kind: Resource[Any], name: str, meta: Json, **more: Any) -> None:
    whole = {"name": name, "namespace": "data", "labels": LABELS, "finalizers": HELD, **meta}
    await api.create(kind, {"metadata": whole, **more}, namespace="data")


async def delete(api: WorldApi, kind: Resource[Any], name: str) -> None:
    """Begin to delete an object that something holds."""
    found = await api.get(kind, Key("data", name))
    await api.delete(kind, Key("data", name), DeleteOptions(Preconditions(found.metadata.uid)))


async def seen(api: WorldApi) -> Any:
    existing = await read_live(api, KEY, OPENSEARCH)
    return observation(existing, Desired("2.19.5", ()), Unknown("no answer"), "opensearch")


async def test_all_objects_of_a_cluster_are_read(api: Garbled) -> None:
    found = await seen(api)
    (member,) = found.members
    assert found.live
    assert found.settled_writes
    assert member.name == MEMBER
    assert not any(part.terminating for part in (member.workload, member.pod, member.claim))
    assert [orphan.ref.name for orphan in found.orphans] == ["logs-hot-7-config"]


async def test_copies_of_a_members_objects_are_no_objects_of_it(api: Garbled) -> None:
    """A user copies them with their labels and owner, to look at the data: the copies are not deleted with it."""
    volume = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await make(api, kinds.CLAIMS, f"data-{MEMBER}-copy", {}, spec=volume)
    await make(api, kinds.PODS, f"{MEMBER}-debug", {}, spec=CONTAINERS)
    made = await api.get(kinds.STATEFUL_SETS.raw(), Key("data", MEMBER))
    owned = {"ownerReferences": made["metadata"]["ownerReferences"]}
    await make(api, kinds.STATEFUL_SETS, f"{MEMBER}-x", owned, spec={**made["spec"], "replicas": 0})
    (member,) = (await seen(api)).members
    assert (member.claim.ref.name, member.pod.ref.name) == (f"data-{MEMBER}", f"{MEMBER}-0")
    assert (member.workload.ref.name, member.workload.replicas) == (MEMBER, 1)
    existing = await with_pods_of_now(api, await read_live(api, KEY, OPENSEARCH), OPENSEARCH)
    assert [pod.metadata.name for pod in existing.pods] == [f"{MEMBER}-0"]


@pytest.mark.parametrize(
    "plural", ["statefulsets", "pods", "persistentvolumeclaims", "secrets", "nodes", "storageclasses"]
)
async def test_nothing_is_known_while_one_object_cannot_be_read(api: Garbled, plural: str) -> None:
    """It may be the pod of the manager that makes the quorum, or the volume with the last copy."""
    api.garbled = plural
    with pytest.raises(DecodeError, match="odd cannot be read: no number"):
        await seen(api)


async def test_what_is_being_deleted_is_seen_so(api: Garbled) -> None:
    await delete(api, kinds.STATEFUL_SETS, MEMBER)
    await delete(api, kinds.PODS, f"{MEMBER}-0")
    await delete(api, kinds.CLAIMS, f"data-{MEMBER}")
    await delete(api, kinds.SECRETS, "logs-hot-7-config")
    found = await seen(api)
    (member,) = found.members
    assert member.workload.terminating
    assert member.pod.terminating
    assert member.claim.terminating
    assert not member.alive
    assert found.orphans == (), "who deletes it already needs no help"


async def test_nothing_is_done_for_a_cluster_that_is_being_deleted_though_the_cache_does_not_show_it(
    api: Garbled,
) -> None:
    one = reconciler(operator(api, leader_elect=False))
    assert (await one._live(KEY)).cluster.metadata.name == "logs"
    await delete(api, OPENSEARCH.resource, "logs")
    with pytest.raises(NotFound):
        await one._live(KEY)


async def lists(api: WorldApi, **known: Any) -> list[str]:
    """Return the kinds that are listed by a live read, if a watch shows these nodes and storage classes."""
    cached = replace(await read_live(api, KEY, OPENSEARCH), live=False, **known)
    asked = list[str]()
    plain = api.list

    async def listed(resource: Resource[Any], selection: Selection, options: ListOptions | None = None) -> Page[Any]:
        asked.append(resource.plural)
        return await plain(resource, selection, options)

    api.list = listed
    found = await read_live(api, KEY, OPENSEARCH, cached=cached)
    api.list = plain
    assert found.live
    return asked


def node(*taints: Taint, ready: bool = True) -> dict[str, Node]:
    status = NodeStatus(conditions=(Condition(type="Ready", status="True" if ready else "False"),))
    return {"n1": Node(metadata=ObjectMeta(name="n1"), spec=NodeSpec(taints=taints), status=status)}


OWNED = ["statefulsets", "pods", "persistentvolumeclaims", "secrets"]
BAD = Taint(key="maintenance", effect="NoSchedule")


@pytest.mark.parametrize(
    ("nodes", "asked"),
    [
        (node(), OWNED),
        (node(Taint(key="full", effect="PreferNoSchedule")), OWNED),
        (node(ready=False), [*OWNED, "nodes"]),
        (node(BAD), [*OWNED, "nodes"]),
        ({}, [*OWNED, "nodes"]),
    ],
    ids=["usable", "preferred", "not ready", "tainted", "unknown"],
)
async def test_nodes_are_read_live_only_if_the_watch_shows_anything_that_a_plan_judges(
    api: Garbled, nodes: dict[str, Node], asked: list[str]
) -> None:
    bound = {"metadata": {"name": f"{MEMBER}-0"}, "spec": {"nodeName": "n1"}}
    await api.patch(kinds.PODS, Key("data", f"{MEMBER}-0"), bound, kind=PatchKind.MERGE)
    assert await lists(api, nodes=nodes) == asked


@pytest.mark.parametrize(("classes", "asked"), [({"fast": StorageClass()}, OWNED), ({}, [*OWNED, "storageclasses"])])
async def test_storage_classes_are_read_live_only_if_the_watch_lacks_one(
    api: Garbled, classes: dict[str, StorageClass], asked: list[str]
) -> None:
    volume = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    labels = {names.LABEL_ORDINAL: "1", names.LABEL_MEMBER: "logs-hot-1"}
    await make(
        api, kinds.CLAIMS, "data-logs-hot-1", {"labels": LABELS | labels}, spec={**volume, "storageClassName": "fast"}
    )
    assert await lists(api, classes=classes) == asked
