"""What people do in the middle of everything. Numbers are those of docs/scenarios.md."""

import asyncio

import pytest

from stateward.simulation.world.engine_products import DEFAULT
from tests.simulation.story import CLAIMS, PODS, SECRETS, SETS, Story, hot, managers

pytestmark = pytest.mark.simulation

NOWHERE = {"spec": {"nodeSelector": {"no-such": "label"}}}


async def test_23_a_selector_that_fits_no_node_and_its_revert_converge() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        pods = story.uids(PODS)
        story.pools(managers(), hot(3, podTemplate=NOWHERE))
        assert await story.until(lambda: "Unschedulable" in str(story.status))
        await asyncio.sleep(600.0)
        assert story.most_down == 1
        story.pools(managers(), hot(3))
        await story.settle()
        # Who had not been touched by the bad change is not touched by its revert.
        assert len(set(pods.items()) - set(story.uids(PODS).items())) == 1


@pytest.mark.parametrize("version", [DEFAULT.absent, DEFAULT.broken])
async def test_23_a_version_that_does_not_start_stops_at_the_first_member_and_can_be_taken_back(version: str) -> None:
    with Story(managers(), hot(3), version="2.18.0").told() as story:
        await story.begin()
        pods = story.uids(PODS)
        story.edit(version=version)
        assert await story.until(lambda: story.most_down == 1)
        await asyncio.sleep(900.0)
        assert story.most_down == 1
        assert any(c["type"] == "Stalled" and c["status"] == "True" for c in story.status["conditions"])
        story.edit(version="2.18.0")
        await story.settle()
        assert len(set(pods.items()) - set(story.uids(PODS).items())) == 1


async def test_24_a_replica_that_only_the_upgrade_can_place_does_not_hold_the_upgrade_up() -> None:
    """A new index has its primary on the only upgraded node: yellow until a second one is upgraded."""
    with Story(managers(1), hot(3)).told() as story:
        await story.begin()
        story.edit(version="2.18.0")
        assert await story.until(lambda: "2.18.0" in {n.version for n in story.database.nodes.values() if n.data})
        newest = next(n for n in story.database.nodes.values() if n.version == "2.18.0")
        story.database.create_index("young", 1, 2**20, 1.0)
        shard = story.database.shards[-1]
        if shard.primary.node != newest.id:
            shard.primary.node, shard.primary.token = newest.id, shard.primary.token + 1
            story.database.allocator._recover(shard, shard.primary, newest, "forced", 0.5)
        await asyncio.sleep(10.0)
        assert story.database.health == "yellow"
        await story.settle()


async def test_25_a_wrong_name_in_the_replace_list_is_reported_and_the_rest_goes_on() -> None:
    """One of the members to replace does not exist: the other one is replaced, and a change is rolled out."""
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        story.edit(members={"replace": ["logs-typo-0", "logs-hot-1"]}, config={"indices.first": 1})
        assert await story.until(lambda: "NoSuchMember" in story.waits)
        assert await story.until(lambda: "logs-hot-1" not in story.uids(SETS))
        assert await story.until(lambda: all(n.config.get("indices.first") == 1 for n in story.nodes()))
        assert "NoSuchMember: members names logs-typo-0" in story.waits
        story.edit(members={}, config={"indices.first": 1})
        await story.settle()


async def test_25_a_wrong_name_in_the_order_of_pools_stops_nothing_else() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        story.edit(update={"order": ["hot", "typo", "managers"]}, config={"indices.first": 1})
        assert await story.until(lambda: "typo" in story.waits or len(story.disrupted()) == 6, 900.0)
        story.edit(update={"order": ["hot", "managers"]}, config={"indices.first": 1})
        await story.settle()


async def test_26_a_key_that_is_removed_is_removed_everywhere() -> None:
    with Story(
        managers(1), hot(2), service={"labels": {"team": "a", "cost": "b"}}, config={"indices.x": 1}
    ).told() as story:
        await story.begin()
        service = story.object("/services", "logs")
        assert service is not None
        assert service.labels["cost"] == "b"
        story.edit(service={"labels": {"team": "a"}}, config={})
        await story.settle()
        service = story.object("/services", "logs")
        assert service is not None
        assert "cost" not in service.labels
        assert service.labels["team"] == "a"
        assert all("indices.x" not in node.config for node in story.database.nodes.values())


