"""Before the database exists: each wait ends when the user has corrected what it names, or has followed its advice."""

import asyncio

import pytest

from stateward.api.values.base import Json
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import KIND, NAME, PODS, Scenario, pool, pools

pytestmark = pytest.mark.simulation

CLAIMS = "/persistentvolumeclaims"
FIRST = {"logs-storage-0", "logs-storage-1", "logs-storage-2"}


def begun(scenario: Scenario) -> None:
    """Create the cluster resource."""
    meta = {"name": NAME, "namespace": NAMESPACE}
    body = {"apiVersion": "stateward.dev/v1alpha1", "kind": "FoundationDBCluster", "metadata": meta}
    scenario.world.server.create(KIND, NAMESPACE, {**body, "spec": scenario.spec}, "kubectl")


def delete(scenario: Scenario, kind: str, name: str) -> None:
    found = scenario.world.store.get(kind, Key(NAMESPACE, name))
    assert found is not None
    scenario.world.server.delete(kind, found.key, DeleteOptions(Preconditions(found.uid)))


def pod(scenario: Scenario, member: str) -> Json:
    found = scenario.world.store.get(PODS, Key(NAMESPACE, f"{member}-0"))
    return found.doc if found is not None else {"spec": {}}


async def test_a_cluster_with_a_wrong_storage_class_may_be_deleted_and_created_again() -> None:
    """Its claims were never bound. They must not take the names of the first coordinators from the members."""
    wrong = pool("storage", 5) | {"storage": {"size": "1Gi", "storageClass": "mistyped"}}
    with Scenario(pools=[wrong, *pools()[1:]]).logged() as scenario:
        begun(scenario)
        scenario.process.start()
        await asyncio.sleep(120.0)
        delete(scenario, KIND, NAME)
        await asyncio.sleep(120.0)
        scenario.spec["pools"] = pools()
        begun(scenario)
        assert await scenario.settled(), scenario.doing
        assert scenario.members() >= FIRST
        scenario.check()


async def test_a_cluster_with_its_own_volumes_may_be_created_again_while_they_are_being_deleted() -> None:
    with Scenario(volumes={"whenDeleted": "Delete"}).logged() as scenario:
        begun(scenario)
        scenario.process.start()
        scenario.world.kubelets.behavior.files = (0.0, 0.1)
        await asyncio.sleep(5.0)
        delete(scenario, KIND, NAME)
        await asyncio.sleep(0.5)
        begun(scenario)
        assert await scenario.until(lambda: "an earlier member of this name" in scenario.doing, 60.0), scenario.doing
        assert await scenario.settled(), scenario.doing
        assert scenario.members() >= FIRST
        scenario.check()


async def test_a_member_whose_volume_is_on_a_lost_machine_gets_another_one_when_its_claim_is_deleted() -> None:
    """That is the advice for `MembersFirst` and `DatabaseFirst`: nothing is lost, because there is no database yet."""
    with Scenario(where="node").logged() as scenario:
        begun(scenario)
        scenario.process.start()
        assert await scenario.until(lambda: pod(scenario, "logs-storage-1")["spec"].get("nodeName"), 60.0)
        await asyncio.sleep(2.5)
        scenario.world.nodes.remove(pod(scenario, "logs-storage-1")["spec"]["nodeName"])
        assert await scenario.until(lambda: "volume node affinity conflict" in scenario.doing, 900.0), scenario.doing
        scenario.edit(members={"replace": ["logs-storage-1"]})
        await asyncio.sleep(900.0)
        assert "DatabaseFirst" in scenario.doing
        delete(scenario, CLAIMS, "data-logs-storage-1")
        delete(scenario, PODS, "logs-storage-1-0")
        assert await scenario.settled(), scenario.doing
        assert "logs-storage-1" not in scenario.members()
        scenario.check()


@pytest.mark.parametrize("smaller", ["storage", "stateless"])
async def test_a_smaller_spec_makes_room_for_the_members_that_have_none(smaller: str) -> None:
    """Those that are not wanted any longer run, and would leave only once there is a database."""
    before = pools(storage=5, log=4, stateless=4)
    with Scenario(capacity=1, pools=before).logged() as scenario:
        begun(scenario)
        scenario.process.start()
        assert await scenario.until(lambda: "Too many pods" in scenario.doing, 300.0), scenario.doing
        await asyncio.sleep(300.0)
        scenario.edit(pools=[{**p, "replicas": p["replicas"] - (p["name"] == smaller)} for p in before])
        assert await scenario.settled(), scenario.doing
        assert scenario.members() >= FIRST
        assert len(scenario.members()) == 12
        scenario.check()


async def test_a_smaller_spec_does_not_wait_for_the_members_that_it_does_without() -> None:
    with Scenario(where="node").logged() as scenario:
        begun(scenario)
        scenario.process.start()
        assert await scenario.until(lambda: pod(scenario, "logs-storage-4")["spec"].get("nodeName"), 60.0)
        await asyncio.sleep(1.5)
        node = pod(scenario, "logs-storage-4")["spec"]["nodeName"]
        scenario.world.nodes.lose(node, power=True)
        assert await scenario.until(lambda: "MembersFirst" in scenario.doing, 300.0), scenario.doing
        scenario.edit(pools=pools(storage=4))
        created = lambda: scenario.database.cluster and scenario.database.cluster.state.configuration  # noqa: E731
        assert await scenario.until(created, 300.0), scenario.doing
        scenario.world.nodes.restore(node)
        assert await scenario.settled(), scenario.doing
        assert "logs-storage-4" not in scenario.members()
        scenario.check()


async def test_a_pool_that_is_removed_makes_room_and_the_advice_brings_other_coordinators() -> None:
    """The members of the removed pool are the first coordinators: with their room goes what the cluster file names."""
    extra = {**pool("storage", 3), "name": "more"}
    with Scenario(
        capacity=1, pools=[*pools(stateless=3), extra], volumes={"whenScaled": "Delete"}
    ).logged() as scenario:
        begun(scenario)
        scenario.process.start()
        await asyncio.sleep(300.0)
        scenario.edit(pools=pools(stateless=3))
        assert await scenario.until(lambda: "3 of its 3 coordinators do not exist" in scenario.doing), scenario.doing
        scenario.world.kubelets.behavior.files = (0.0, 0.1)
        for _ in range(2):  # A round that had already read the Secret may write it once more.
            await asyncio.sleep(5.0)
            delete(scenario, "/secrets", f"{NAME}-cluster-file")
        for stored in scenario.world.store.all(PODS):
            delete(scenario, PODS, stored.key.name)
        assert await scenario.settled(), scenario.doing
        assert scenario.coordinators() == FIRST
        claims = {stored.key.name for stored in scenario.world.store.all(CLAIMS)}
        assert not any("more" in name for name in claims), "whenScaled is Delete"
        scenario.check()
