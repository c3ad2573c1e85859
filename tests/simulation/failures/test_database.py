"""What the database says, or does not say. Numbers are those of docs/scenarios.md."""

import asyncio
from itertools import pairwise

import pytest

from stateward.simulation.opensearch.cluster import Cluster
from tests.simulation.story import CLAIMS, PODS, SETS, Story, hot, managers

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize("rate", ["error", "garbled"])
async def test_17_a_database_that_does_not_answer_is_unknown_and_not_empty(rate: str) -> None:
    """Members should leave, and every answer fails: nobody is taken for gone, nothing is removed."""
    with Story(managers(1), hot(4), volumes={"onScaleDown": "Delete"}).told() as story:
        await story.begin()
        pods, claims = story.uids(PODS), story.uids(CLAIMS)
        setattr(story.process.engine_rates, rate, 1.0)
        story.pools(managers(1), hot(2))
        await asyncio.sleep(1800.0)
        assert story.uids(PODS) == pods
        assert story.uids(CLAIMS) == claims
        assert all(s.doc["spec"]["replicas"] == 1 for s in story.world.store.all(SETS))
        assert "does not answer" in story.waits or "Unknown" in story.waits
        setattr(story.process.engine_rates, rate, 0.0)
        await story.settle()


async def test_21_members_that_are_to_leave_are_upgraded_too() -> None:
    """A shrink that cannot go on holds its members; they must not be left behind with the old version."""
    with Story(managers(1), hot(3)).told() as story:
        await story.begin(0)
        story.database.create_index("wide", 2, 10 * 2**20, 5.0)
        await asyncio.sleep(60.0)
        story.pools(managers(1), hot(2))
        assert await story.until(lambda: "ShrinkRefused" in story.waits or "copies" in story.waits)
        story.edit(version="2.18.0")
        assert await story.until(lambda: {n.version for n in story.database.nodes.values()} == {"2.18.0"})
        story.pools(managers(1), hot(3))
        await story.settle()


async def test_22_every_disruption_has_a_fresh_look_behind_it() -> None:
    """Between two deletions the database is looked at again, also when several may go at once."""
    with Story(managers(3), hot(4), update={"maxUnavailable": 2}).told() as story:
        await story.begin()
        looks: list[float] = []

        def looked(cluster: Cluster) -> None:
            looks.append(story.world.now)
            story.run.watchdog.looked(cluster)

        story.process.looked = looked
        story.process.kill()
        story.edit(config={"indices.first": 1})
        await story.settle()
        times = sorted({at for at, _ in story.run.watchdog.disruptions})
        assert len(times) >= 2
        for before, after in pairwise(times):
            assert any(before < look <= after for look in looks) or after - before < 1.0
        assert story.red == 0
