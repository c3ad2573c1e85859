"""FoundationDB to a version that does not talk to the one before: both programs everywhere, one switch, then images."""

import asyncio
from typing import Any

import pytest

from stateward.api.values import names
from tests.simulation.foundationdb.story import PODS, SETS, Story, pools

pytestmark = pytest.mark.simulation

OLD, NEW = "7.1.57", "7.3.63"


def programs(story: Story) -> set[str]:
    """Return the versions of the programs that run."""
    return {worker.version for worker in story.database.processes.values()}


def beside(story: Story) -> set[str]:
    """Return the pods with the programs of two versions."""
    return {
        stored.key.name
        for stored in story.world.store.all(PODS)
        if names.ANNOTATION_BESIDE in stored.doc["metadata"].get("annotations", {})
    }


def arrived(story: Story) -> None:
    """Assert that everything is of the new version, and nothing of the way is left."""
    assert programs(story) == {NEW}
    assert story.status["version"] == NEW
    assert beside(story) == set()
    images = {s.doc["spec"]["template"]["spec"]["containers"][0]["image"] for s in story.world.store.all(SETS)}
    assert {image.rpartition(":")[2] for image in images} == {NEW}
    story.check()


async def test_all_processes_change_at_one_moment_and_images_after_that() -> None:
    with Story(agents=True).told() as story:
        await story.begin()
        story.edit(version=NEW)
        assert await story.until(lambda: len(beside(story)) == 12, 7200.0), story.doing
        assert programs(story) == {OLD}
        assert story.unavailable < 30, "only recoveries, as each pod is being recreated"
        assert await story.settled(7200.0), story.doing
        arrived(story)
        assert story.world.ground.counts["process stopped in its pod"] == 12
        assert story.unavailable < 60
        assert await story.excluded() == []


async def test_pods_without_agents_are_all_made_anew_at_one_moment() -> None:
    with Story().told() as story:
        await story.begin()
        story.edit(version=NEW)
        assert await story.settled(7200.0), story.doing
        arrived(story)
        assert story.unavailable < 120


@pytest.mark.parametrize("nth", [23, 83, 143, 163, 183, 223])
async def test_the_operator_may_die_after_every_write(nth: int) -> None:
    with Story(seed=nth, agents=True).told() as story:
        await story.begin()
        story.crash_after(nth)
        story.edit(version=NEW)
        assert await story.settled(7200.0), story.doing
        arrived(story)
        assert story.unavailable < 120


@pytest.mark.parametrize("told", [1, 6, 11])
async def test_the_operator_may_die_between_the_words_by_which_all_stop(told: int) -> None:
    with Story(agents=True).told() as story:
        await story.begin()
        deaths: list[int] = []

        def wrote(*_: str) -> None:
            annotations = [pod.meta.get("annotations", {}) for pod in story.world.store.all(PODS)]
            heard = sum(found.get(names.ANNOTATION_PHASE) == "stop-coordinated" for found in annotations)
            if heard == told and not deaths:
                deaths.append(heard)
                story.process.kill()

        story.process.wrote = wrote
        story.edit(version=NEW)
        assert await story.settled(7200.0), story.doing
        assert deaths == [told]
        arrived(story)
        assert story.unavailable < 120


async def test_before_the_switch_it_can_be_taken_back() -> None:
    with Story(agents=True).told() as story:
        await story.begin()
        story.edit(version=NEW)
        assert await story.until(lambda: len(beside(story)) == 7, 7200.0), story.doing
        story.edit(version=OLD)
        assert await story.settled(7200.0), story.doing
        assert programs(story) == {OLD}
        assert beside(story) == set()
        assert story.unavailable < 30
        story.check()


async def test_after_the_switch_nothing_goes_back() -> None:
    with Story(agents=True).told() as story:
        await story.begin()
        story.edit(version=NEW)
        assert await story.until(lambda: NEW in programs(story), 7200.0), story.doing
        await asyncio.sleep(30.0)
        story.edit(version=OLD)
        assert await story.until(lambda: "cannot be downgraded" in story.doing, 600.0), story.doing
        await asyncio.sleep(1200.0)
        assert programs(story) == {NEW}
        story.edit(version=NEW)
        assert await story.settled(7200.0), story.doing
        arrived(story)


async def test_programs_that_cannot_be_pulled_stop_it_at_the_first_pod_and_the_way_back_is_open() -> None:
    with Story(agents=True).told() as story:
        await story.begin()
        story.world.kubelets.habits.missing = frozenset({NEW})
        story.edit(version=NEW)
        await asyncio.sleep(3600.0)
        assert len(beside(story)) == 1
        assert "do not talk to each other" in story.doing
        assert programs(story) == {OLD}
        story.edit(version=OLD)
        assert await story.settled(7200.0), story.doing
        assert beside(story) == set()
        assert story.unavailable < 30
        story.check()


@pytest.mark.parametrize("when", [1, 12])
async def test_a_member_that_is_replaced_meanwhile_leaves_before_or_after_the_switch(when: int) -> None:
    with Story(seed=when, agents=True).told() as story:
        await story.begin()
        story.edit(version=NEW)
        assert await story.until(lambda: len(beside(story)) >= when, 7200.0), story.doing
        story.edit(members={"replace": ["logs-storage-2"]})
        assert await story.settled(7200.0), story.doing
        assert "logs-storage-2" not in story.members()
        assert len(story.members()) == 12
        arrived(story)
        assert await story.excluded() == []


@pytest.mark.parametrize("seed", range(2))
async def test_a_member_that_is_away_at_the_switch_comes_back_with_the_new_programs(seed: int) -> None:
    with Story(seed=seed, agents=True).told() as story:
        await story.begin()
        story.edit(version=NEW)

        def phases() -> list[Any]:
            return [
                s
                for s in story.world.store.all(PODS)
                if s.doc["metadata"].get("annotations", {}).get(names.ANNOTATION_PHASE)
            ]

        assert await story.until(phases, 7200.0), story.doing
        pod = story.world.foundations.pods[phases()[0].key].container.node
        story.world.nodes.lose(pod, power=True)
        await asyncio.sleep(600.0)
        story.world.nodes.restore(pod)
        assert await story.settled(7200.0), story.doing
        arrived(story)


async def test_it_grows_on_the_way() -> None:
    with Story(agents=True).told() as story:
        await story.begin()
        story.edit(version=NEW)
        assert await story.until(lambda: len(beside(story)) == 5, 7200.0), story.doing
        story.edit(pools=pools(storage=6))
        assert await story.settled(7200.0), story.doing
        assert len(story.members()) == 13
        arrived(story)
