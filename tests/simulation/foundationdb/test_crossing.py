"""FoundationDB to a version that does not talk to the one before: both programs everywhere, one switch, then images."""

import asyncio
import base64
from typing import Any

import pytest

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import PODS, SETS, Scenario, pools

pytestmark = pytest.mark.simulation

OLD, NEW = "7.1.57", "7.3.63"


def programs(scenario: Scenario) -> set[str]:
    """Return the versions of the programs that run."""
    return {worker.version for worker in scenario.database.processes.values()}


def beside(scenario: Scenario) -> set[str]:
    """Return the pods with the programs of two versions."""
    return {
        stored.key.name
        for stored in scenario.world.store.all(PODS)
        if names.ANNOTATION_STAGED_VERSION in stored.doc["metadata"].get("annotations", {})
    }


def arrived(scenario: Scenario) -> None:
    """Assert that everything is of the new version, and nothing of the way is left."""
    assert programs(scenario) == {NEW}
    assert scenario.status["version"] == NEW
    assert beside(scenario) == set()
    images = {s.doc["spec"]["template"]["spec"]["containers"][0]["image"] for s in scenario.world.store.all(SETS)}
    assert {image.rpartition(":")[2] for image in images} == {NEW}
    scenario.check()


async def test_all_processes_change_at_one_moment_and_images_after_that() -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: len(beside(scenario)) == 12, 7200.0), scenario.doing
        assert programs(scenario) == {OLD}
        assert scenario.unavailable < 30, "only recoveries, as each pod is being recreated"
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)
        assert scenario.world.context.counts["process stopped in its pod"] == 12
        assert scenario.unavailable < 60
        assert await scenario.excluded() == []


async def test_pods_without_agents_are_all_recreated_at_once() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)
        assert scenario.unavailable < 120


async def test_stateless_members_without_volumes_and_without_agents_change_with_the_others() -> None:
    """They hold no data that the deletion of all pods together could lose."""
    stateless = {"name": "stateless", "processClass": "stateless", "replicas": 3, "storage": {"ephemeral": True}}
    with Scenario(pools=[*pools()[:2], stateless]).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)
        assert scenario.unavailable < 120


@pytest.mark.parametrize("left", [[], [{"name": "other", "processClass": "stateless", "storage": {"ephemeral": True}}]])
async def test_a_stateless_pool_without_volumes_may_be_removed_as_all_are_about_to_change(left: list[Json]) -> None:
    """Its members take part: they hold no data, whether or not they still have a pool."""
    stateless = {"name": "stateless", "processClass": "stateless", "replicas": 2, "storage": {"ephemeral": True}}
    with Scenario(pools=[*pools()[:2], stateless]).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: in_phase(scenario, "schedule-coordinated"), 7200.0), scenario.doing
        scenario.edit(pools=[*pools()[:2], *({**pool, "replicas": 2} for pool in left)])
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)


@pytest.mark.parametrize("nth", [23, 83, 143, 163, 183, 223])
async def test_the_operator_may_die_after_every_write(nth: int) -> None:
    with Scenario(seed=nth, agents=True).logged() as scenario:
        await scenario.begin()
        scenario.crash_after(nth)
        scenario.edit(version=NEW)
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)
        assert scenario.unavailable < 120


@pytest.mark.parametrize("told", [1, 6, 11])
async def test_the_operator_may_die_between_the_words_by_which_all_stop(told: int) -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        deaths: list[int] = []

        def wrote(*_: str) -> None:
            annotations = [pod.meta.get("annotations", {}) for pod in scenario.world.store.all(PODS)]
            heard = sum(found.get(names.ANNOTATION_PHASE) == "stop-coordinated" for found in annotations)
            if heard == told and not deaths:
                deaths.append(heard)
                scenario.process.kill()

        scenario.process.write_done = wrote
        scenario.edit(version=NEW)
        assert await scenario.settled(7200.0), scenario.doing
        assert deaths == [told]
        arrived(scenario)
        assert scenario.unavailable < 120


async def test_before_the_switch_it_can_be_reverted() -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: len(beside(scenario)) == 7, 7200.0), scenario.doing
        scenario.edit(version=OLD)
        assert await scenario.settled(7200.0), scenario.doing
        assert programs(scenario) == {OLD}
        assert beside(scenario) == set()
        assert scenario.unavailable < 30
        scenario.check()


async def test_after_the_switch_nothing_goes_back() -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: NEW in programs(scenario), 7200.0), scenario.doing
        await asyncio.sleep(30.0)
        scenario.edit(version=OLD)
        assert await scenario.until(lambda: "cannot be downgraded" in scenario.doing, 600.0), scenario.doing
        await asyncio.sleep(1200.0)
        assert programs(scenario) == {NEW}
        scenario.edit(version=NEW)
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)


async def test_programs_that_cannot_be_pulled_stop_it_at_the_first_pod_and_the_way_back_is_open() -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        scenario.world.kubelets.behavior.missing = frozenset({NEW})
        scenario.edit(version=NEW)
        await asyncio.sleep(3600.0)
        assert len(beside(scenario)) == 1
        assert "do not talk to each other" in scenario.doing
        assert programs(scenario) == {OLD}
        scenario.edit(version=OLD)
        assert await scenario.settled(7200.0), scenario.doing
        assert beside(scenario) == set()
        assert scenario.unavailable < 30
        scenario.check()


@pytest.mark.parametrize("when", [1, 12])
async def test_a_member_that_is_replaced_meanwhile_leaves_before_or_after_the_switch(when: int) -> None:
    with Scenario(seed=when, agents=True).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: len(beside(scenario)) >= when, 7200.0), scenario.doing
        scenario.edit(members={"replace": ["logs-storage-2"]})
        assert await scenario.settled(7200.0), scenario.doing
        assert "logs-storage-2" not in scenario.members()
        assert len(scenario.members()) == 12
        arrived(scenario)
        assert await scenario.excluded() == []


