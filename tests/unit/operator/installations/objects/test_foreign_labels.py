"""Objects of another namespace may have the label of an installation: a tenant can guess it. They change nothing."""

import asyncio
import json
from copy import copy
from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.packages.restarts.restarts import ANNOTATION_RECORD
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
