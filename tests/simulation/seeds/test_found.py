"""Bugs found by random runs, as small scenarios. Each failed before its fix."""

import asyncio

import pytest

from stateward.api.values import names
from stateward.kube.objects.metadata import Key
from stateward.planning.model.phase import Phase
from stateward.simulation.cluster.agents import Agent
from stateward.simulation.cluster.budgets import ready
from stateward.simulation.cluster.volumes import CLASSES
from stateward.simulation.faults import object_faults, process_faults
from stateward.simulation.opensearch.cluster import Cluster
from tests.simulation.scenario import CLAIMS, PODS, SETS, Scenario, hot, managers, pool

pytestmark = pytest.mark.simulation


async def test_a_member_without_data_or_vote_is_replaced_by_one_that_has_joined_before() -> None:
    gateway = pool("gateway", 1, [])
    with Scenario(managers(1), hot(2), gateway).logged() as scenario:
        await scenario.begin()
        scenario.pools(managers(1), hot(2), {**gateway, "storage": {"size": "2Gi", "storageClass": "fast"}})
        await scenario.settle()
        assert scenario.most_down == 0


async def test_a_cluster_that_is_recreated_with_fewer_managers_forgets_the_vote_of_the_one_that_is_gone() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.user.delete()
        assert await scenario.until(lambda: not scenario.uids(PODS))
        scenario.user.spec["pools"] = [managers(2), hot(2)]
        scenario.user.create()
        await asyncio.sleep(600.0)
        assert "managers-2" not in str(sorted(scenario.uids(PODS)))
        scenario.pools(managers(2, config={"indices.setting1": 1}), hot(2))
        await scenario.settle()
        assert len(scenario.database.voters) == 1
        assert not scenario.database.exclusions


async def test_the_operator_manages_a_cluster_that_is_formed_again_after_a_users_confirmation() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin(indices=0)
        before, volumes = scenario.database.identity, scenario.uids(CLAIMS)
        object_faults.volumes_lost(scenario.run.fault_schedule.targets)
        assert await scenario.until(lambda: "ManagersLost" in scenario.waits)
        assert scenario.database.identity == before
        await scenario.settle()
        assert scenario.database.identity != before
        assert scenario.status["clusterUUID"] == scenario.database.identity
        assert not set(volumes.values()) & set(scenario.uids(CLAIMS).values())


async def test_a_new_member_of_an_unknown_storage_class_leaves_when_the_edit_is_reverted() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.pools(managers(1), {**hot(3), "storage": {"size": "5Gi", "storageClass": "nowhere"}})
        assert await scenario.until(lambda: "not found" in str(scenario.status), 300.0)
        scenario.pools(managers(1), hot(3))
        await scenario.settle()
        assert {claim.doc["spec"]["storageClassName"] for claim in scenario.world.store.all(CLAIMS)} == {"standard"}


async def test_a_pending_volume_without_a_class_of_its_own_waits_for_the_default_one_to_come_back() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        default = scenario.world.store.get(CLASSES, Key("", "standard"))
        assert default is not None
        scenario.world.store.remove(default)
        scenario.pools(managers(1), hot(3))
        await asyncio.sleep(300.0)
        meta = {name: default.meta[name] for name in ("name", "annotations")}
        scenario.world.server.create(CLASSES, "", {**default.doc, "metadata": meta})
        await scenario.settle()
        assert sorted(scenario.uids(SETS)) == ["logs-hot-0", "logs-hot-1", "logs-hot-2", "logs-managers-0"]


async def test_a_cluster_that_is_recreated_uses_the_volumes_of_members_that_replaced_others() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.edit(members={"replace": ["logs-hot-0", "logs-hot-1"]})
        await scenario.run.settle(quiet=60.0)
        assert [name for name in sorted(scenario.uids(SETS)) if "hot" in name] == ["logs-hot-2", "logs-hot-3"]
        scenario.user.delete()
        assert await scenario.until(lambda: not scenario.uids(PODS))
        del scenario.user.spec["members"]
        scenario.user.create()
        await scenario.settle()
        assert [name for name in sorted(scenario.uids(SETS)) if "hot" in name] == ["logs-hot-2", "logs-hot-3"]


