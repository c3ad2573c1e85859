"""What random runs have found, as small stories. Each was seen to fail before it was repaired."""

import asyncio

import pytest

from stateward.simulation import accidents
from tests.simulation.story import CLAIMS, PODS, Story, hot, managers, pool

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
