"""Claims that a user deletes before their members ever ran are made again."""

import asyncio

import pytest

from stateward.simulation.properties.goal import unmet
from tests.simulation.membership.test_forming import delete
from tests.simulation.scenario import CLAIMS, Scenario, pool

pytestmark = pytest.mark.simulation


async def test_claims_that_are_deleted_before_the_cluster_is_formed_come_back() -> None:
    """Their storage class does not exist, so a user deletes them, and corrects the class later."""
    storage = {"size": "5Gi", "storageClass": "absent"}
    wrong = {"name": "all", "replicas": 3, "roles": ["cluster_manager", "data"], "storage": storage}
    with Scenario(wrong).logged() as scenario:
        scenario.process.start()
        scenario.user.create()
        await asyncio.sleep(120.0)
        delete(scenario, CLAIMS, "all")
        await asyncio.sleep(120.0)
        assert scenario.uids(CLAIMS)
        scenario.pools(pool("all", 3, ["cluster_manager", "data"], "5Gi"))
        assert await scenario.until(lambda: not unmet(scenario.world), 1800.0), unmet(scenario.world)
        await scenario.settle()
