"""A connection Secret that is chosen again, after another one: applications get the password that the user has."""

import asyncio

import pytest

from stateward.simulation.apiserver.network import Network
from tests.unit.operator.declared.lives import die_after
from tests.unit.operator.declared.users.test_users import ROTATED
from tests.unit.operator.declared.users_world import UsersWorld


async def chosen(world: UsersWorld, name: str) -> None:
    """Have the Secret of the user get a name, and wait until its status has it."""
    world.user(connectionSecretName=name)
    await world.until(lambda: world.user_status().get("connectionSecretName") == name)
    await world.until(world.user_ready)


async def test_a_name_that_is_chosen_again_has_the_password_of_the_secret_before() -> None:
    """The disaster this prevents: the user gets the password of long ago, and applications are locked out at once."""
    world = UsersWorld()
    world.user(connectionSecretName="first")
    async with world.operator():
        await world.until(world.user_ready)
        await chosen(world, "second")
        world.drop_secret("second")
        await world.until(lambda: world.connection("second").get("password"))
        await world.until(world.user_ready)
        before = world.connection("second")
        assert before != world.connection("first")
        await chosen(world, "first")
        assert world.passwords["shop"] == before["password"]
        assert world.connection("first") == before


async def test_a_name_that_is_chosen_again_after_a_rotation_has_the_password_of_the_secret_before() -> None:
    world = UsersWorld()
    world.user(connectionSecretName="first", password=ROTATED)
    async with world.operator():
        await world.until(world.user_ready)
        await chosen(world, "second")
        await world.until(lambda: world.user_status()["username"] == "shop-2", 10_000_000)
        await world.until(world.user_ready)
        before = world.connection("second")
        await chosen(world, "first")
        await asyncio.sleep(1)
        assert world.passwords["shop-2"] == before["password"]
        assert world.connection("first") == before


@pytest.mark.parametrize("deaths", range(1, 6))
async def test_a_name_that_is_chosen_again_loses_no_password_with_the_process(deaths: int) -> None:
    """Also if a rotation is due in the same reconciliation, and the status is not written after it."""
    world = UsersWorld()
    world.user(connectionSecretName="first", password=ROTATED)
    async with world.operator():
        await world.until(world.user_ready)
        await chosen(world, "second")
        await world.until(lambda: world.user_status()["username"] == "shop-2", 100_000)
        await world.until(world.user_ready)
        before = world.connection("second")
        await world.until(lambda: "shop-1" not in world.passwords, 10_000)
    await asyncio.sleep(10 * 3600)
    network = Network(world.context.stream("dying"), world.context.count)
    die_after(deaths, network, world.database.wire)
    world.user(connectionSecretName="first")
    async with world.operator(network=network):
        await asyncio.sleep(60)
    given = world.connection("first")
    world.database.wire = world.wire(deaths)
    async with world.operator():
        await world.until(lambda: world.user_status()["username"] == "shop-1")
        await world.until(world.user_ready)
        after = world.connection("first")
    assert after["username"] == "shop-1"
    assert world.passwords["shop-1"] == after["password"]
    assert world.passwords["shop-2"] == before["password"], "applications have it until the overlap ends"
    if given.get("username") == "shop-1" and given["password"] in world.passwords.values():
        assert given["password"] == after["password"], "what applications were given stays"