@pytest.mark.parametrize("seed", range(2))
async def test_a_member_that_is_away_at_the_switch_comes_back_with_the_new_programs(seed: int) -> None:
    with Scenario(seed=seed, agents=True).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)

        def phases() -> list[Any]:
            return [
                s
                for s in scenario.world.store.all(PODS)
                if s.doc["metadata"].get("annotations", {}).get(names.ANNOTATION_PHASE)
            ]

        assert await scenario.until(phases, 7200.0), scenario.doing
        pod = scenario.world.foundationdb.pods[phases()[0].key].container.node
        scenario.world.nodes.lose(pod, power=True)
        await asyncio.sleep(600.0)
        scenario.world.nodes.restore(pod)
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)


async def test_it_grows_on_the_way() -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: len(beside(scenario)) == 5, 7200.0), scenario.doing
        scenario.edit(pools=pools(storage=6))
        assert await scenario.settled(7200.0), scenario.doing
        assert len(scenario.members()) == 13
        arrived(scenario)


def renamed(name: str) -> list[Json]:
    """Return the pools, one of them with another name."""
    return [{**pool, "name": f"other-{name}"} if pool["name"] == name else pool for pool in pools()]


def switched(scenario: Scenario) -> int:
    """Return how many members have a configuration with the new programs."""
    found = [stored.doc.get("data", {}).get("program", "") for stored in scenario.world.store.all("/secrets")]
    return sum(base64.b64decode(text).decode().strip() == NEW for text in found)


def in_phase(scenario: Scenario, phase: str) -> int:
    annotations = [stored.meta.get("annotations", {}) for stored in scenario.world.store.all(PODS)]
    return sum(found.get(names.ANNOTATION_PHASE) == phase for found in annotations)


@pytest.mark.parametrize("name", ["storage", "log"])
async def test_a_pool_that_is_renamed_just_before_the_switch_leaves_first(name: str) -> None:
    """Its members would go on with programs that no other process talks to, and there is no database without them."""
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: switched(scenario), 7200.0), scenario.doing
        scenario.edit(pools=renamed(name))
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)
        assert scenario.unavailable < 60
        assert not any(member.startswith(f"logs-{name}-") for member in scenario.members())


@pytest.mark.parametrize(("agents", "phase"), [(True, "schedule-coordinated"), (False, "stop-coordinated")])
async def test_a_pool_that_is_renamed_while_the_switch_begins_takes_part_in_it(agents: bool, phase: str) -> None:
    with Scenario(agents=agents).logged() as scenario:
        await scenario.begin()
        edits: list[int] = []

        def wrote(*_: str) -> None:
            if in_phase(scenario, phase) == 12 and not edits:
                edits.append(1)
                scenario.edit(pools=renamed("storage"))

        scenario.process.write_done = wrote
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: edits, 7200.0), scenario.doing
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)
        assert scenario.unavailable < 120


async def test_a_member_whose_machine_is_lost_just_before_the_switch_may_be_replaced_before_it() -> None:
    """With two members of a pool, data is not replicated before there is a new one, and the switch waits for that."""
    few = pools(storage=2, log=3, stateless=2)
    with Scenario(agents=True, where="node", pools=few).logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: switched(scenario), 7200.0), scenario.doing
        lost = scenario.world.store.get(PODS, Key(NAMESPACE, "logs-storage-1-0"))
        assert lost is not None
        scenario.world.nodes.remove(lost.doc["spec"]["nodeName"])
        assert await scenario.until(lambda: "not all data is replicated" in scenario.doing, 600.0), scenario.doing
        scenario.edit(members={"replace": ["logs-storage-1"]})
        assert await scenario.settled(7200.0), scenario.doing
        assert "logs-storage-1" not in scenario.members()
        arrived(scenario)


async def test_the_only_coordinator_gets_another_pod_just_before_the_switch() -> None:
    """No other process talks to it, and the database answers only after the switch, which waited for that."""
    with Scenario(agents=True, redundancy="single").logged() as scenario:
        await scenario.begin()
        (only,) = scenario.coordinators()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: switched(scenario), 7200.0), scenario.doing
        pod = scenario.world.store.get(PODS, Key(NAMESPACE, names.pod(only)))
        assert pod is not None
        scenario.world.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)


async def test_no_other_version_before_all_members_have_joined_with_the_one_of_the_switch() -> None:
    """The deployed version is still the old one, and its programs must never run again on data of the new one."""
    with Scenario(agents=True, where="node").logged() as scenario:
        await scenario.begin()
        scenario.edit(version=NEW)
        assert await scenario.until(lambda: in_phase(scenario, "stop-coordinated"), 7200.0), scenario.doing
        lost = scenario.world.store.get(PODS, Key(NAMESPACE, "logs-stateless-0-0"))
        assert lost is not None
        scenario.world.nodes.lose(lost.doc["spec"]["nodeName"], power=True)

        def joined() -> bool:
            return any(member.get("version") == NEW for member in scenario.status.get("memberStates", []))

        assert await scenario.until(joined, 600.0), scenario.doing
        scenario.edit(version="7.4.1")
        for _ in range(30):
            await asyncio.sleep(60.0)
            assert programs(scenario) == {NEW}
        assert f"set spec.version to {NEW} until all have" in scenario.doing
        scenario.edit(version=NEW)
        scenario.world.nodes.restore(lost.doc["spec"]["nodeName"])
        assert await scenario.settled(7200.0), scenario.doing
        arrived(scenario)
        scenario.edit(version="7.4.1")
        assert await scenario.settled(7200.0), scenario.doing
        assert programs(scenario) == {"7.4.1"}
