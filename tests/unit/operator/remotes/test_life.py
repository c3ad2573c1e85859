"""Remote clusters come when both sides ask for them, and go without a trace."""

import asyncio

import pytest

from stateward.engines.search.remote.requests import PREFIX
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH, ClusterKind
from tests.support.requests import counted_requests
from tests.unit.operator.remotes.world import ADDRESS, ENTRY, OTHER, OURS, WORD, Database, World

BOTH = pytest.mark.parametrize("kind", [OPENSEARCH, ELASTICSEARCH])


@BOTH
async def test_a_cluster_is_searched_once_both_sides_have_written_it(kind: ClusterKind) -> None:
    world = World(kind=kind)
    world.search(ENTRY)
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterNotAllowed"))
        said = world.entry()["message"]
        assert "add {name: logs, namespace: prod} to its spec.remoteAccess.from" in said
        await asyncio.sleep(120)
        assert world.settings_of_remotes == {}
        assert world.service() is None
        world.consent()
        await world.until(world.connected)
    assert world.settings_of_remotes == OURS
    assert world.entry()["cluster"] == "team-b/events"
    service = world.service()
    assert service is not None
    assert [port["port"] for port in service.doc["spec"]["ports"]] == [9300]
    assert service.doc["spec"]["selector"]["stateward.dev/cluster"] == "events"


async def test_an_address_is_in_the_status_before_it_is_in_the_database_and_both_come_in_one_round() -> None:
    world = World()
    world.consent()
    world.search(ENTRY)
    recorded: list[str] = []
    world.database.wire.command_done = lambda _: recorded.append(world.entry().get("address", ""))
    async with world.operator():
        await world.until(world.connected, 5)
    assert recorded[0] == ADDRESS


async def test_what_is_removed_from_the_spec_is_removed_from_the_database_and_nothing_else() -> None:
    world = World()
    foreign = {f"{PREFIX}theirs.seeds": "10.1.2.3:9300", "cluster.routing.allocation.enable": "all"}
    world.settings_of_remotes.update(foreign)
    world.consent()
    world.search(ENTRY, {**ENTRY, "name": "again"})
    async with world.operator():
        await world.until(lambda: world.connected() and world.connected("again"))
        world.search({**ENTRY, "name": "again"})
        await world.until(lambda: "east" not in world.status())
        assert world.connected("again")
        world.search()
        world.edit_other(remoteAccess=None)
        await world.until(lambda: not world.status() and world.service() is None)
        await world.until(lambda: "remoteAccess" not in world.other().doc["status"])
    assert world.settings_of_remotes == foreign
    assert "RemoteClusterRemoved" in world.told()


async def test_consent_that_is_taken_back_ends_the_search() -> None:
    world = World()
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(world.connected)
        world.consent({"name": "logs", "namespace": "elsewhere"})
        await world.until(lambda: world.waits_for("RemoteClusterNotAllowed") and not world.settings_of_remotes)
        await world.until(lambda: not world.entry().get("address"))
        world.consent()
        await world.until(world.connected)


async def test_a_deleted_cluster_is_no_longer_searched_and_a_new_one_of_the_name_needs_a_new_word() -> None:
    world = World()
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(world.connected)
        world.server.delete(world.plural, OTHER, DeleteOptions(Preconditions(world.other().uid)))
        await world.until(lambda: world.waits_for("RemoteClusterNotAllowed") and not world.settings_of_remotes)
        before = world.entry()["message"]
        world.make_other()
        await asyncio.sleep(60)
        assert world.waits_for("RemoteClusterNotAllowed")
        assert world.entry()["message"] == before, "whether it exists is not told to other namespaces"


async def test_an_edit_of_an_entry_changes_its_settings() -> None:
    world = World()
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(world.connected)
        world.search({**ENTRY, "skipUnavailable": False})
        await world.until(lambda: world.settings_of_remotes[f"{PREFIX}east.skip_unavailable"] == "false")
        await world.until(world.connected)
        world.search({**ENTRY, "cluster": {"name": "gone"}})
        await world.until(lambda: world.waits_for("RemoteClusterMissing") and not world.settings_of_remotes)


async def test_nothing_is_written_while_nothing_changes() -> None:
    world = World()
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(world.connected)
        await asyncio.sleep(200)
        before, sent = world.versions(), world.database.writes
        await asyncio.sleep(3600)
    assert world.versions() == before
    assert world.database.writes == sent


async def test_a_cluster_that_only_searches_is_never_asked_for_its_service(monkeypatch: pytest.MonkeyPatch) -> None:
    world, calls = World(), counted_requests(monkeypatch)
    world.search(ENTRY)
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterNotAllowed"))
        await asyncio.sleep(120)
        assert not [name for name in calls if name.endswith("/services")]
        world.consent()
        await world.until(world.connected)
        assert calls["apply /services"], "the other one has a Service"


async def test_members_that_cannot_connect_yet_are_woken_until_they_do() -> None:
    world = World()
    assert isinstance(world.database, Database)
    world.database.reachable.clear()
    world.consent()
    world.search(ENTRY)
    async with world.operator():
        await world.until(lambda: world.waits_for("RemoteClusterConnecting"))
        await asyncio.sleep(60)
        assert "unable to connect to east" in world.entry()["message"]
        world.database.reachable.add(OURS[f"{PREFIX}east.proxy_address"])
        await world.until(world.connected)


async def test_two_clusters_may_search_each_other() -> None:
    world = World()
    world.consent()
    world.edit(remoteAccess={"from": [{"name": OTHER.name, "namespace": OTHER.namespace}]})
    world.search(ENTRY)
    world.edit_other(remoteClusters=[{"name": "back", "cluster": WORD}])
    async with world.operator():
        await world.until(world.connected)
        await world.until(lambda: "remoteClusters" in world.other().doc["status"])
    assert world.other().doc["status"]["remoteClusters"][0]["reason"] == "RemoteClusterWaitForDatabase"
