"""An upgrade from a version with one key for all namespaces writes nothing into a database, and renews all digests."""

import asyncio
from typing import Any

import pytest

from tests.unit.operator.declared.users_world import UsersWorld
from tests.unit.operator.declared.world import TEMPLATE, World
from tests.unit.operator.restarts.earlier_keys import use_one_key_for_all

ALLOWED = {"stateward.dev/allowed-for-pods": "logs"}
SETTINGS: dict[str, Any] = {"object": "clusterSettings", "body": {"search.a": 1, "search.b": "2"}}
OBJECT: dict[str, Any] = {"object": "indexTemplate/logs", "body": TEMPLATE}
SECRET: dict[str, Any] = {
    "object": "clusterSettings",
    "body": {"search.a": 1},
    "values": [{"path": "/search.b", "secretName": "given", "key": "word"}],
}


async def earlier(monkeypatch: pytest.MonkeyPatch, **spec: Any) -> World:
    """Return a world in which an earlier version has written an object."""
    world = World()
    world.secret("given", ALLOWED, word="geheim-77")
    with monkeypatch.context() as patched:
        use_one_key_for_all(patched)
        world.declare(**spec)
        async with world.operator():
            await world.until(world.is_ready)
    assert "/" not in world.status()["applied"] + world.status()["stored"]
    return world


@pytest.mark.parametrize("drift", ["Report", "Correct"])
@pytest.mark.parametrize("spec", [OBJECT, SETTINGS, SECRET], ids=["object", "settings", "secret"])
async def test_an_object_is_as_it_was_and_its_digests_get_the_name_of_their_key(
    monkeypatch: pytest.MonkeyPatch, spec: dict[str, Any], drift: str
) -> None:
    world = await earlier(monkeypatch, drift=drift, **spec)
    writes = len(world.database.writes)
    async with world.operator():
        await asyncio.sleep(900)
        assert world.is_ready()
        status = world.status()
    assert len(world.database.writes) == writes
    assert all("/" in status[field] for field in ("applied", "stored"))
    assert not {"DriftCorrected", "Drifted"} & set(world.told())
    async with world.operator():
        await asyncio.sleep(900)
    assert world.status() == status
    assert len(world.database.writes) == writes


async def test_a_setting_that_others_have_changed_meanwhile_is_still_known_to_be_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await earlier(monkeypatch, drift="Report", **SETTINGS)
    world.database.settings["search.a"] = "9"
    async with world.operator():
        await world.until(lambda: world.stalled() == "Drifted")
    assert world.database.settings["search.a"] == "9"


async def test_what_an_earlier_version_wrote_is_removed_with_its_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await earlier(monkeypatch, **SETTINGS)
    world.delete()
    async with world.operator():
        await world.until(lambda: not world.exists())
    assert world.database.settings == {}


async def test_a_user_is_as_it_was_and_its_digests_get_the_name_of_their_key(monkeypatch: pytest.MonkeyPatch) -> None:
    world = UsersWorld()
    world.secret("given", ALLOWED, password="geheim-77")
    world.user(password={"secretName": "given"})
    with monkeypatch.context() as patched:
        use_one_key_for_all(patched)
        async with world.operator():
            await world.until(world.user_ready)
    (before,) = world.user_status()["users"]
    assert "/" not in before["applied"]
    writes = len(world.database.writes)
    async with world.operator():
        await asyncio.sleep(900)
    (after,) = world.user_status()["users"]
    assert len(world.database.writes) == writes
    assert all("/" in after[field] for field in ("applied", "stored"))


async def test_a_user_with_a_guessed_password_has_another_digest_than_the_user_who_has_it() -> None:
    world = UsersWorld()
    world.secret("given", ALLOWED, password="geheim-77")
    for name in ("shop", "guess"):
        world.user(name, password={"secretName": "given"})
    async with world.operator():
        await world.until(lambda: world.user_ready("shop") and world.user_ready("guess"))
    one, other = (world.user_status(name)["users"][0] for name in ("shop", "guess"))
    assert one["applied"] != other["applied"]
