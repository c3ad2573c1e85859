"""Dashboards that may not be made as asked wait with a reason, touch nothing foreign, and continue afterwards."""

import asyncio
from typing import Any

import pytest

from stateward import pki
from stateward.engines.search.dashboards.credentials import user_body
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.pki.files import authority_files
from stateward.simulation.cluster.deployments import DEPLOYMENTS
from stateward.simulation.opensearch.stored_objects import StoredObject
from tests.support.requests import refuse, unknown_field
from tests.unit.operator.dashboards.world import HOME, NAME, USER_PATH, World

FOREIGN: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "logs-dashboards"}, "spec": {}}


async def test_an_object_of_another_owner_is_left_alone_and_said() -> None:
    world = World()
    world.server.create("/services", HOME, FOREIGN)
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsNameTaken")
        assert "Service logs-dashboards" in world.status()["message"]
        world.delete("/services", "logs-dashboards")
        await world.until(world.available)


async def test_a_secret_of_another_owner_gives_no_keys_and_is_not_overwritten() -> None:
    world = World()
    world.secret("logs-dashboards-keys", **{"session-key": "theirs"})
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsNameTaken")
    assert world.texts("logs-dashboards-keys") == {"session-key": "theirs"}


async def test_a_user_of_others_is_not_taken_over_and_not_deleted() -> None:
    world = World()
    world.take_user()
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsUserTaken")
        world.edit(dashboards=None)
        await world.until(lambda: not world.status())
    assert world.database.objects.by_path[USER_PATH] == StoredObject({"attributes": {}}, 1)


async def test_a_cluster_that_is_made_again_on_its_kept_volumes_takes_over_the_user_of_its_database() -> None:
    world = World()
    world.database.objects.by_path[USER_PATH] = StoredObject(user_body("before", f"{HOME}/{NAME}"), 99)
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
    assert world.database.objects.by_path[USER_PATH].number != 99, "it has another password"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"volumes": [{"name": "node", "hostPath": {"path": "/"}}]}, "hostPath"),
        ({"hostNetwork": True}, "hostNetwork"),
        ({"serviceAccountName": "stateward"}, "serviceAccountName"),
        ({"volumes": [{"name": "ca", "secret": {"secretName": "logs-ca"}}]}, "volumes[ca].secret.secretName"),
        ({"volumes": [{"name": "keys", "secret": {"secretName": "logs-dashboards-keys"}}]}, "secretName"),
        ({"containers": [{"name": "x", "image": "x:1", "envFrom": [{"secretRef": {"name": "logs-ca"}}]}]}, "secretRef"),
    ],
)
async def test_pods_get_no_more_than_those_of_a_cluster_may(spec: dict[str, Any], field: str) -> None:
    world = World()
    world.ask_for(podTemplate={"spec": spec})
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsPodNotAllowed")
        assert field in world.status()["message"]
        assert world.status()["message"].startswith("spec.dashboards.podTemplate.spec")
        await asyncio.sleep(60)
        assert world.deployment() is None
        world.ask_for()
        await world.until(world.available)


async def test_a_label_that_lures_the_traffic_of_a_service_is_refused() -> None:
    world = World()
    shop = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": {"selector": {"app": "shop"}}}
    world.server.create("/services", HOME, shop)
    world.ask_for(podTemplate={"metadata": {"labels": {"app": "shop"}}})
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsPodNotAllowed")
    assert "Service shop" in world.status()["message"]


@pytest.mark.parametrize(
    "asked",
    [
        {"config": {"opensearch": {"hosts": ["http://elsewhere:9200"]}}},
        {"config": {"server.ssl.key": "/other.key"}},
        {"podTemplate": {"spec": {"containers": [{"name": "dashboards", "image": "other:1"}]}}},
        {
            "podTemplate": {
                "spec": {"containers": [{"name": "dashboards", "env": [{"name": "OPENSEARCH_HOSTS", "value": "x"}]}]}
            }
        },
        {"podTemplate": {"metadata": {"labels": {"stateward.dev/cluster": "logs"}}}},
        {"service": {"spec": {"externalIPs": ["10.0.0.1"]}}},
        {"version": "2.19.3"},
        {"image": "mirror/opensearch-dashboards:2.18.0"},
        {"tls": {"enabled": False, "secretName": "given"}},
    ],
)
async def test_an_invalid_block_is_said_and_stops_running_dashboards_in_no_way(asked: dict[str, Any]) -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        pods = {pod.uid for pod in world.pods()}
        live = world.cluster_object()
        doc = {**live.doc, "spec": {**live.doc["spec"], "dashboards": asked}}
        world.store.put(live.kind, doc, live.managers)  # An API server with its rules refuses some of these itself.
        await world.until(lambda: world.reason == "DashboardsInvalid")
        await asyncio.sleep(60)
        assert {pod.uid for pod in world.pods()} == pods
        assert world.status()["message"].startswith("spec.dashboards.")


