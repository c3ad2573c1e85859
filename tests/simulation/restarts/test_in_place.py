"""Processes that are restarted in kept pods, by the model of the agents; numbers are those of docs/scenarios.md."""

import asyncio

import pytest

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.simulation.apiserver.store import Event
from stateward.simulation.faults import process_faults
from tests.simulation.scenario import PODS, SECRETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation
MEMBERS = ["logs-hot-0", "logs-hot-1", "logs-hot-2", "logs-managers-0"]


async def test_a_setting_restarts_each_process_once_and_keeps_the_pods() -> None:
    with Scenario(managers(1), hot(3), agents=True).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert sorted(scenario.disrupted()) == MEMBERS
        assert scenario.most_down == 1
        assert all(node.config["indices.first"] == 1 for node in scenario.nodes())


async def test_35_a_process_is_started_on_its_new_configuration_however_late_that_arrives() -> None:
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.world.kubelets.behavior.files = (20.0, 150.0)
        scenario.edit(config={"indices.first": 7})
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert len(scenario.disrupted()) == 3
        assert all(node.config["indices.first"] == 7 for node in scenario.nodes())


async def test_36_a_setting_reverted_half_way_returns_in_the_same_pods() -> None:
    with Scenario(managers(1), hot(3), agents=True).logged() as scenario:
        await scenario.begin()
        pods, secrets = scenario.uids(PODS), configurations(scenario)
        scenario.edit(config={"indices.first": 1})
        assert await scenario.until(lambda: len(scenario.disrupted()) == 2)
        scenario.edit(config={})
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert configurations(scenario) == secrets
        assert scenario.most_down == 1
        assert len(scenario.disrupted()) <= 4


async def test_a_pod_is_notified_of_each_configuration_that_is_written_for_it() -> None:
    """So its kubelet syncs it at once, also after a revert; no pod is annotated before it is next in the order."""
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        made = told(scenario, names.ANNOTATION_CHECKSUM)
        assert set(told(scenario, names.ANNOTATION_WRITTEN).values()) == {None}
        scenario.edit(config={"indices.first": 1})
        assert await scenario.until(lambda: told(scenario, names.ANNOTATION_WRITTEN)["logs-hot-1"] is not None)
        assert told(scenario, names.ANNOTATION_WRITTEN)["logs-hot-0"] is None
        await scenario.settle()
        assert told(scenario, names.ANNOTATION_WRITTEN) == told(scenario, names.ANNOTATION_CHECKSUM)
        scenario.edit(config={})
        await scenario.settle()
        assert told(scenario, names.ANNOTATION_WRITTEN) == made


@pytest.mark.parametrize("phase", ["stop", "start"])
async def test_a_container_that_dies_in_the_middle_of_a_restart_comes_back_as_its_phase_says(phase: str) -> None:
    with Scenario(managers(1), hot(3), agents=True).logged() as scenario:
        await scenario.begin()
        died: list[str] = []

        def heard(kind: str, event: Event) -> None:
            new = event.new
            if kind == PODS and new is not None and not died and phase_of(new.meta) == phase:
                died.append(new.uid)
                scenario.world.context.later(
                    1.0, scenario.world.kubelets.crash, scenario.world.kubelets.runs[new.uid], 137, "x"
                )

        scenario.world.store.subscribers.append(heard)
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert died
        assert all(node.config["indices.first"] == 1 for node in scenario.nodes())


async def test_a_setting_with_which_nothing_starts_stops_at_the_first_member_and_is_reverted() -> None:
    with Scenario(managers(1), hot(3), agents=True).logged() as scenario:
        await scenario.begin()
        scenario.edit(config={"bad.setting": 1})
        await asyncio.sleep(900.0)
        assert set(scenario.disrupted()) == {"logs-hot-2"}
        scenario.edit(config={})
        await scenario.settle()
        assert set(scenario.disrupted()) == {"logs-hot-2"}


async def test_a_coordinated_restart_stops_all_before_it_starts_any() -> None:
    with Scenario(managers(1), hot(3), agents=True).logged() as scenario:
        await scenario.begin()
        pods, running = scenario.uids(PODS), {node.name for node in scenario.nodes()}
        processes = {id(node) for node in scenario.nodes()}
        scenario.user.annotate({names.ANNOTATION_PHASE: "schedule-coordinated"})
        assert await scenario.until(lambda: not any(n.alive for n in scenario.world.databases.nodes.values()))
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert {node.name for node in scenario.nodes()} == running
        assert not processes & {id(node) for node in scenario.nodes()}


@pytest.mark.parametrize("agents", [True, False])
@pytest.mark.parametrize("edit", [{"roles": []}, {"storage": {"ephemeral": True}}])
async def test_members_that_are_to_be_replaced_keep_their_data_in_a_coordinated_restart(
    edit: Json, *, agents: bool
) -> None:
    with Scenario(managers(1), hot(3), agents=agents).logged() as scenario:
        await scenario.begin()
        scenario.pools(managers(1), {**hot(3), "name": "other"}, {**hot(3), **edit})
        scenario.user.annotate({names.ANNOTATION_PHASE: "schedule-coordinated"})
        await scenario.settle()


def configurations(scenario: Scenario) -> dict[str, object]:
    """Return what is in the configuration Secrets."""
    return {s.key.name: s.doc["data"] for s in scenario.world.store.all(SECRETS) if s.key.name in MEMBERS}


def told(scenario: Scenario, annotation: str) -> dict[str, str | None]:
    """Return what stands in an annotation of each member's pod."""
    return {
        p.labels[names.LABEL_MEMBER]: p.meta["annotations"].get(annotation)
        for p in scenario.world.store.all(PODS)
        if names.LABEL_MEMBER in p.labels
    }


def phase_of(meta: dict[str, dict[str, str]]) -> str:
    """Return the restart phase of a pod."""
    return meta.get("annotations", {}).get(names.ANNOTATION_PHASE, "")


@pytest.mark.parametrize("after", [0.0, 2.0, 30.0])
async def test_a_removed_restart_and_a_reverted_change_leave_no_process_behind(
    after: float,
) -> None:
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.pools(managers(1), hot(2, config={"indices.first": 1}))
        assert await scenario.until(lambda: "process started in its pod" in scenario.world.context.counts)
        process_faults.phase_removed(scenario.run.fault_schedule.targets)
        await asyncio.sleep(after)
        scenario.pools(managers(1), hot(2))
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        for stored in scenario.world.store.all(PODS):
            agent = scenario.world.agents.at(stored.doc["status"].get("podIP", ""))
            if agent is not None:
                assert agent.said().running == stored.meta["annotations"][names.ANNOTATION_CHECKSUM]
