"""The Secret of an application keeps what it can be used with, while the sources of its content come and go."""

import asyncio

import pytest

from tests.unit.operator.declared.users.test_users import ALLOWED, ROTATED, ask_for_certificate
from tests.unit.operator.declared.users_world import OWN, UsersWorld


@pytest.mark.parametrize("source", ["logs-ca", "theirs"])
async def test_an_application_keeps_its_certificates_while_their_secret_is_gone(source: str) -> None:
    world = UsersWorld()
    if source == "theirs":
        world.secret("theirs", ALLOWED, **{"ca.crt": "PEM"})
        ask_for_certificate(world, "theirs")
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        before = world.connection()
        world.drop_secret(source)
        await asyncio.sleep(3600)
        assert world.connection() == before
        assert f"there is no Secret {source}" in world.user_condition("Ready")["message"]
        world.secret(source, OWN if source == "logs-ca" else ALLOWED, **{"ca.crt": "NEXT"})
        await world.until(lambda: world.connection()["ca.crt"] == "NEXT")


@pytest.mark.parametrize("wrong", [{"ca.crt": "NEXT"}, {"tls.crt": "from an ACME issuer"}])
async def test_an_application_trusts_what_members_show_while_the_given_certificate_cannot_be_used(
    wrong: dict[str, str],
) -> None:
    """Members keep the last good certificate, or show another one only after a restart; the operator trusts both."""
    world = UsersWorld()
    world.secret("logs-operator-tls", OWN, **{"ca.crt": "PEM"})
    world.secret("theirs", ALLOWED, **{"ca.crt": "PEM"})
    ask_for_certificate(world, "theirs")
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        before = world.connection()
        world.change_secret("theirs", **wrong)
        await asyncio.sleep(3600)
        assert world.connection() == before
        world.change_secret("logs-operator-tls", **{"ca.crt": "PEM and NEXT"})
        await world.until(lambda: world.connection()["ca.crt"] == "PEM and NEXT")


async def test_a_new_user_is_told_that_its_certificates_do_not_exist_yet() -> None:
    world = UsersWorld()
    world.drop_secret("logs-ca")
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        assert "ca.crt is empty" in world.user_condition("Ready")["message"]


@pytest.mark.parametrize("password", [{}, ROTATED])
async def test_a_connection_secret_of_a_new_name_has_the_same_password(password: dict[str, str]) -> None:
    """The disaster this prevents: applications with the earlier Secret are locked out at once."""
    world = UsersWorld()
    world.user(password=password)
    async with world.operator():
        await world.until(world.user_ready)
        before = world.connection()
        world.user(connectionSecretName="other")
        await world.until(lambda: world.connection("other").get("password"))
        await asyncio.sleep(600)
        assert world.connection("other") == before
        assert world.application_connects()
        assert world.connection() == before


async def test_a_connection_secret_of_a_new_name_has_nothing_from_a_secret_of_another_owner() -> None:
    world = UsersWorld()
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        world.drop_secret("shop-connection")
        world.secret("shop-connection", {}, username="shop", password="geheim-77")
        world.user(connectionSecretName="other")
        await world.until(lambda: world.connection("other").get("password"))
        await world.until(world.user_ready)
    assert "geheim-77" not in (*world.connection("other").values(), *world.passwords.values())