async def test_an_unreachable_database_stops_nothing_that_runs() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        pods = {pod.uid for pod in world.pods()}
        world.reachable = False
        await world.until(lambda: world.reason == "DashboardsNoDatabase")
        await asyncio.sleep(120)
        assert {pod.uid for pod in world.pods()} == pods
        world.reachable = True
        await world.until(world.available)


async def test_a_removal_waits_for_the_database_that_has_the_credentials() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.reachable = False
        world.edit(dashboards=None)
        await world.until(lambda: world.reason == "DashboardsNoDatabase")
        assert USER_PATH in world.database.objects.by_path
        world.reachable = True
        await world.until(lambda: not world.status())
    assert USER_PATH not in world.database.objects.by_path


async def test_instances_that_report_trouble_are_not_available_and_those_that_are_silent_are_not_known() -> None:
    world = World()
    world.ask_for()
    world.instances.broken = True
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsUnavailable")
        world.instances.broken, world.instances.silent = False, True
        await world.until(lambda: world.reason == "DashboardsSilent")
        assert not world.status().get("available")
        world.instances.silent = False
        await world.until(world.available)


async def test_dashboards_never_start_before_all_members_of_a_new_cluster_have_joined() -> None:
    world = World()
    world.ask_for()
    world.set_status("")
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsWaitForCluster")
        await asyncio.sleep(60)
        assert world.deployment() is None
        world.set_status("2.19.1")
        await world.until(lambda: world.available("2.19.1"))


async def test_an_earlier_version_is_refused_once_a_later_one_has_migrated() -> None:
    world = World(version="2.19.3")
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.available("2.19.3"))
        world.ask_for(version="2.19.1")
        await world.until(lambda: world.reason == "DashboardsCannotGoBack")
        await asyncio.sleep(60)
        assert world.status()["version"] == "2.19.3"
        assert len(world.pods()) == 1


async def test_a_given_certificate_that_is_missing_is_waited_for() -> None:
    world = World()
    world.ask_for(tls={"secretName": "given"})
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsTlsUnusable")
        assert "there is no such Secret" in world.status()["message"]
    assert world.store.get("apps/deployments", Key(HOME, "logs-dashboards")) is None


async def test_pods_that_the_api_server_does_not_accept_are_said_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that Kubernetes does not know passes the CRD and the webhook."""
    refuse(monkeypatch, unknown_field(DEPLOYMENTS))
    world = World()
    world.ask_for(podTemplate={"spec": {"bogus": 1}})
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsNotAccepted")
        assert world.status()["message"].startswith("spec.dashboards.podTemplate: the API server says: ")
        assert ".spec.template.spec.bogus: field not declared" in world.status()["message"]
        world.ask_for()
        await world.until(world.available)


async def test_a_ca_that_has_ended_signs_nothing_and_is_named() -> None:
    """A given one whose successor cannot be used: each round of new dashboards failed, and did not say why."""
    world, now = World(), VirtualClock().now().timestamp()
    valid = authority_files(world.authority)
    world.rewrite_secret("logs-ca", **authority_files(pki.new_authority("logs CA", now - 86400.0, 0.5 / 365)))
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsTlsUnusable")
        assert "has ended" in world.status()["message"]
        world.rewrite_secret("logs-ca", **valid)
        await world.until(world.available)


async def test_no_certificate_is_made_with_a_ca_of_another_owner() -> None:
    """Its Secret may have the name that the cluster's own would have: the cluster's author chooses that name."""
    world = World()
    world.secured = False
    live = world.store.get("/secrets", Key(HOME, "logs-ca"))
    assert live is not None
    world.context.change(live, ("metadata", "labels"), {})
    world.ask_for(tls={"enabled": True})
    async with world.operator():
        await world.until(lambda: world.reason == "DashboardsTlsUnusable")
    assert "the cluster has no CA" in world.status()["message"]
