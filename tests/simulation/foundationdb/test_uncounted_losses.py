"""What FoundationDB does not count as lost yet: no member leaves without draining that has the other copies."""

import asyncio

import pytest

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import PODS, Scenario, pools

pytestmark = pytest.mark.simulation

CLAIMS = "/persistentvolumeclaims"


def sharing(scenario: Scenario) -> tuple[str, str]:
    """Return two members that are no coordinators and have both copies of some data."""
    assert scenario.database.cluster is not None
    state = scenario.database.cluster.state
    for shard in state.shards:
        held = [state.servers[store].locality["instance_id"] for store in shard.holders]
        if len(held) == 2 and not scenario.coordinators() & {*held}:
            return held[0], held[1]
    raise AssertionError("all shards are on coordinators")


def zone(scenario: Scenario, member: str) -> str:
    assert scenario.database.cluster is not None
    servers = scenario.database.cluster.state.servers.values()
    return next(s.zone for s in servers if s.locality["instance_id"] == member)


async def test_what_left_during_the_maintenance_of_its_zone_counts_when_that_has_ended() -> None:
    """The database tolerated one more failure at once, and counted the first loss a minute later."""
    with Scenario(pools=pools(storage=8), volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin()
        first, second = sharing(scenario)
        pod = scenario.world.foundationdb.pods[min(scenario.world.foundationdb.pods)]
        await scenario.database.ask(pod.client(), {"op": "maintenance", "zone": zone(scenario, first), "seconds": 900})
        scenario.edit(members={"replaceWithoutDraining": [first], "acceptDataLoss": [first]})
        assert await scenario.until(lambda: first not in scenario.members(), 600.0), scenario.doing
        scenario.edit(members={"replaceWithoutDraining": [first, second]})
        assert await scenario.settled(7200.0), scenario.doing
        assert second not in scenario.members()
        scenario.check()


async def exchange_volume(scenario: Scenario, member: str) -> None:
    """Delete the claim and the pod of a member, and create the claim again, as a user does whose volume is lost."""
    server, key = scenario.world.server, Key(NAMESPACE, names.claim(member))
    lost = scenario.world.store.get(CLAIMS, key)
    pod = scenario.world.store.get(PODS, Key(NAMESPACE, names.pod(member)))
    assert lost is not None
    assert pod is not None
    for kind, found in ((CLAIMS, lost), (PODS, pod)):
        server.delete(kind, found.key, DeleteOptions(Preconditions(found.uid)))
    assert await scenario.until(lambda: scenario.world.store.get(CLAIMS, key) is None, 60.0)
    meta = {name: lost.meta[name] for name in ("name", "labels")}
    spec = {name: value for name, value in lost.doc["spec"].items() if name != "volumeName"}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}
    server.create(CLAIMS, NAMESPACE, body, "kubectl")


async def test_a_member_that_is_back_with_an_empty_volume_counts_as_lost() -> None:
    """The next one left as soon as this one served again, and the other copies of its data were there."""
    with Scenario(pools=pools(storage=8), volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin()
        first, second = sharing(scenario)
        third = min(n for n in scenario.members() - {first, second} - scenario.coordinators() if "storage" in n)
        scenario.edit(members={"replaceWithoutDraining": [third]})
        assert await scenario.until(lambda: third in scenario.scaled_to_zero(), 600.0), scenario.doing
        scenario.edit(members={"replaceWithoutDraining": [third, second]})
        await asyncio.sleep(85.0)
        await exchange_volume(scenario, first)
        assert await scenario.settled(7200.0), scenario.doing
        assert second not in scenario.members()
        scenario.check()
