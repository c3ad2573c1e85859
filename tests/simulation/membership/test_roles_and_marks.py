"""Volumes of managers and of data are known after the roles of pools have changed, and a cluster was created again."""

import pytest

from stateward.api.values import names
from stateward.api.values.base import Json
from tests.simulation.membership.test_created_again import deleted
from tests.simulation.membership.test_forming import CONSENT, delete, formed
from tests.simulation.scenario import CLAIMS, Scenario, hot, managers, pool

pytestmark = pytest.mark.simulation


def mixed(replicas: int, name: str = "hot") -> Json:
    return pool(name, replicas, ["cluster_manager", "data", "ingest"], "5Gi")


async def votes_moved_to_hot(scenario: Scenario) -> None:
    """Let the pool hot, which had data alone, vote in place of the managers."""
    await scenario.begin()
    scenario.pools(mixed(3))
    await scenario.settle()


async def test_no_second_database_beside_the_only_manager_whose_pool_is_to_have_data_alone() -> None:
    with Scenario(managers(3), hot(3)).logged() as scenario:
        await votes_moved_to_hot(scenario)
        scenario.pools(mixed(1))
        await scenario.settle()
        # Volumes of members that have left are cleaned up.
        delete(scenario, CLAIMS, "managers", "hot-0", "hot-1", "hot-2", "hot-4", "hot-5")
        await deleted(scenario)
        left = [claim for claim in scenario.world.store.all(CLAIMS) if names.LABEL_CLUSTER in claim.labels]
        assert [claim.key.name for claim in left] == ["data-logs-hot-3"]
        assert names.ANNOTATION_STATE in left[0].meta["annotations"]
        scenario.user.spec["pools"] = [managers(3), hot(3)]
        scenario.user.create()
        await scenario.until(lambda: formed(scenario) == 2, 1800.0)
        assert formed(scenario) == 1, scenario.run.violations


@pytest.mark.parametrize("cleaned", [False, True])
async def test_the_earlier_file_is_applied_whose_pool_does_not_vote_and_its_members_vote_until_others_do(
    *, cleaned: bool
) -> None:
    with Scenario(managers(3), hot(3)).logged() as scenario:
        await votes_moved_to_hot(scenario)
        identity = scenario.database.identity
        if cleaned:
            delete(scenario, CLAIMS, "managers")
        await deleted(scenario)
        scenario.user.spec["pools"] = [managers(3), hot(3)]
        scenario.user.create()
        await scenario.settle()
        assert scenario.database.identity == identity
        assert formed(scenario) == 1
        assert {name.rpartition("-")[0] for name in scenario.database.names_of_voters()} == {"logs-managers"}


async def test_a_pool_that_no_longer_votes_is_not_to_form_the_cluster() -> None:
    with Scenario(mixed(3)).logged() as scenario:
        await scenario.begin(indices=0)
        scenario.pools(managers(3), hot(3))
        await scenario.settle()
        await deleted(scenario)
        delete(scenario, CLAIMS, "managers")
        scenario.user.create()
        assert await scenario.until(lambda: "ManagersLost" in scenario.waits), scenario.waits
        scenario.user.annotate(CONSENT)
        assert await scenario.until(lambda: formed(scenario) == 2), scenario.waits


async def test_no_cluster_is_formed_beside_data_although_one_of_its_volumes_was_lost_with_the_manager() -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin()
        await deleted(scenario)
        marked = [c for c in scenario.world.store.all(CLAIMS) if names.ANNOTATION_DATA in c.meta.get("annotations", {})]
        assert [claim.key.name for claim in marked] == [f"data-logs-hot-{i}" for i in range(3)]
        delete(scenario, CLAIMS, "managers-0", marked[0].key.name)
        scenario.user.create()
        await scenario.until(lambda: formed(scenario) == 2, 1200.0)
        assert formed(scenario) == 1, scenario.waits
