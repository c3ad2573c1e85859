"""The coordinators that the first cluster file names: without a majority of them no database can be created."""

import pytest

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import KIND, NAME, PODS, Scenario, pool, pools

pytestmark = pytest.mark.simulation

FILE = Key(NAMESPACE, f"{NAME}-cluster-file")


def begun(scenario: Scenario) -> None:
    """Create the cluster resource."""
    meta = {"name": NAME, "namespace": NAMESPACE}
    body = {"apiVersion": "stateward.dev/v1alpha1", "kind": "FoundationDBCluster", "metadata": meta}
    scenario.world.server.create(KIND, NAMESPACE, {**body, "spec": scenario.spec}, "kubectl")


async def test_members_that_are_to_be_replaced_before_they_exist_are_created_and_replaced_later() -> None:
    """A cluster is created again with the requests of before in its spec, for example."""
    with Scenario(members={"replace": ["logs-storage-0", "logs-storage-1"]}).logged() as scenario:
        begun(scenario)
        scenario.process.start()
        assert await scenario.until(lambda: "DatabaseFirst" in scenario.doing, 60.0), scenario.doing
        assert await scenario.settled(7200.0), scenario.doing
        assert not {"logs-storage-0", "logs-storage-1"} & (scenario.members() | scenario.coordinators())
        scenario.check()


async def test_a_person_has_others_chosen_when_the_first_ones_will_never_exist() -> None:
    """A pool whose pods fit no node is renamed before any of them ran, and the status says what to do."""
    nowhere = {"podTemplate": {"spec": {"nodeSelector": {"disk": "none"}}}}
    with Scenario(pools=[pool("storage", 5, **nowhere), *pools()[1:]]).logged() as scenario:
        begun(scenario)
        scenario.process.start()
        await scenario.until(lambda: len(scenario.pods()) == 12, 600.0)
        scenario.edit(pools=[{**pool("storage", 5), "name": "disks"}, *pools()[1:]])
        advice = "3 of its 3 coordinators do not exist (logs-storage-0, logs-storage-1, logs-storage-2)"
        assert await scenario.until(lambda: advice in scenario.doing, 1800.0), scenario.doing
        assert f"delete Secret {FILE.name}, and then all pods of the cluster" in scenario.doing
        found = scenario.world.store.get("/secrets", FILE)
        assert found is not None
        scenario.world.server.delete("/secrets", FILE, DeleteOptions(Preconditions(found.uid)))
        for stored in scenario.world.store.all(PODS):
            scenario.world.server.delete(PODS, stored.key, DeleteOptions(Preconditions(stored.uid)))
        assert await scenario.settled(), scenario.doing
        assert scenario.coordinators() == {"logs-disks-0", "logs-disks-1", "logs-disks-2"}
        scenario.check()
