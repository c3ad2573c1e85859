"""Passwords from Secrets that their owners write."""

import pytest

from tests.unit.operator.declared.users_world import UsersWorld

ALLOWED = {"stateward.dev/allowed-for-pods": "logs"}


async def test_an_empty_password_is_refused_and_applications_keep_the_one_of_before() -> None:
    """The database keeps the password of before when it gets none, so an application with an empty one is refused."""
    world = UsersWorld()
    world.secret("given", ALLOWED, password="geheim-77")
    world.user(password={"secretName": "given"})
    async with world.operator():
        await world.until(world.user_ready)
        world.change_secret("given", password="")
        await world.until(lambda: world.user_stalled() == "SecretEmpty")
        assert world.application_connects()
        assert "the key password of the Secret given is empty" in world.user_status()["activity"]
        world.change_secret("given", password="geheim-78")
        await world.until(lambda: world.user_ready() and world.passwords == {"shop": "geheim-78"})
        assert world.application_connects()


@pytest.mark.parametrize("deletes", [False, True])
async def test_a_new_user_with_an_empty_password_waits_for_one(*, deletes: bool) -> None:
    world = UsersWorld()
    world.secret("given", ALLOWED, password="")
    world.user(password={"secretName": "given"})
    async with world.operator():
        await world.until(lambda: world.user_stalled() == "SecretEmpty")
        assert world.passwords == {}
        assert world.connection() == {}
        if deletes:
            world.remove_user()
            await world.until(lambda: not world.user_exists())
