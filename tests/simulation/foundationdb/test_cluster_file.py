"""The cluster file in its Secret, all through the life of a FoundationDB cluster."""

import asyncio
import base64
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.foundationdb.objects import pod
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import KIND, NAME, Scenario

pytestmark = pytest.mark.simulation

WHERE = Key(NAMESPACE, f"{NAME}-cluster-file")


def shown(scenario: Scenario, kind: str = "/secrets") -> str:
    """Return what a Secret or ConfigMap says; empty where there is none."""
    found = scenario.world.store.get(kind, WHERE)
    text = found.doc["data"]["fdb.cluster"] if found is not None else ""
    return base64.b64decode(text).decode().strip() if kind == "/secrets" else text.strip()


def right(scenario: Scenario) -> str:
    assert scenario.database.cluster is not None
    return str(scenario.database.cluster.state.connection)


async def test_it_follows_the_coordinators_and_is_in_no_status() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        scenario.edit(members={"replace": [min(scenario.coordinators())]})
        assert await scenario.until(lambda: scenario.database.past), scenario.doing
        assert await scenario.settled(), scenario.doing
        assert shown(scenario) == right(scenario)
        assert shown(scenario, "/configmaps") == ""
        assert scenario.status["connectionSecretName"] == WHERE.name
        key = right(scenario).partition("@")[0].partition(":")[2]
        assert key not in str(scenario.status)
        scenario.check()


async def test_pods_of_before_continue_with_their_config_map_until_the_last_of_them_is_recreated() -> None:
    with Scenario().logged() as scenario:
        with by_config_map():
            await scenario.begin()
        before(scenario)
        uids = scenario.pods()
        scenario.process.start()
        assert await scenario.settled(), scenario.doing
        assert scenario.pods() == uids, "nothing restarts because the cluster file is kept elsewhere"
        assert "connection" not in scenario.status
        scenario.edit(members={"replace": [min(scenario.coordinators())]})
        assert await scenario.until(lambda: scenario.database.past), scenario.doing
        assert await scenario.settled(), scenario.doing
        assert shown(scenario) == shown(scenario, "/configmaps") == right(scenario)
        scenario.edit(podTemplate={"metadata": {"labels": {"made": "anew"}}})
        assert await scenario.settled(7200.0), scenario.doing
        assert shown(scenario) == right(scenario)
        assert shown(scenario, "/configmaps") == ""
        scenario.check()


async def test_one_that_is_deleted_comes_back_from_the_database_and_never_as_it_was_at_first() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        first = right(scenario)
        scenario.edit(members={"replace": [min(scenario.coordinators())]})
        assert await scenario.until(lambda: scenario.database.past), scenario.doing
        assert await scenario.settled(), scenario.doing
        assert right(scenario) != first
        for node in {run.container.node for run in scenario.world.foundationdb.pods.values() if run.alive}:
            scenario.world.foundationdb.isolate(node, on=True)
        scenario.process.kill()
        delete(scenario)
        scenario.process.start()
        assert await scenario.until(lambda: "ClusterFileLost" in scenario.doing, 600.0), scenario.doing
        await asyncio.sleep(300.0)
        assert shown(scenario) == ""
        for node in {run.container.node for run in scenario.world.foundationdb.pods.values() if run.alive}:
            scenario.world.foundationdb.isolate(node, on=False)
        assert await scenario.settled(), scenario.doing
        assert shown(scenario) == right(scenario)
        scenario.check()


async def test_a_user_restores_the_deleted_one_from_a_volume_while_the_database_does_not_answer() -> None:
    """Before it has its labels, it is not taken for the operator's own, and the status still says what to do."""
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        for node in {run.container.node for run in scenario.world.foundationdb.pods.values() if run.alive}:
            scenario.world.foundationdb.isolate(node, on=True)
        delete(scenario)
        assert await scenario.until(lambda: "ClusterFileLost" in scenario.doing, 600.0), scenario.doing
        content = base64.b64encode(right(scenario).encode()).decode()
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": WHERE.name},
            "data": {"fdb.cluster": content},
        }
        scenario.world.server.create("/secrets", WHERE.namespace, body, "kubectl")
        await asyncio.sleep(120.0)
        labels = {names.LABEL_CLUSTER: NAME, names.LABEL_ENGINE: "foundationdb"}
        assert all(f"{name}={value}" in scenario.doing for name, value in labels.items()), scenario.doing
        assert "a Secret without them is not the operator's, which never writes it" in scenario.doing
        assert "NotOwnedError" not in scenario.doing
        scenario.world.server.patch("/secrets", WHERE, {"metadata": {"labels": labels}}, PatchKind.MERGE, "kubectl")
        assert await scenario.until(lambda: "ClusterFileLost" not in scenario.doing, 600.0), scenario.doing
        for node in {run.container.node for run in scenario.world.foundationdb.pods.values() if run.alive}:
            scenario.world.foundationdb.isolate(node, on=False)
        assert await scenario.settled(), scenario.doing
        assert shown(scenario) == right(scenario)


def delete(scenario: Scenario) -> None:
    """Delete the Secret."""
    found = scenario.world.store.get("/secrets", WHERE)
    assert found is not None
    scenario.world.server.delete("/secrets", WHERE, DeleteOptions(Preconditions(found.uid)))


def before(scenario: Scenario) -> None:
    """Let the operator be one of before, which keeps no Secret, and the file in the status."""
    scenario.process.kill()
    text = shown(scenario, "/configmaps")
    assert text == right(scenario)
    delete(scenario)
    scenario.world.server.patch(KIND, Key(NAMESPACE, NAME), {"status": {"connection": text}}, PatchKind.MERGE, "status")


@contextmanager
def by_config_map() -> Generator[None]:
    """Let pods be made while the block runs that mount the ConfigMap, as operators of before made them."""

    def volumes(*args: Any) -> list[Json]:
        older = {"name": "cluster", "configMap": {"name": WHERE.name}}
        return [older if volume["name"] == "cluster" else volume for volume in newer(*args)]

    newer = vars(pod)["_volumes"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pod, "_volumes", volumes)
        yield
