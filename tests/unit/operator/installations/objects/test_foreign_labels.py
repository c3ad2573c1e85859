"""Objects that no plan has created may have the label of an installation: they change nothing.

A tenant can guess the label, and a controller copies it from an object of the installation.
"""

import asyncio
import json
from copy import copy
from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.packages.restarts.restarts import ANNOTATION_RECORD
from tests.unit.operator.installations.execution.test_tasks import SERVICE, package
from tests.unit.operator.installations.rights import HOME, Asked, Ruled, Rules
from tests.unit.operator.installations.world import World

OTHER = "other"


@pytest.fixture
async def world() -> World:
    world = World()
    world.server.create("/namespaces", "", {"metadata": {"name": OTHER}})
    world.package("shop-1")
    world.install("shop-1")
    async with world.operator():
        await world.until(world.ready)
    return world


def of_another_namespace(asked: Asked) -> bool:
    """Refuse what an account asks for outside of its own namespace."""
    return bool(asked.user) and asked.namespace not in ("", HOME)


def copied(world: World, **annotations: str) -> None:
    """Create a Deployment in another namespace with the name, labels and annotations of the installation's."""
    live: Any = world.there("Deployment", "web")
    meta = {name: live["metadata"][name] for name in ("name", "labels", "annotations")}
    meta["annotations"] = {**meta["annotations"], **annotations}
    world.server.create("apps/deployments", OTHER, {**live, "metadata": meta})


async def test_a_workload_of_another_namespace_does_not_hold_up_an_installation(world: World) -> None:
    """The disaster: after the next start of the operator, the installation waits for rights in that namespace."""
    record = json.loads(world.there("Deployment", "web")["metadata"]["annotations"][ANNOTATION_RECORD])
    copied(world, **{ANNOTATION_RECORD: json.dumps({**record, "key": "another"})})
    world.install("shop-1", COUNT=3)
    rules = Rules(of_another_namespace)
    async with world.operator(Ruled(copy(world.api), rules)):
        await world.until(lambda: world.ready() and world.there("Deployment", "web")["spec"]["replicas"] == 3)
    assert [asked for asked in rules.asked if asked.user and asked.namespace == OTHER] == []


async def test_an_object_of_another_namespace_does_not_hide_that_one_is_missing(world: World) -> None:
    copied(world)
    async with world.operator():
        await asyncio.sleep(5)
        exact = DeleteOptions(Preconditions(world.there("Deployment", "web")["metadata"]["uid"]))
        world.server.delete("apps/deployments", Key(HOME, "web"), exact)
        await world.until(lambda: world.get("Deployment", "web"))


@pytest.mark.parametrize("controlled", [False, True])
async def test_what_a_controller_makes_with_the_labels_of_an_object_is_not_pruned(*, controlled: bool) -> None:
    """The disaster: a controller copies the labels of a custom resource to Secrets, and the next plan prunes these."""
    world = World()
    tasks: list[Any] = [{"name": n, "kind": "Apply", "spec": {"resources": [f"{n}.yaml"]}} for n in ("owner", "other")]
    texts = {"owner": SERVICE.replace("NAME", "owner"), "other": SERVICE.replace("NAME", "other")}
    world.package("other-1", package(tasks, {"deploy": ["owner", "other"]}, **texts))
    world.package("other-2", package(tasks[:1], {"deploy": ["owner"]}, "2.0.0", **texts))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        made_from(world.there("Service", "owner"), world, controlled=controlled)
        await asyncio.sleep(5)
        world.install("other-2")
        await world.until(lambda: world.get("Service", "other") is None and world.ready())
        assert world.get("Service", "copy")
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.get("Service", "copy"), "it goes with its owner"


def made_from(owner: Any, world: World, *, controlled: bool) -> None:
    """Create an object as controllers do: with the labels of its owner, some also with its annotations."""
    meta: dict[str, Any] = {"name": "copy", "labels": owner["metadata"]["labels"]}
    if controlled:
        by = {"apiVersion": "v1", "kind": "Service", "name": "owner", "uid": owner["metadata"]["uid"]}
        meta |= {"annotations": owner["metadata"]["annotations"], "ownerReferences": [by | {"controller": True}]}
    world.server.create("/services", HOME, {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {}})
