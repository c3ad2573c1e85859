"""What is refused, what waits, and what a person has set: with a reason, and without a change in the database."""

import asyncio
from typing import Any

import pytest

from stateward.engines.search.remote.requests import PREFIX
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.client import WorldApi
from tests.unit.operator.dashboards.world import HOME
from tests.unit.operator.remotes.world import ADDRESS, ENTRY, OTHER, OURS, WORD, Database, World

BY_HAND = {f"{PREFIX}east.seeds": '["10.1.2.3:9300"]'}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "node"}, "RemoteClusterInvalid"),
        ({"cluster": {"name": "logs"}}, "RemoteClusterInvalid"),
        ({"cluster": {"name": "logs", "namespace": HOME}}, "RemoteClusterInvalid"),
        ({"cluster": {"name": "events"}}, "RemoteClusterMissing"),
    ],
)
async def test_what_cannot_be_searched_says_why(changes: dict[str, Any], reason: str) -> None:
    world = World()
    world.consent()
    world.search({**ENTRY, **changes})
    alias = changes.get("name", "east")
    async with world.operator():
        await world.until(lambda: world.waits_for(reason, alias))
        await asyncio.sleep(60)
    assert world.settings_of_remotes == {}


async def test_the_word_is_for_one_namespace() -> None:
    """A cluster of the same name elsewhere is another cluster."""
    world = World()
    world.consent({"name": "logs"}, {"name": "logs", "namespace": "other"})
    world.search(ENTRY)
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterNotAllowed"))


@pytest.mark.parametrize("secured", [False, True])
async def test_a_secured_and_an_unsecured_cluster_are_not_joined(secured: bool) -> None:
    world = World()
    world.secured = secured
    world.set_status(world.deployed)
    world.context.change(world.other(), ("status", "security"), {"enabled": not secured})
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterSecurityDiffers"))
    assert world.settings_of_remotes == {}


@pytest.mark.parametrize("scope", ["persistent", "transient"])
async def test_what_a_person_has_set_is_not_overwritten(scope: str) -> None:
    world = World()
    assert isinstance(world.database, Database)
    world.database.settings[scope].update(BY_HAND)
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterConflict"))
        await asyncio.sleep(120)
        assert world.database.settings[scope] == BY_HAND
        world.search()
        await world.until(lambda: not world.status())
        assert world.database.settings[scope] == BY_HAND
        world.search(ENTRY)
        await world.until(lambda: world.waits_for("RemoteClusterConflict"))
        world.database.settings[scope].clear()
        await world.until(world.connected)


async def test_what_a_person_has_changed_stays_when_the_entry_goes() -> None:
    world = World()
    world.consent()
    world.search(ENTRY)
    changed = {**OURS, f"{PREFIX}east.proxy_address": "proxy.example:9300"}
    async with world.operator():
        await world.until(world.connected)
        world.settings_of_remotes.update(changed)
        await world.until(lambda: world.waits_for("RemoteClusterConflict"))
        world.search()
        await world.until(lambda: not world.status())
    assert world.settings_of_remotes == changed


async def test_a_lost_status_is_found_again() -> None:
    world = World()
    world.settings_of_remotes.update(OURS)
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(world.connected)
        assert world.entry()["address"] == ADDRESS
        world.search()
        await world.until(lambda: not world.settings_of_remotes)


async def test_what_the_database_refuses_is_told() -> None:
    world = World()
    assert isinstance(world.database, Database)
    world.database.refuses = True
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterRefused"))
        assert "cannot be changed" in world.entry()["message"]
        world.database.refuses = False
        await world.until(world.connected)


async def test_nothing_is_forgotten_while_the_database_does_not_answer() -> None:
    world = World()
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(world.connected)
        world.reachable = False
        world.search()
        await world.until(lambda: world.waits_for("RemoteClusterWaitForDatabase"))
        await asyncio.sleep(300)
        assert world.entry()["state"] == "Removing"
        assert world.entry()["address"] == ADDRESS
        world.reachable = True
        await world.until(lambda: not world.status())
    assert world.settings_of_remotes == {}


