"""The objects that new pods reference are read if possible; an unreadable one causes no warning."""

import asyncio
from typing import Any

import msgspec
import pytest

from stateward.kube.cache.store import Store
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key, T
from stateward.kube.objects.nodes import Node
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.storage import StorageClass
from stateward.operator.observe import inventory
from stateward.operator.observe.inventory import advance_warnings, needs_of, read_inventory
from stateward.planning.facts.placement import Inventory, obstacles
from tests.unit.cli.fake_api import FakeApi
from tests.unit.operator.admission.test_admission_judge import FAMILY, HOT, MANAGERS, cluster

NAMED: dict[str, Any] = {"spec": {"priorityClassName": "high", "imagePullSecrets": [{"name": "registry"}]}}
FAST = {**HOT, "storage": {"size": "20Gi", "storageClass": "fast"}, "podTemplate": NAMED}


def cached(*nodes: dict[str, Any]) -> dict[str, Store[Any]]:
    stores: dict[str, Store[Any]] = {"nodes": Store("nodes"), "storageclasses": Store("storageclasses")}
    stores["nodes"].feed().replace([msgspec.convert(node, Node) for node in nodes], "1")
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    known = {"metadata": {"name": "standard", "annotations": default}}
    stores["storageclasses"].feed().replace([msgspec.convert(known, StorageClass)], "1")
    return stores


def test_the_needs_of_a_pool_are_those_of_the_objects_that_its_members_get() -> None:
    managers, hot = needs_of(FAMILY, cluster(pools=[MANAGERS, FAST]))
    assert (managers.path, managers.storage_class, managers.volume) == ("spec.pools[0]", None, True)
    assert (hot.path, hot.storage_class) == ("spec.pools[1]", "fast")
    assert hot.pod["priorityClassName"] == "high"
    assert hot.pod["containers"][0]["resources"]["requests"]["memory"]


def test_a_template_of_labels_alone_asks_for_nothing_of_its_own() -> None:
    (hot,) = needs_of(FAMILY, cluster(pools=[{**HOT, "podTemplate": {"metadata": {"labels": {"a": "b"}}}}]))
    assert hot.own == {}


async def test_nothing_is_known_of_what_may_not_be_read() -> None:
    api = FakeApi()
    api.refusal = Forbidden("no")
    needs = needs_of(FAMILY, cluster(pools=[MANAGERS, FAST]))
    found = await read_inventory(api, needs, "ns")
    assert found == Inventory()
    assert obstacles(needs, found) == ()


async def test_what_a_node_offers_is_read() -> None:
    api = FakeApi()
    offered = {"memory": "16Gi", "cpu": "3500m"}
    taint = {"key": "only", "value": "db", "effect": "NoSchedule"}
    api.add("nodes", {"metadata": {"name": "n1"}, "spec": {"taints": [taint]}, "status": {"allocatable": offered}})
    api.add("nodes", {"metadata": {"name": "n2"}, "spec": {"unschedulable": True}})
    found = (await read_inventory(api, (), "ns")).machines
    assert found is not None
    first, second = found
    assert (first.memory, first.cpu, first.taints) == (16 << 30, 3500, (("only", "db", "NoSchedule"),))
    assert (second.memory, second.cpu, second.unschedulable) == (None, None, True)


async def test_the_webhook_warns_by_its_caches_and_reads_what_is_named_besides() -> None:
    said = await advance_warnings(FakeApi(), FAMILY, cluster(pools=[MANAGERS, FAST]), cached())
    assert [text.partition(": ")[0] for text in said] == [
        "spec.pools[1].storage.storageClass",
        "spec.pools[1].podTemplate.spec.priorityClassName",
        "spec.pools[1].podTemplate.spec.imagePullSecrets",
    ]
    full = await advance_warnings(FakeApi(), FAMILY, cluster(), cached({"spec": {"unschedulable": True}}))
    assert all("node(s) were unschedulable" in text for text in full)


async def test_the_webhook_does_not_keep_the_api_server_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(FakeApi):
        async def get(self, resource: Resource[T], key: Key) -> T:
            await asyncio.Event().wait()
            return await super().get(resource, key)

    monkeypatch.setattr(inventory, "PATIENCE", 0.01)
    (only,) = await advance_warnings(Slow(), FAMILY, cluster(pools=[MANAGERS, FAST]), cached())
    assert "storageClass" in only
