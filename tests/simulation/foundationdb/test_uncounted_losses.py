"""What FoundationDB does not count as lost yet: no member leaves without a process, or without draining, meanwhile."""

import asyncio
from dataclasses import replace

import pytest

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.foundationdb_pods import TIMING
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import PODS, SETS, Scenario, pools

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


def address(scenario: Scenario, member: str) -> str:
    """Return the address at which the database last knew a member with data."""
    assert scenario.database.cluster is not None
    servers = scenario.database.cluster.state.servers.values()
    return next(server.address for server in servers if server.locality["instance_id"] == member)


def serves(scenario: Scenario, member: str) -> bool:
    assert scenario.database.cluster is not None
    live = scenario.database.cluster.live(scenario.database.clock()).values()
    return any(worker.locality["instance_id"] == member for worker in live)


async def test_a_member_whose_last_pod_the_operator_never_saw_is_not_proved_by_the_address_of_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The database knew of no data at that address, and its volume was deleted with the only copy."""
    hasty, deletes = {"waitBetweenRemovals": "5s"}, {"whenScaled": "Delete"}
    with Scenario(seed=2, redundancy="single", volumes=deletes, update=hasty).logged() as scenario:
        await scenario.begin()
        assert scenario.database.cluster is not None
        state, start = scenario.database.cluster.state, scenario.process.start
        victim = min(name for name in scenario.members() if "storage" in name and name not in scenario.coordinators())
        before = address(scenario, victim)
        scenario.world.foundationdb.time(replace(TIMING, moving=2**18))

        async def scale(replicas: int) -> None:
            body = {"spec": {"replicas": replicas}}
            scenario.world.server.patch(SETS, Key(NAMESPACE, victim), body, PatchKind.MERGE, "kubectl")
            assert await scenario.until(lambda: serves(scenario, victim) == bool(replicas), 300.0)

        scenario.edit(members={"replace": [victim]})
        assert await scenario.until(lambda: f"locality_instance_id:{victim}" in state.excluded, 600.0), scenario.doing
        monkeypatch.setattr(scenario.process, "start", lambda: None)
        scenario.process.kill()
        for replicas in (0, 1, 0):
            await scale(replicas)
        holders = {state.servers[store].locality["instance_id"] for shard in state.shards for store in shard.holders}
        assert victim in holders
        assert address(scenario, victim) != before
        for node in scenario.world.nodes.names:
            scenario.world.nodes.cordon(node, on=True)
        start()
        assert not await scenario.until(lambda: victim not in scenario.members(), 900.0)
        for node in scenario.world.nodes.names:
            scenario.world.nodes.cordon(node, on=False)
        assert await scenario.settled(7200.0), scenario.doing
        assert victim not in scenario.members()
        scenario.check()