async def test_26_a_variable_that_is_removed_is_removed_from_the_pods() -> None:
    variable = {"spec": {"containers": [{"name": "opensearch", "env": [{"name": "COLOR", "value": "red"}]}]}}
    with Story(managers(1), hot(2), podTemplate=variable).told() as story:
        await story.begin()
        story.edit(podTemplate={})
        await story.settle()
        for pod in story.world.store.all(PODS):
            assert "COLOR" not in {e["name"] for e in pod.doc["spec"]["containers"][0]["env"]}


async def test_27_another_storage_class_replaces_member_by_member_and_other_clusters_go_on() -> None:
    with Story(managers(1), hot(3)).told() as story:
        other = {"version": "2.17.1", "pools": [managers(1), hot(2)]}
        story.world.create(other, "other")
        await story.begin()
        story.pools(managers(1), {**hot(3), "storage": {"size": "5Gi", "storageClass": "fast"}})
        await asyncio.sleep(30.0)
        resource = story.world.resource("other")
        assert resource is not None
        assert resource.doc["status"]["ready"] == "3/3"
        await story.settle()
        assert not story.disrupted()
        assert story.red == 0


async def test_27_a_storage_change_that_is_refused_says_so_and_changes_nothing() -> None:
    with Story(managers(1), hot(3), volumes={"onShrink": "Refuse"}).told() as story:
        await story.begin()
        claims, pods = story.uids(CLAIMS), story.uids(PODS)
        story.pools(managers(1), {**hot(3), "storage": {"size": "2Gi"}})
        assert await story.until(lambda: "refused" in story.waits.lower())
        await asyncio.sleep(600.0)
        assert (story.uids(CLAIMS), story.uids(PODS)) == (claims, pods)
        story.pools(managers(1), hot(3))
        await story.settle()


async def test_30_scaling_out_restarts_nobody() -> None:
    with Story(managers(), hot(2)).told() as story:
        await story.begin()
        pods = story.uids(PODS)
        story.pools(managers(), hot(4))
        await story.settle()
        assert {name: uid for name, uid in story.uids(PODS).items() if name in pods} == pods
        assert not story.disrupted()


async def test_32_pools_by_zone_share_one_budget() -> None:
    zones = [{**hot(2), "name": f"hot-{zone}"} for zone in "abc"]
    with Story(managers(), *zones).told() as story:
        await story.begin()
        story.edit(config={"indices.first": 1})
        await story.settle()
        assert len(story.disrupted()) == 9
        assert story.most_down == 1
        assert story.red == 0


async def test_36_a_change_taken_back_half_way_ends_like_the_beginning() -> None:
    """The restart in flight ends, and those who were changed return to what they were, one by one."""
    with Story(managers(), hot(4)).told() as story:
        await story.begin()
        secrets = {s.key.name: s.doc["data"] for s in story.world.store.all(SECRETS) if s.labels}
        story.edit(config={"indices.first": 1})
        assert await story.until(lambda: len(story.disrupted()) == 2)
        # A third member is prepared, and its template written, when the change is taken back.
        story.world.sets.lag = (20.0, 20.0)
        assert await story.until(lambda: len(story.prepared()) == 1)
        story.edit(config={})
        await story.settle()
        assert {s.key.name: s.doc["data"] for s in story.world.store.all(SECRETS) if s.labels} == secrets
        assert story.most_down == 1
        assert len(story.disrupted()) <= 4


async def test_several_changes_in_one_edit_are_one_restart_for_each_member() -> None:
    variable = {"spec": {"containers": [{"name": "opensearch", "env": [{"name": "A", "value": "b"}]}]}}
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        story.edit(version="2.18.0", config={"indices.first": 1}, podTemplate=variable)
        await story.settle()
        assert sorted(story.disrupted()) == sorted(story.uids("apps/statefulsets"))


async def test_a_change_of_one_pool_touches_no_other() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        pods = story.uids(PODS)
        story.pools(managers(), hot(3, config={"indices.first": 1}))
        await story.settle()
        touched = {name for name, uid in story.uids(PODS).items() if pods[name] != uid}
        assert touched == {f"logs-hot-{number}-0" for number in range(3)}


async def test_larger_volumes_disturb_nobody() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        pods = story.uids(PODS)
        story.pools(managers(), {**hot(3), "storage": {"size": "9Gi"}})
        await story.settle()
        assert story.uids(PODS) == pods
