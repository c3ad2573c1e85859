"""A repository is Ready when nodes can use it: a database stores also one that they cannot read or write."""

import asyncio

import pytest

from stateward.engines.connection.base import Answer
from tests.unit.operator.declared.lives import lives
from tests.unit.operator.declared.world import World

BODY = {"type": "s3", "settings": {"bucket": "backups"}}
PATH = "/_snapshot/backups"
VERIFY = f"{PATH}/_verify"


def world_with(*, usable: bool) -> World:
    world = World()
    if not usable:
        world.database.objects.unusable.add("backups")
    declare(world)
    return world


def declare(world: World, **body: str) -> None:
    world.declare("backups", object="snapshotRepository/backups", body={**BODY, **body})


def verifications(world: World) -> int:
    return sum(call.path == VERIFY for call in world.database.writes)


async def test_one_that_nodes_cannot_use_needs_a_person_and_recovers() -> None:
    world = world_with(usable=False)
    async with world.operator():
        await world.until(lambda: world.stalled("backups") == "RepositoryFails")
        assert "is not accessible" in world.status("backups")["activity"]
        assert PATH in world.database.objects.by_path
        await asyncio.sleep(300)
        assert world.stalled("backups") == "RepositoryFails"
        world.database.objects.unusable.clear()
        await world.until(lambda: world.is_ready("backups"))


async def test_without_the_plug_in_it_is_said_and_it_recovers() -> None:
    world = world_with(usable=True)
    text = b'{"error": {"reason": "[backups] failed to create repository: type [s3] does not exist"}}'
    world.database.refusals[PATH] = Answer(500, text)
    async with world.operator():
        await world.until(lambda: world.stalled("backups") == "RepositoryFails")
        assert "type [s3] does not exist" in world.status("backups")["activity"]
        world.database.refusals.clear()
        await world.until(lambda: world.is_ready("backups"))


async def test_a_database_that_does_not_serve_now_is_not_a_repository_that_fails() -> None:
    world = world_with(usable=True)
    world.database.refusals[VERIFY] = Answer(503, b'{"error": {"reason": "no cluster manager"}}')
    async with world.operator():
        await world.until(lambda: world.condition("Reconciling", "backups").get("reason") == "DatabaseUnreachable")
        world.database.refusals.clear()
        await world.until(lambda: world.is_ready("backups"))


async def test_it_is_used_once_for_each_declaration() -> None:
    """Each verification writes files into the repository."""
    world = world_with(usable=True)
    async with world.operator():
        await world.until(lambda: world.is_ready("backups"))
        await asyncio.sleep(2000)
        assert verifications(world) == 1
    async with world.operator():
        await asyncio.sleep(2000)
        assert verifications(world) == 1
        declare(world, type="gcs")
        await world.until(lambda: world.database.objects.by_path[PATH].body["type"] == "gcs")
        await world.until(lambda: world.is_ready("backups"))
    assert verifications(world) == 2


@pytest.mark.parametrize("deaths", range(1, 8))
async def test_an_operator_that_dies_in_between_does_not_call_it_ready(deaths: int) -> None:
    world = world_with(usable=False)
    await lives(world, deaths)
    assert PATH in world.database.objects.by_path
    assert world.stalled("backups") == "RepositoryFails"
    world.database.objects.unusable.clear()
    await lives(world, 0)
    assert world.is_ready("backups")
