"""What random runs have found, as small stories. Each was seen to fail before it was repaired."""

import asyncio

import pytest

from stateward.api.values import names
from stateward.kube.objects.metadata import Key
from stateward.planning.model.phase import Phase
from stateward.simulation.cluster.agents import Agent
from stateward.simulation.cluster.volumes import CLASSES
from stateward.simulation.faults import accidents
from stateward.simulation.opensearch.cluster import Cluster
from tests.simulation.story import CLAIMS, PODS, SETS, Story, hot, managers, pool

pytestmark = pytest.mark.simulation


async def test_a_member_without_data_or_vote_is_replaced_by_one_that_has_joined_before() -> None:
    gateway = pool("gateway", 1, [])
    with Story(managers(1), hot(2), gateway).told() as story:
        await story.begin()
        story.pools(managers(1), hot(2), {**gateway, "storage": {"size": "2Gi", "storageClass": "fast"}})
        await story.settle()
        assert story.most_down == 0


async def test_a_cluster_that_is_made_again_with_fewer_managers_forgets_the_vote_of_the_one_that_is_gone() -> None:
    with Story(managers(3), hot(2)).told() as story:
        await story.begin()
        story.user.delete()
        assert await story.until(lambda: not story.uids(PODS))
        story.user.spec["pools"] = [managers(2), hot(2)]
        story.user.create()
        await asyncio.sleep(600.0)
        assert "managers-2" not in str(sorted(story.uids(PODS)))
        story.pools(managers(2, config={"indices.setting1": 1}), hot(2))
        await story.settle()
        assert len(story.database.voters) == 1
        assert not story.database.exclusions


async def test_a_cluster_that_is_formed_anew_with_a_persons_leave_is_spoken_to() -> None:
    with Story(managers(3), hot(2)).told() as story:
        await story.begin(indices=0)
        before, volumes = story.database.identity, story.uids(CLAIMS)
        accidents.volumes_lost(story.run.swarm.stage)
        assert await story.until(lambda: "ManagersLost" in story.waits)
        assert story.database.identity == before
        await story.settle()
        assert story.database.identity != before
        assert story.status["clusterUuid"] == story.database.identity
        assert not set(volumes.values()) & set(story.uids(CLAIMS).values())


async def test_a_new_member_of_a_class_that_there_is_not_makes_room_when_that_is_taken_back() -> None:
    with Story(managers(1), hot(2)).told() as story:
        await story.begin()
        story.pools(managers(1), {**hot(3), "storage": {"size": "5Gi", "storageClass": "nowhere"}})
        assert await story.until(lambda: "not found" in str(story.status), 300.0)
        story.pools(managers(1), hot(3))
        await story.settle()
        assert {claim.doc["spec"]["storageClassName"] for claim in story.world.store.all(CLAIMS)} == {"standard"}


async def test_a_pending_volume_without_a_class_of_its_own_waits_for_the_default_one_to_come_back() -> None:
    with Story(managers(1), hot(2)).told() as story:
        await story.begin()
        default = story.world.store.get(CLASSES, Key("", "standard"))
        assert default is not None
        story.world.store.remove(default)
        story.pools(managers(1), hot(3))
        await asyncio.sleep(300.0)
        meta = {name: default.meta[name] for name in ("name", "annotations")}
        story.world.server.create(CLASSES, "", {**default.doc, "metadata": meta})
        await story.settle()
        assert sorted(story.uids(SETS)) == ["logs-hot-0", "logs-hot-1", "logs-hot-2", "logs-managers-0"]


async def test_a_cluster_that_is_made_again_takes_the_volumes_of_those_who_came_in_the_place_of_others() -> None:
    with Story(managers(1), hot(2)).told() as story:
        await story.begin()
        story.edit(members={"replace": ["logs-hot-0", "logs-hot-1"]})
        await story.run.settle(quiet=60.0)
        assert [name for name in sorted(story.uids(SETS)) if "hot" in name] == ["logs-hot-2", "logs-hot-3"]
        story.user.delete()
        assert await story.until(lambda: not story.uids(PODS))
        del story.user.spec["members"]
        story.user.create()
        await story.settle()
        assert [name for name in sorted(story.uids(SETS)) if "hot" in name] == ["logs-hot-2", "logs-hot-3"]


async def test_the_only_member_with_data_is_replaced_though_an_index_wants_two_copies() -> None:
    with Story(managers(3), hot(1)).told() as story:
        await story.begin()
        assert story.database.health == "yellow"
        story.edit(members={"replace": ["logs-hot-0"]})
        await story.run.settle(quiet=60.0)
        assert [name for name in sorted(story.uids(SETS)) if "hot" in name] == ["logs-hot-1"]
        assert not story.run.violations


async def test_whoever_adds_managers_again_that_are_needed_takes_off_what_fits_no_node() -> None:
    nowhere = {"podTemplate": {"spec": {"nodeSelector": {"no-such": "label"}}}}
    with Story(managers(1), hot(2)).told() as story:
        await story.begin()
        story.pools(managers(1, **nowhere), hot(2))
        assert await story.until(lambda: "Unschedulable" in str(story.status))
        story.pools(pool("masters", 1, ["cluster_manager"], "1Gi"), hot(2))
        assert await story.until(lambda: "PoolNeeded" in story.waits)
        story.user.calm_down()
        await story.settle()


