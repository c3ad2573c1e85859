"""What random runs have found, as small stories. Each was seen to fail before it was repaired."""

import pytest

from tests.simulation.story import Story, hot, managers, pool

pytestmark = pytest.mark.simulation


async def test_a_member_without_data_or_vote_is_replaced_by_one_that_has_joined_before() -> None:
    gateway = pool("gateway", 1, [])
    with Story(managers(1), hot(2), gateway).told() as story:
        await story.begin()
        story.pools(managers(1), hot(2), {**gateway, "storage": {"size": "2Gi", "storageClass": "fast"}})
        await story.settle()
        assert story.most_down == 0
