"""Copied Secrets: the copies stay, and the originals are deleted once their cluster is certainly deleted."""

import asyncio

import pytest

from stateward.api.values import names
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.store import Stored
from tests.simulation.scenario import SECRETS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation
COPIED = ("logs-admin", "logs-ca")
ON = {"enabled": True}
CLUSTERS = "stateward.dev/osclusters"


def stored(scenario: Scenario, name: str) -> Stored:
    found = scenario.object(SECRETS, name)
    assert found is not None
    return found


def uids(scenario: Scenario) -> dict[str, str]:
    return {
        s.key.name: s.uid for s in scenario.world.store.all(SECRETS) if s.key in {("data", name) for name in COPIED}
    }


def secured() -> Scenario:
    return Scenario(managers(1), hot(2), security=ON)


async def test_they_have_no_owner_and_go_with_their_cluster_while_copies_stay() -> None:
    with secured().logged() as scenario:
        await scenario.begin()
        scenario.world.server.create("/namespaces", "", {"metadata": {"name": "clients"}})
        for name in COPIED:
            assert not stored(scenario, name).meta.get("ownerReferences")
            live = stored(scenario, name)
            kept = {key: live.meta[key] for key in ("name", "labels", "annotations")}
            for namespace, copy in (("clients", name), ("data", f"{name}-copy")):
                body = {**live.doc, "metadata": {**kept, "name": copy, "namespace": namespace}}
                scenario.world.server.create(SECRETS, namespace, body)
        scenario.user.delete()
        assert await scenario.until(lambda: not uids(scenario), 60.0)
        await asyncio.sleep(300.0)
        for name in COPIED:
            assert scenario.object(SECRETS, name, "clients") is not None
            assert scenario.object(SECRETS, f"{name}-copy") is not None


async def test_they_go_when_the_cluster_was_deleted_while_no_operator_ran() -> None:
    with secured().logged() as scenario:
        await scenario.begin()
        scenario.process.kill()
        scenario.user.delete()
        assert await scenario.until(lambda: not scenario.uids(SETS) and not uids(scenario), 300.0)


async def test_a_cluster_of_the_same_name_does_not_take_those_of_the_one_before() -> None:
    with secured().logged() as scenario:
        await scenario.begin()
        before = uids(scenario)
        scenario.process.kill()
        scenario.user.delete()
        scenario.user.create()
        assert await scenario.until(
            lambda: len(uids(scenario)) == 2 and not set(before.values()) & set(uids(scenario).values())
        )
        await scenario.settle()


async def test_those_of_a_living_cluster_stay_whatever_old_caches_show() -> None:
    with secured().logged() as scenario:
        await scenario.begin()
        before = uids(scenario)
        scenario.process.stales[CLUSTERS] = 100_000
        scenario.process.lags[CLUSTERS] = 60.0
        scenario.process.kill()
        await asyncio.sleep(120.0)
        scenario.process.stales.clear()
        scenario.process.lags.clear()
        await scenario.settle()
        assert uids(scenario) == before


async def test_those_that_were_made_with_an_owner_lose_it_and_keep_everything_else() -> None:
    with secured().logged() as scenario:
        await scenario.begin()
        cluster = scenario.world.resource()
        assert cluster is not None
        owner = {
            "apiVersion": "stateward.dev/v1alpha1",
            "kind": "OpenSearchCluster",
            "name": "logs",
            "controller": True,
        }
        for name in COPIED:
            given = {
                "ownerReferences": [{**owner, "uid": cluster.uid}],
                "annotations": {names.ANNOTATION_CREATED_FOR: None},
            }
            scenario.world.server.patch(SECRETS, Key("data", name), {"metadata": given}, PatchKind.MERGE)
        data = {name: stored(scenario, name).doc["data"] for name in COPIED}
        before = uids(scenario)
        healed = lambda: not any(stored(scenario, name).meta.get("ownerReferences") for name in COPIED)  # noqa: E731
        assert await scenario.until(healed, 120.0)
        assert {name: stored(scenario, name).doc["data"] for name in COPIED} == data
        assert uids(scenario) == before
        scenario.user.delete()
        assert await scenario.until(lambda: not uids(scenario), 60.0)
