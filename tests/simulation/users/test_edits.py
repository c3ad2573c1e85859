"""Edits of users during other changes. Numbers are those of docs/scenarios.md."""

import asyncio

import pytest

from stateward.simulation.world.engine_products import DEFAULT
from tests.simulation.scenario import CLAIMS, PODS, SECRETS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

NOWHERE = {"spec": {"nodeSelector": {"no-such": "label"}}}


async def test_23_a_selector_that_fits_no_node_and_its_revert_converge() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.pools(managers(), hot(3, podTemplate=NOWHERE))
        assert await scenario.until(lambda: "Unschedulable" in str(scenario.status))
        await asyncio.sleep(600.0)
        assert scenario.most_down == 1
        scenario.pools(managers(), hot(3))
        await scenario.settle()
        # Who had not been touched by the bad change is not touched by its revert.
        assert len(set(pods.items()) - set(scenario.uids(PODS).items())) == 1


@pytest.mark.parametrize("version", [DEFAULT.absent, DEFAULT.broken])
async def test_23_a_version_that_does_not_start_stops_at_the_first_member_and_can_be_reverted(version: str) -> None:
    with Scenario(managers(), hot(3), version="2.18.0").logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.edit(version=version)
        assert await scenario.until(lambda: scenario.most_down == 1)
        await asyncio.sleep(900.0)
        assert scenario.most_down == 1
        assert any(c["type"] == "Stalled" and c["status"] == "True" for c in scenario.status["conditions"])
        scenario.edit(version="2.18.0")
        await scenario.settle()
        assert len(set(pods.items()) - set(scenario.uids(PODS).items())) == 1


async def test_24_a_replica_that_only_the_upgrade_can_place_does_not_hold_the_upgrade_up() -> None:
    """A new index has its primary on the only upgraded node: yellow until a second one is upgraded."""
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.edit(version="2.18.0")
        assert await scenario.until(lambda: "2.18.0" in {n.version for n in scenario.database.nodes.values() if n.data})
        newest = next(n for n in scenario.database.nodes.values() if n.version == "2.18.0")
        scenario.database.create_index("young", 1, 2**20, 1.0)
        shard = scenario.database.shards[-1]
        if shard.primary.node != newest.id:
            shard.primary.node, shard.primary.token = newest.id, shard.primary.token + 1
            scenario.database.allocator._recover(shard, shard.primary, newest, "forced", 0.5)
        await asyncio.sleep(10.0)
        assert scenario.database.health == "yellow"
        await scenario.settle()


async def test_25_a_wrong_name_in_the_replace_list_is_reported_and_the_rest_continues() -> None:
    """One of the members to replace does not exist: the other one is replaced, and a change is rolled out."""
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.edit(members={"replace": ["logs-typo-0", "logs-hot-1"]}, config={"indices.first": 1})
        assert await scenario.until(lambda: "NoSuchMember" in scenario.waits)
        assert await scenario.until(lambda: "logs-hot-1" not in scenario.uids(SETS))
        assert await scenario.until(lambda: all(n.config.get("indices.first") == 1 for n in scenario.nodes()))
        assert "NoSuchMember: members names logs-typo-0" in scenario.waits
        scenario.edit(members={}, config={"indices.first": 1})
        await scenario.settle()


async def test_25_a_wrong_name_in_the_order_of_pools_stops_nothing_else() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.edit(update={"order": ["hot", "typo", "managers"]}, config={"indices.first": 1})
        assert await scenario.until(lambda: "typo" in scenario.waits or len(scenario.disrupted()) == 6, 900.0)
        scenario.edit(update={"order": ["hot", "managers"]}, config={"indices.first": 1})
        await scenario.settle()


async def test_26_a_key_that_is_removed_is_removed_everywhere() -> None:
    with Scenario(
        managers(1), hot(2), service={"labels": {"team": "a", "cost": "b"}}, config={"indices.x": 1}
    ).logged() as scenario:
        await scenario.begin()
        service = scenario.object("/services", "logs")
        assert service is not None
        assert service.labels["cost"] == "b"
        scenario.edit(service={"labels": {"team": "a"}}, config={})
        await scenario.settle()
        service = scenario.object("/services", "logs")
        assert service is not None
        assert "cost" not in service.labels
        assert service.labels["team"] == "a"
        assert all("indices.x" not in node.config for node in scenario.database.nodes.values())


