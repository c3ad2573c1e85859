"""Processes that are restarted in kept pods, by the model of the agents; numbers are those of docs/scenarios.md."""

import asyncio

import pytest

from stateward.api.values import names
from stateward.simulation.apiserver.store import Event
from stateward.simulation.faults import accidents
from tests.simulation.story import PODS, SECRETS, Story, hot, managers

pytestmark = pytest.mark.simulation
MEMBERS = ["logs-hot-0", "logs-hot-1", "logs-hot-2", "logs-managers-0"]


async def test_a_setting_restarts_each_process_once_and_keeps_the_pods() -> None:
    with Story(managers(1), hot(3), agents=True).told() as story:
        await story.begin()
        pods = story.uids(PODS)
        story.edit(config={"indices.first": 1})
        await story.settle()
        assert story.uids(PODS) == pods
        assert sorted(story.disrupted()) == MEMBERS
        assert story.most_down == 1
        assert all(node.config["indices.first"] == 1 for node in story.nodes())


async def test_35_a_process_is_started_on_its_new_configuration_however_late_that_arrives() -> None:
    with Story(managers(1), hot(2), agents=True).told() as story:
        await story.begin()
        pods = story.uids(PODS)
        story.world.kubelets.habits.files = (20.0, 150.0)
        story.edit(config={"indices.first": 7})
        await story.settle()
        assert story.uids(PODS) == pods
        assert len(story.disrupted()) == 3
        assert all(node.config["indices.first"] == 7 for node in story.nodes())


async def test_36_a_setting_taken_back_half_way_returns_in_the_same_pods() -> None:
    with Story(managers(1), hot(3), agents=True).told() as story:
        await story.begin()
        pods, secrets = story.uids(PODS), configurations(story)
        story.edit(config={"indices.first": 1})
        assert await story.until(lambda: len(story.disrupted()) == 2)
        story.edit(config={})
        await story.settle()
        assert story.uids(PODS) == pods
        assert configurations(story) == secrets
        assert story.most_down == 1
        assert len(story.disrupted()) <= 4


async def test_a_pod_is_told_of_each_configuration_that_is_written_for_it() -> None:
    """So its kubelet looks at it at once, also when the setting is taken back; nobody is told before its turn."""
    with Story(managers(1), hot(2), agents=True).told() as story:
        await story.begin()
        made = told(story, names.ANNOTATION_CHECKSUM)
        assert set(told(story, names.ANNOTATION_WRITTEN).values()) == {None}
        story.edit(config={"indices.first": 1})
        assert await story.until(lambda: told(story, names.ANNOTATION_WRITTEN)["logs-hot-1"] is not None)
        assert told(story, names.ANNOTATION_WRITTEN)["logs-hot-0"] is None
        await story.settle()
        assert told(story, names.ANNOTATION_WRITTEN) == told(story, names.ANNOTATION_CHECKSUM)
        story.edit(config={})
        await story.settle()
        assert told(story, names.ANNOTATION_WRITTEN) == made


@pytest.mark.parametrize("phase", ["stop", "start"])
async def test_a_container_that_dies_in_the_middle_of_a_restart_comes_back_as_its_phase_says(phase: str) -> None:
    with Story(managers(1), hot(3), agents=True).told() as story:
        await story.begin()
        died: list[str] = []

        def heard(kind: str, event: Event) -> None:
            new = event.new
            if kind == PODS and new is not None and not died and phase_of(new.meta) == phase:
                died.append(new.uid)
                story.world.ground.later(1.0, story.world.kubelets.crash, story.world.kubelets.runs[new.uid], 137, "x")

        story.world.store.subscribers.append(heard)
        story.edit(config={"indices.first": 1})
        await story.settle()
        assert died
        assert all(node.config["indices.first"] == 1 for node in story.nodes())


async def test_a_setting_with_which_nothing_starts_stops_at_the_first_member_and_is_taken_back() -> None:
    with Story(managers(1), hot(3), agents=True).told() as story:
        await story.begin()
        story.edit(config={"bad.setting": 1})
        await asyncio.sleep(900.0)
        assert set(story.disrupted()) == {"logs-hot-2"}
        story.edit(config={})
        await story.settle()
        assert set(story.disrupted()) == {"logs-hot-2"}


async def test_a_coordinated_restart_stops_all_before_it_starts_any() -> None:
    with Story(managers(1), hot(3), agents=True).told() as story:
        await story.begin()
        pods, running = story.uids(PODS), {node.name for node in story.nodes()}
        processes = {id(node) for node in story.nodes()}
        story.user.annotate({names.ANNOTATION_PHASE: "schedule-coordinated"})
        assert await story.until(lambda: not any(n.alive for n in story.world.databases.nodes.values()))
        await story.settle()
        assert story.uids(PODS) == pods
        assert {node.name for node in story.nodes()} == running
        assert not processes & {id(node) for node in story.nodes()}


def configurations(story: Story) -> dict[str, object]:
    """Return what is in the configuration Secrets."""
    return {s.key.name: s.doc["data"] for s in story.world.store.all(SECRETS) if s.key.name in MEMBERS}


def told(story: Story, annotation: str) -> dict[str, str | None]:
    """Return what stands in an annotation of each member's pod."""
    return {
        p.labels[names.LABEL_MEMBER]: p.meta["annotations"].get(annotation)
        for p in story.world.store.all(PODS)
        if names.LABEL_MEMBER in p.labels
    }


def phase_of(meta: dict[str, dict[str, str]]) -> str:
    """Return the restart phase of a pod."""
    return meta.get("annotations", {}).get(names.ANNOTATION_PHASE, "")


@pytest.mark.parametrize("after", [0.0, 2.0, 30.0])
async def test_whoever_takes_the_restart_off_a_started_process_and_the_change_back_leaves_no_process_behind(
    after: float,
) -> None:
    with Story(managers(1), hot(2), agents=True).told() as story:
        await story.begin()
        pods = story.uids(PODS)
        story.pools(managers(1), hot(2, config={"indices.first": 1}))
        assert await story.until(lambda: "process started in its pod" in story.world.ground.counts)
        accidents.phase_taken_off(story.run.swarm.stage)
        await asyncio.sleep(after)
        story.pools(managers(1), hot(2))
        await story.settle()
        assert story.uids(PODS) == pods
        for stored in story.world.store.all(PODS):
            agent = story.world.agents.at(stored.doc["status"].get("podIP", ""))
            if agent is not None:
                assert agent.said().running == stored.meta["annotations"][names.ANNOTATION_CHECKSUM]
