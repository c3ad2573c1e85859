"""Installations after the key of digests is lost or restored, with the shipped controller."""

import asyncio
from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.operator.restarts.digestkey import NAME
from stateward.packages.format.trees import at
from tests.unit.operator.installations.execution.test_tasks import JOB, SERVICE, package
from tests.unit.operator.installations.test_restarts import OWN, installed, made
from tests.unit.operator.installations.world import HOME, World

WHERE = Key("stateward", NAME)
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {of: package}\n"


@pytest.fixture
async def world() -> World:
    return World()


def lose(world: World) -> dict[str, Any]:
    """Delete the key; return what it was."""
    stored = world.store.get("/secrets", WHERE)
    assert stored is not None
    world.server.delete("/secrets", WHERE, DeleteOptions(Preconditions(stored.meta["uid"])))
    return stored.doc


def restore(world: World, secret: dict[str, Any]) -> None:
    lose(world)
    world.server.create("/secrets", "stateward", {"metadata": {"name": NAME}, "data": secret["data"]})


def whole(version: str = "1.0.0", job: str = JOB) -> dict[str, bytes]:
    names = ("config", "job", "one")
    tasks: list[Any] = [{"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}} for name in names]
    service = SERVICE.replace("NAME", "one")
    return package(tasks, {"deploy": list(names)}, version, config=CONFIG, job=job, one=service)


def write(world: World, of: str) -> None:
    """Change the ConfigMap as a user does."""
    live = world.there("ConfigMap", "config")
    world.server.update("/configmaps", Key(HOME, "config"), {**live, "data": {"of": of}})


async def begin(world: World) -> None:
    world.package("other-1", whole())
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)


async def test_work_that_is_done_is_not_done_again(world: World) -> None:
    await begin(world)
    lose(world)
    world.package("other-2", whole("2.0.0"))
    world.install("other-2")
    async with world.operator():
        await world.until(world.ready)
    assert world.jobs == {"job": 1}
    assert world.status()["installed"]["version"] == "2.0.0"


async def test_work_that_the_server_knows_to_be_another_is_recreated(world: World) -> None:
    await begin(world)
    lose(world)
    world.package("other-2", whole("2.0.0", JOB.replace("image: x", "image: z")))
    world.install("other-2")
    async with world.operator():
        await world.until(world.ready)
    assert world.jobs == {"job": 2}
    assert at(world.there("Job", "job"), "spec", "template", "spec", "containers")[0]["image"] == "z"


async def test_what_others_change_afterwards_is_put_right_as_before(world: World) -> None:
    await begin(world)
    lose(world)
    async with world.operator():
        await world.until(lambda: world.store.get("/secrets", WHERE))
        await world.until(world.ready)
        write(world, "person")
        await world.until(lambda: world.there("ConfigMap", "config")["data"] == {"of": "package"})
    assert world.jobs == {"job": 1}


async def test_what_was_changed_while_the_key_was_away_is_not_known_and_stays_until_the_next_plan(
    world: World,
) -> None:
    await begin(world)
    lose(world)
    write(world, "person")
    async with world.operator():
        await asyncio.sleep(700)
        assert world.there("ConfigMap", "config")["data"] == {"of": "person"}
        world.package("other-2", whole("2.0.0"))
        world.install("other-2")
        await world.until(world.ready)
        assert world.there("ConfigMap", "config")["data"] == {"of": "package"}


async def test_no_workload_restarts_and_the_next_change_of_a_plan_restarts_its_users(world: World) -> None:
    async with world.operator():
        await installed(world, made("before", web=(OWN,)))
    lose(world)
    world.install("made-1", label="new")
    async with world.operator():
        await world.until(world.ready)
        assert world.rollouts == {}
    lose(world)
    world.install("made-1", label="new", one_a="1")  # Requested before the operator notices the lost key.
    async with world.operator():
        await world.until(world.ready)
    assert world.rollouts == {"web": 1}


async def test_a_key_that_comes_back_from_a_backup_does_nothing_either(world: World) -> None:
    await begin(world)
    first = lose(world)
    async with world.operator():
        await world.until(lambda: world.store.get("/secrets", WHERE))
        await world.until(world.ready)
    restore(world, first)
    world.package("other-2", whole("2.0.0"))
    world.install("other-2")
    async with world.operator():
        await world.until(world.ready)
        write(world, "person")
        await world.until(lambda: world.there("ConfigMap", "config")["data"] == {"of": "package"})
    assert world.jobs == {"job": 1}