async def test_26_a_variable_that_is_removed_is_removed_from_the_pods() -> None:
    variable = {"spec": {"containers": [{"name": "opensearch", "env": [{"name": "COLOR", "value": "red"}]}]}}
    with Scenario(managers(1), hot(2), podTemplate=variable).logged() as scenario:
        await scenario.begin()
        scenario.edit(podTemplate={})
        await scenario.settle()
        for pod in scenario.world.store.all(PODS):
            assert "COLOR" not in {e["name"] for e in pod.doc["spec"]["containers"][0]["env"]}


async def test_27_another_storage_class_replaces_member_by_member_and_other_clusters_continue() -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        other = {"version": "2.17.1", "pools": [managers(1), hot(2)]}
        scenario.world.create(other, "other")
        await scenario.begin()
        scenario.pools(managers(1), {**hot(3), "storage": {"size": "5Gi", "storageClass": "fast"}})
        await asyncio.sleep(30.0)
        resource = scenario.world.resource("other")
        assert resource is not None
        assert resource.doc["status"]["ready"] == "3/3"
        await scenario.settle()
        assert not scenario.disrupted()
        assert scenario.red == 0


async def test_27_a_storage_change_that_is_refused_reports_it_and_changes_nothing() -> None:
    with Scenario(managers(1), hot(3), volumes={"whenShrunk": "Refuse"}).logged() as scenario:
        await scenario.begin()
        claims, pods = scenario.uids(CLAIMS), scenario.uids(PODS)
        scenario.pools(managers(1), {**hot(3), "storage": {"size": "2Gi"}})
        assert await scenario.until(lambda: "refused" in scenario.waits.lower())
        await asyncio.sleep(600.0)
        assert (scenario.uids(CLAIMS), scenario.uids(PODS)) == (claims, pods)
        scenario.pools(managers(1), hot(3))
        await scenario.settle()


async def test_30_scaling_out_restarts_no_member() -> None:
    with Scenario(managers(), hot(2)).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.pools(managers(), hot(4))
        await scenario.settle()
        assert {name: uid for name, uid in scenario.uids(PODS).items() if name in pods} == pods
        assert not scenario.disrupted()


async def test_32_pools_by_zone_share_one_budget() -> None:
    zones = [{**hot(2), "name": f"hot-{zone}"} for zone in "abc"]
    with Scenario(managers(), *zones).logged() as scenario:
        await scenario.begin()
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert len(scenario.disrupted()) == 9
        assert scenario.most_down == 1
        assert scenario.red == 0


async def test_36_a_change_reverted_half_way_ends_like_the_beginning() -> None:
    """The restart in flight ends, and those who were changed return to what they were, one by one."""
    with Scenario(managers(), hot(4)).logged() as scenario:
        await scenario.begin()
        secrets = {s.key.name: s.doc["data"] for s in scenario.world.store.all(SECRETS) if s.labels}
        scenario.edit(config={"indices.first": 1})
        assert await scenario.until(lambda: len(scenario.disrupted()) == 2)
        # A third member is prepared, and its template written, when the change is taken back.
        scenario.world.sets.lag = (20.0, 20.0)
        assert await scenario.until(lambda: len(scenario.prepared()) == 1)
        scenario.edit(config={})
        await scenario.settle()
        assert {s.key.name: s.doc["data"] for s in scenario.world.store.all(SECRETS) if s.labels} == secrets
        assert scenario.most_down == 1
        assert len(scenario.disrupted()) <= 4


async def test_several_changes_in_one_edit_are_one_restart_for_each_member() -> None:
    variable = {"spec": {"containers": [{"name": "opensearch", "env": [{"name": "A", "value": "b"}]}]}}
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.edit(version="2.18.0", config={"indices.first": 1}, podTemplate=variable)
        await scenario.settle()
        assert sorted(scenario.disrupted()) == sorted(scenario.uids("apps/statefulsets"))


async def test_a_change_of_one_pool_touches_no_other() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.pools(managers(), hot(3, config={"indices.first": 1}))
        await scenario.settle()
        touched = {name for name, uid in scenario.uids(PODS).items() if pods[name] != uid}
        assert touched == {f"logs-hot-{number}-0" for number in range(3)}


async def test_larger_volumes_disturb_no_member() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.pools(managers(), {**hot(3), "storage": {"size": "9Gi"}})
        await scenario.settle()
        assert scenario.uids(PODS) == pods