async def test_what_was_never_set_goes_without_an_answer_of_the_database() -> None:
    world = World()
    world.reachable = False
    world.search(ENTRY)
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterNotAllowed"))
        world.search()
        await world.until(lambda: not world.status())


async def test_a_cluster_that_cannot_be_read_is_unknown_and_not_gone() -> None:
    """Whatever its owner has written: only its own entry waits, and what is set stays."""
    world = World()
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(world.connected)
        world.context.change(world.other(), ("spec", "pools"), "no list")
        await world.until(lambda: world.waits_for("RemoteClusterUnknown"))
        assert world.entry()["message"].endswith("/events cannot be read: its owner has to correct it")
        world.search(ENTRY, {"name": "west", "cluster": {"name": "none"}})
        await world.until(lambda: world.waits_for("RemoteClusterMissing", "west"))
        assert world.entry()["address"] == ADDRESS
        assert world.settings_of_remotes == OURS
        world.context.change(world.other(), ("spec", "pools"), world.first_spec("2.19.1")["pools"])
        await world.until(world.connected)


async def test_a_cluster_that_may_not_be_read_is_unknown_and_the_refusal_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = WorldApi.get

    async def refusing(self: WorldApi, resource: Any, key: Key, *rest: Any, **more: Any) -> Any:
        if key == OTHER:
            raise Forbidden("its namespace may not be read")
        return await plain(self, resource, key, *rest, **more)

    world = World()
    world.consent()
    world.search(ENTRY)
    monkeypatch.setattr(WorldApi, "get", refusing)
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterUnknown"))
    assert "its namespace may not be read" in world.entry()["message"]
    assert world.settings_of_remotes == {}


async def test_what_is_wrong_with_a_cluster_of_the_own_namespace_is_told() -> None:
    world = World()
    other = world.other()
    head = {key: other.doc[key] for key in ("apiVersion", "kind", "spec")}
    world.server.create(world.plural, HOME, {**head, "metadata": {"name": "near"}})
    near = world.store.get(world.plural, Key(HOME, "near"))
    assert near is not None
    world.context.change(near, ("spec", "pools"), "no list")
    world.search({"name": "east", "cluster": {"name": "near"}})
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterUnknown"))
    assert "pools" in world.entry()["message"]
    assert "its owner has to correct it" not in world.entry()["message"]


async def test_one_that_cannot_be_read_looks_like_one_that_does_not_exist_until_it_has_consented() -> None:
    world = World()
    world.context.change(world.other(), ("spec", "pools"), "no list")
    world.search(ENTRY, {**ENTRY, "name": "west", "cluster": {**ENTRY["cluster"], "name": "none"}})
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterNotAllowed"))
        await world.until(lambda: world.waits_for("RemoteClusterNotAllowed", "west"))
        east, west = (world.entry(alias)["message"] for alias in ("east", "west"))
        assert east.replace(OTHER.name, "none") == west


async def test_a_service_of_others_is_left_alone() -> None:
    world = World()
    name = f"{OTHER.name}-remote"
    foreign = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"selector": {"a": "b"}}}
    world.server.create("/services", OTHER.namespace, foreign)
    world.consent()
    async with world.operator():
        await world.until(lambda: world.access(world.other()) == "RemoteAccessNameTaken")
        world.edit_other(remoteAccess=None)
        await world.until(lambda: "remoteAccess" not in world.other().doc["status"])
    found = world.store.get("/services", Key(OTHER.namespace, name))
    assert found is not None
    assert found.doc["spec"]["selector"] == {"a": "b"}


async def test_a_cluster_that_names_itself_as_a_guest_gets_no_service() -> None:
    world = World()
    world.edit(remoteAccess={"from": [WORD]})
    async with world.operator():
        await world.until(lambda: world.access(world.cluster_object()) == "RemoteAccessInvalid")
    assert world.store.get("/services", Key(HOME, "logs-remote")) is None