async def test_one_member_that_is_to_be_kept_stopped_is_stopped_while_the_database_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Story(managers(1), hot(3), agents=True).told() as story:
        await story.begin()
        with monkeypatch.context() as silent:
            silent.setattr(story.world.databases, "at", {}.get)
            assert await story.until(lambda: "DatabaseUnknown" in story.waits)
            story.user.annotate({names.ANNOTATION_STOPPED: "logs-hot-0,logs-hot-1"})
            await asyncio.sleep(600.0)
            assert story.disrupted() == ["logs-hot-1"]
            story.check()
        story.user.annotate({names.ANNOTATION_STOPPED: None})
        await story.settle()


async def test_members_restart_together_also_when_somebody_takes_that_off_a_pod_while_it_is_done() -> None:
    with Story(managers(1), hot(3), agents=True).told() as story:
        stopping, stage = story.process.stopping, story.run.swarm.stage

        def stops(agent: Agent) -> None:
            accidents.phase_taken_off(stage)
            stopping(agent)

        story.process.stopping = stops
        await story.begin()
        story.user.annotate({names.ANNOTATION_PHASE: Phase.SCHEDULE_COORDINATED.value})
        assert await story.until(lambda: len(story.disrupted()) == 4)
        await story.settle()


async def test_a_manager_whose_volume_was_lost_before_its_cluster_was_written_down_leaves_without_a_vote() -> None:
    with Story(managers(1), hot(2)).told() as story:
        looked = story.process.looked

        def dies(cluster: Cluster) -> None:
            looked(cluster)
            story.process.kill()

        story.process.looked = dies
        story.process.start()
        story.user.create()
        assert await story.until(lambda: story.world.formed() and not story.process.running)
        assert not story.status["bootstrap"].get("formed")
        for found in story.world.store.all(CLASSES):
            story.world.store.remove(found)
        accidents.volumes_lost(story.run.swarm.stage)
        assert await story.until(lambda: "DatabaseUnknown" in story.waits)
        await asyncio.sleep(60.0)
        story.pools(pool("masters", 1, ["cluster_manager"], "1Gi"), hot(2))
        assert await story.until(lambda: "logs-managers-0" not in story.uids(SETS))
        story.check()


async def test_a_cluster_that_is_made_again_with_too_few_managers_says_whose_volumes_were_kept() -> None:
    with Story(managers(3), hot(2)).told() as story:
        await story.begin()
        identity = story.database.identity
        story.user.delete()
        assert await story.until(lambda: not story.uids(PODS))
        story.user.spec["pools"] = [managers(1), hot(2)]
        story.user.create()
        await asyncio.sleep(5.0)
        assert await story.until(lambda: "were kept, so add these members to the spec again" in story.waits, 1200.0), (
            story.waits
        )
        assert "the volumes of logs-managers-1, logs-managers-2 were kept" in story.waits
        await asyncio.sleep(60.0)
        before = len(story.removed)
        await asyncio.sleep(7200.0)
        assert len(story.removed) - before <= 3, "it was made anew again and again"
        story.pools(managers(3), hot(2))
        await story.settle()
        assert story.database.identity == identity


async def test_a_member_that_was_never_seen_to_serve_may_go_when_its_new_volume_can_never_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Story(managers(1), hot(2)).told() as story:
        await story.begin(indices=0)
        story.pools(managers(1), hot(3))
        assert await story.until(lambda: "logs-hot-2" in story.uids(SETS))
        monkeypatch.setattr(story.process, "start", lambda: None)
        story.process.kill()
        assert await story.until(lambda: "logs-hot-2" in {node.name for node in story.nodes()})
        await asyncio.sleep(60.0)
        default = story.world.store.get(CLASSES, Key("", "standard"))
        claim = story.object(CLAIMS, "data-logs-hot-2")
        assert default is not None
        assert claim is not None
        story.world.store.remove(default)
        accidents.lose(story.run.swarm.stage, claim)
        await asyncio.sleep(60.0)
        monkeypatch.undo()
        story.process.start()
        assert await story.until(lambda: "logs-hot-2" not in story.uids(SETS), 600.0)
        meta = {name: default.meta[name] for name in ("name", "annotations")}
        story.world.server.create(CLASSES, "", {**default.doc, "metadata": meta})
        await story.settle()


async def test_members_of_a_cluster_that_was_lost_before_anybody_knew_of_it_say_that_they_never_joined() -> None:
    with Story(managers(1), hot(2)).told() as story:
        looked = story.process.looked

        def dies(cluster: Cluster) -> None:
            looked(cluster)
            story.process.kill()

        story.process.looked = dies
        story.process.start()
        story.user.create()
        assert await story.until(lambda: story.world.formed() and len(story.nodes()) == 3)
        accidents.volumes_lost(story.run.swarm.stage)
        story.process.looked = looked
        assert await story.until(lambda: "NeverJoined" in story.waits)
        assert len(story.nodes()) == 1
        await story.settle()


async def test_a_cluster_that_is_deleted_while_members_are_replaced_and_made_again_brings_them_back_first() -> None:
    with Story(managers(1), hot(2)).told() as story:
        await story.begin()
        story.edit(members={"replace": ["logs-hot-0", "logs-hot-1"]})
        assert await story.until(lambda: "logs-hot-2" in story.uids(SETS))
        story.user.delete()
        assert await story.until(lambda: not story.uids(PODS))
        story.user.create()
        await story.settle()
        assert [name for name in sorted(story.uids(SETS)) if "hot" in name] == ["logs-hot-2", "logs-hot-3"]