async def test_the_only_member_with_data_is_replaced_though_an_index_wants_two_copies() -> None:
    with Scenario(managers(3), hot(1)).logged() as scenario:
        await scenario.begin()
        assert scenario.database.health == "yellow"
        scenario.edit(members={"replace": ["logs-hot-0"]})
        await scenario.run.settle(quiet=60.0)
        assert [name for name in sorted(scenario.uids(SETS)) if "hot" in name] == ["logs-hot-1"]
        assert not scenario.run.violations


async def test_managers_that_are_restored_get_no_unsatisfiable_settings() -> None:
    nowhere = {"podTemplate": {"spec": {"nodeSelector": {"no-such": "label"}}}}
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.pools(managers(1, **nowhere), hot(2))
        assert await scenario.until(lambda: "Unschedulable" in str(scenario.status))
        scenario.pools(pool("masters", 1, ["cluster_manager"], "1Gi"), hot(2))
        assert await scenario.until(lambda: "PoolNeeded" in scenario.waits)
        scenario.user.request_satisfiable_spec()
        await scenario.settle()


async def test_one_member_that_is_to_be_kept_stopped_is_stopped_while_the_database_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Scenario(managers(1), hot(3), agents=True).logged() as scenario:
        await scenario.begin()
        with monkeypatch.context() as silent:
            silent.setattr(scenario.world.databases, "at", {}.get)
            assert await scenario.until(lambda: "DatabaseUnknown" in scenario.waits)
            scenario.user.annotate({names.ANNOTATION_STOPPED: "logs-hot-0,logs-hot-1"})
            await asyncio.sleep(600.0)
            assert scenario.disrupted() == ["logs-hot-1"]
            scenario.check()
        scenario.user.annotate({names.ANNOTATION_STOPPED: None})
        await scenario.settle()


async def test_members_restart_together_even_if_a_user_removes_the_annotation_from_a_pod_meanwhile() -> None:
    with Scenario(managers(1), hot(3), agents=True).logged() as scenario:
        stopping, stage = scenario.process.stopping, scenario.run.fault_schedule.targets

        def stops(agent: Agent) -> None:
            process_faults.phase_removed(stage)
            stopping(agent)

        scenario.process.stopping = stops
        await scenario.begin()
        scenario.user.annotate({names.ANNOTATION_PHASE: Phase.SCHEDULE_COORDINATED.value})
        assert await scenario.until(lambda: len(scenario.disrupted()) == 4)
        await scenario.settle()


async def test_a_manager_whose_volume_was_lost_before_its_cluster_was_written_down_leaves_without_a_vote() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        looked = scenario.process.cluster_observed

        def dies(cluster: Cluster) -> None:
            looked(cluster)
            scenario.process.kill()

        scenario.process.cluster_observed = dies
        scenario.process.start()
        scenario.user.create()
        assert await scenario.until(lambda: scenario.world.formed() and not scenario.process.running)
        assert not scenario.status["bootstrap"].get("formed")
        for found in scenario.world.store.all(CLASSES):
            scenario.world.store.remove(found)
        object_faults.volumes_lost(scenario.run.fault_schedule.targets)
        assert await scenario.until(lambda: "DatabaseUnknown" in scenario.waits)
        await asyncio.sleep(60.0)
        scenario.pools(pool("masters", 1, ["cluster_manager"], "1Gi"), hot(2))
        assert await scenario.until(lambda: "logs-managers-0" not in scenario.uids(SETS))
        scenario.check()


async def test_a_cluster_that_is_recreated_with_too_few_managers_says_whose_volumes_were_kept() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin()
        identity = scenario.database.identity
        scenario.user.delete()
        assert await scenario.until(lambda: not scenario.uids(PODS))
        scenario.user.spec["pools"] = [managers(1), hot(2)]
        scenario.user.create()
        await asyncio.sleep(5.0)
        assert await scenario.until(
            lambda: "were kept, so add these members to the spec again" in scenario.waits, 1200.0
        ), scenario.waits
        assert "the volumes of logs-managers-1, logs-managers-2 were kept" in scenario.waits
        await asyncio.sleep(60.0)
        before = len(scenario.removed)
        await asyncio.sleep(7200.0)
        assert len(scenario.removed) - before <= 3, "it was recreated repeatedly"
        scenario.pools(managers(3), hot(2))
        await scenario.settle()
        assert scenario.database.identity == identity


