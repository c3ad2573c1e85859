"""Exporters that may not be made wait with a reason, touch nothing foreign, and continue afterwards."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.engines.connection.base import Target
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH, ClusterKind
from stateward.simulation.cluster.deployments import DEPLOYMENTS
from stateward.simulation.opensearch.stored_objects import StoredObject
from tests.support.requests import refuse, unknown_field
from tests.unit.operator.dashboards import world as base
from tests.unit.operator.dashboards.world import HOME
from tests.unit.operator.exporters.world import Database, World

FOREIGN: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "logs-metrics"}, "spec": {}}


async def test_an_object_of_another_owner_is_left_alone_and_said() -> None:
    world = World()
    world.server.create("/services", HOME, FOREIGN)
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsNameTaken")
        assert "Service logs-metrics" in world.status()["message"]
        world.delete("/services", "logs-metrics")
        await world.until(world.available)


async def test_a_secret_of_another_owner_is_not_overwritten() -> None:
    world = World()
    world.secret("logs-metrics-keys", password="theirs")
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsNameTaken")
    assert world.texts("logs-metrics-keys") == {"password": "theirs"}
    assert world.users() == []


@pytest.mark.parametrize("kind", [OPENSEARCH, ELASTICSEARCH])
@pytest.mark.parametrize("what", ["user", "role"])
async def test_a_user_or_role_of_others_is_not_taken_over_and_not_deleted(kind: ClusterKind, what: str) -> None:
    world = World(kind=kind)
    path = f"{world.root}stateward-metrics-1" if what == "user" else world.role_path
    theirs = StoredObject({"attributes": {}, "metadata": {}, "description": "ours"}, 1)
    world.database.objects.by_path[path] = theirs
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsUserTaken")
        world.edit(metrics=None)
        await world.until(lambda: not world.status())
    assert world.database.objects.by_path[path] == theirs
    assert world.traces() == [path]


@pytest.mark.parametrize("kind", [OPENSEARCH, ELASTICSEARCH])
async def test_a_cluster_that_was_made_again_on_its_volumes_takes_over_its_users(kind: ClusterKind) -> None:
    world = World(kind=kind)
    mark = {"stateward-cluster": "prod/logs"}
    for name in ("stateward-metrics-1", "stateward-metrics-2"):
        world.database.objects.by_path[f"{world.root}{name}"] = StoredObject({"attributes": mark, "metadata": mark}, 1)
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.available() and len(world.users()) == 1)
        world.edit(metrics=None)
        await world.until(lambda: not world.status())
    assert world.traces() == []


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"volumes": [{"name": "node", "hostPath": {"path": "/"}}]}, "hostPath"),
        ({"hostNetwork": True}, "hostNetwork"),
        ({"serviceAccountName": "stateward"}, "serviceAccountName"),
        ({"volumes": [{"name": "keys", "secret": {"secretName": "logs-metrics-keys"}}]}, "secretName"),
    ],
)
async def test_the_pod_gets_no_more_than_those_of_a_cluster_may(spec: dict[str, Any], field: str) -> None:
    world = World()
    world.ask_for(podTemplate={"spec": spec})
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsPodNotAllowed")
        assert field in world.status()["message"]
        assert world.status()["message"].startswith("spec.metrics.podTemplate.spec")
        await asyncio.sleep(60)
        assert world.deployment() is None
        world.ask_for()
        await world.until(world.available)


@pytest.mark.parametrize(
    "template",
    [
        {"spec": {"containers": [{"name": "exporter", "image": "other:1"}]}},
        {"spec": {"containers": [{"name": "exporter", "command": ["sh"]}]}},
        {"metadata": {"labels": {"stateward.dev/cluster": "logs"}}},
    ],
)
async def test_an_invalid_block_is_said_and_stops_a_running_exporter_in_no_way(template: dict[str, Any]) -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        pods = {pod.uid for pod in world.pods()}
        live = world.cluster_object()
        doc = {**live.doc, "spec": {**live.doc["spec"], "metrics": {"podTemplate": template}}}
        world.store.put(live.kind, doc, live.managers)  # An API server with its rules refuses some of these itself.
        await world.until(lambda: world.reason == "MetricsInvalid")
        await asyncio.sleep(60)
        assert {pod.uid for pod in world.pods()} == pods


async def test_an_operator_without_its_image_says_so() -> None:
    world = World()
    world.image = ""
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsNoImage")
        world.edit(metrics=None)
        await world.until(lambda: not world.status())


async def test_an_unreachable_database_stops_nothing_and_a_removal_waits_for_it() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        pods = {pod.uid for pod in world.pods()}
        world.reachable = False
        await world.until(lambda: world.reason == "MetricsWaitForDatabase")
        await asyncio.sleep(120)
        assert {pod.uid for pod in world.pods()} == pods
        world.edit(metrics=None)
        await world.until(lambda: not world.pods())
        await asyncio.sleep(60)
        assert world.traces()
        world.reachable = True
        await world.until(lambda: not world.status())
    assert world.traces() == []


async def test_an_exporter_that_reads_nothing_is_not_available_and_a_silent_one_is_not_known() -> None:
    world = World()
    world.ask_for()
    world.exporters.broken = True
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsUnavailable")
        assert "401" in world.status()["message"]
        world.exporters.broken, world.exporters.silent = False, True
        await world.until(lambda: world.reason == "MetricsSilent")
        world.exporters.silent = False
        await world.until(world.available)


@pytest.mark.parametrize("answers", [200, 403])
async def test_the_user_of_an_exporter_that_reads_nothing_is_not_written_again_while_its_password_is_right(
    monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    world = World()
    if answers == 200:
        monkeypatch.setattr(Database, "_answer", base.Database._answer)
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.exporters.broken = True
        await world.until(lambda: world.reason == "MetricsUnavailable")
        sent = world.database.writes
        await asyncio.sleep(300)
    assert world.database.writes == sent


class Unformed(World):
    """A cluster whose database the operator knows where to find, and has never reached."""

    def target(self, kind: str, key: Key) -> Target | None:
        found = super().target(kind, key)
        return found and replace(found, identity="")


async def test_nothing_is_made_before_the_operator_has_reached_the_database() -> None:
    world = Unformed()
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsWaitForDatabase")
        await asyncio.sleep(60)
    assert world.deployment() is None
    assert world.database.calls == []


async def test_pods_that_the_api_server_does_not_accept_are_said_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, unknown_field(DEPLOYMENTS))
    world = World()
    world.ask_for(podTemplate={"spec": {"bogus": 1}})
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsNotAccepted")
        assert ".spec.template.spec.bogus: field not declared" in world.status()["message"]
        world.ask_for()
        await world.until(world.available)