async def test_a_member_that_was_never_seen_to_serve_may_go_when_its_new_volume_can_never_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin(indices=0)
        scenario.pools(managers(1), hot(3))
        assert await scenario.until(lambda: "logs-hot-2" in scenario.uids(SETS))
        monkeypatch.setattr(scenario.process, "start", lambda: None)
        scenario.process.kill()
        assert await scenario.until(lambda: "logs-hot-2" in {node.name for node in scenario.nodes()})
        await asyncio.sleep(60.0)
        default = scenario.world.store.get(CLASSES, Key("", "standard"))
        claim = scenario.object(CLAIMS, "data-logs-hot-2")
        assert default is not None
        assert claim is not None
        scenario.world.store.remove(default)
        object_faults.lose(scenario.run.fault_schedule.targets, claim)
        await asyncio.sleep(60.0)
        monkeypatch.undo()
        scenario.process.start()
        assert await scenario.until(lambda: "logs-hot-2" not in scenario.uids(SETS), 600.0)
        meta = {name: default.meta[name] for name in ("name", "annotations")}
        scenario.world.server.create(CLASSES, "", {**default.doc, "metadata": meta})
        await scenario.settle()


async def test_members_of_a_cluster_that_was_lost_before_it_was_observed_say_that_they_never_joined() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        looked = scenario.process.cluster_observed

        def dies(cluster: Cluster) -> None:
            looked(cluster)
            scenario.process.kill()

        scenario.process.cluster_observed = dies
        scenario.process.start()
        scenario.user.create()
        assert await scenario.until(lambda: scenario.world.formed() and len(scenario.nodes()) == 3)
        object_faults.volumes_lost(scenario.run.fault_schedule.targets)
        scenario.process.cluster_observed = looked
        assert await scenario.until(lambda: "NeverJoined" in scenario.waits)
        assert len(scenario.nodes()) == 1
        await scenario.settle()


@pytest.mark.parametrize("gone", [PODS, SETS])
async def test_a_cluster_that_is_deleted_while_members_are_replaced_and_recreated_brings_them_back_first(
    gone: str,
) -> None:
    """Also if it is created again while pods of before still stop: the members to replace have these, and no more."""
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.edit(members={"replace": ["logs-hot-0", "logs-hot-1"]})
        assert await scenario.until(lambda: "logs-hot-2" in scenario.uids(SETS))
        scenario.user.delete()
        assert await scenario.until(lambda: not scenario.uids(gone))
        assert ("logs-hot-0-0" in scenario.uids(PODS)) is (gone == SETS)
        scenario.user.create()
        await scenario.settle()
        assert [name for name in sorted(scenario.uids(SETS)) if "hot" in name] == ["logs-hot-2", "logs-hot-3"]


async def test_the_join_of_a_new_member_is_recorded_before_another_member_restarts() -> None:
    """The operator is down while the new member joins, so it sees the join and the next restart at once."""
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.pools(managers(1), hot(3, config={"indices.setting1": 1}))
        assert await scenario.until(lambda: "logs-hot-2-0" in scenario.uids(PODS))
        while not any(pod.key.name == "logs-hot-2-0" and ready(pod) for pod in scenario.world.store.all(PODS)):
            scenario.process.kill()
            await asyncio.sleep(0.5)
        await scenario.settle()
        assert scenario.most_down == 1


async def test_a_member_whose_node_is_lost_before_it_is_recorded_that_it_joined_counts_as_down() -> None:
    """The operator is down while the member joins and its node is lost, so only its pod shows that it served."""
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.pools(managers(1), hot(3))
        assert await scenario.until(lambda: "logs-hot-2-0" in scenario.uids(PODS))
        pods = scenario.world.store
        while not any(pod.key.name == "logs-hot-2-0" and ready(pod) for pod in pods.all(PODS)):
            scenario.process.kill()
            await asyncio.sleep(0.5)
        node = next(pod.doc["spec"]["nodeName"] for pod in pods.all(PODS) if pod.key.name == "logs-hot-2-0")
        scenario.world.nodes.lose(node, power=True)
        for _ in range(160):  # The database drops the member after 30 s, and its node is not ready after 40.
            scenario.process.kill()
            await asyncio.sleep(0.5)
        scenario.pools(managers(1), hot(3, config={"indices.setting1": 1}))
        await asyncio.sleep(120.0)
        assert not scenario.run.watchdog.disruptions
        scenario.world.nodes.restore(node)
        await scenario.settle()
