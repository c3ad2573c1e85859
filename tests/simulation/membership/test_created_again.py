"""A cluster that is deleted and created again on kept volumes has one database, and says which volumes it needs."""

from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.planning.facts.facts import Facts
from stateward.planning.steps.membership import bootstrap
from tests.simulation.scenario import CLAIMS, PODS, SETS, Scenario, hot, managers, pool


async def deleted(scenario: Scenario) -> None:
    """Delete the cluster resource, and wait until its pods have ended."""
    scenario.user.delete()
    assert await scenario.until(lambda: not scenario.uids(PODS))


def without_managers(scenario: Scenario) -> None:
    """Delete the claims of all managers."""
    for claim in scenario.world.store.all(CLAIMS):
        if "managers" in claim.key.name:
            scenario.world.server.delete(CLAIMS, claim.key, DeleteOptions(Preconditions(claim.uid)))


async def test_managers_that_are_renamed_before_their_election_form_no_second_database() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin()
        before = scenario.database.identity
        await deleted(scenario)
        scenario.world.databases.behavior.boot = (240.0, 300.0)
        scenario.user.create()
        assert await scenario.until(lambda: "logs-managers-2" in scenario.uids(SETS))
        scenario.pools(pool("masters", 3, ["cluster_manager"], "1Gi"), hot(2))
        await scenario.settle()
        assert scenario.database.identity == before
        assert scenario.world.context.counts["cluster formed"] == 1


async def test_a_second_database_violates_a_property(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the guards the new managers form one, while the earlier ones' volumes have the state of the first."""

    def none_kept(_facts: Facts) -> list[Any]:
        return []

    monkeypatch.setattr(bootstrap, "kept_voters", none_kept)
    monkeypatch.setattr(bootstrap, "kept_data", none_kept)
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin()
        await deleted(scenario)
        scenario.user.spec["pools"] = [pool("masters", 3, ["cluster_manager"], "1Gi"), hot(2)]
        scenario.user.create()
        assert await scenario.until(lambda: scenario.world.context.counts["cluster formed"] == 2)
        found = [violation for violation in scenario.run.violations if violation.property == "s"]
        held = "logs-hot-0, logs-hot-1, logs-managers-0, logs-managers-1, logs-managers-2"
        assert f"the volumes of {held} hold another one" in found[0].message


async def test_a_second_database_beside_data_without_managers_violates_a_property(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none_kept(_facts: Facts) -> list[Any]:
        return []

    monkeypatch.setattr(bootstrap, "kept_data", none_kept)
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin(indices=0)
        await deleted(scenario)
        without_managers(scenario)
        scenario.user.create()
        assert await scenario.until(lambda: scenario.world.context.counts["cluster formed"] == 2)
        found = [violation for violation in scenario.run.violations if violation.property == "s"]
        assert "the volumes of logs-hot-0, logs-hot-1 hold another one" in found[0].message


async def test_a_cluster_without_the_pool_of_its_earlier_managers_forms_no_database_and_asks_for_the_pool() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin()
        before = scenario.database.identity
        await deleted(scenario)
        scenario.user.spec["pools"] = [pool("masters", 3, ["cluster_manager"], "1Gi"), hot(2)]
        scenario.user.create()
        assert await scenario.until(lambda: "PoolNeeded" in scenario.waits)
        assert scenario.world.context.counts["cluster formed"] == 1
        scenario.pools(managers(3), pool("masters", 3, ["cluster_manager"], "1Gi"), hot(2))
        assert await scenario.until(lambda: scenario.database.leader)
        scenario.pools(pool("masters", 3, ["cluster_manager"], "1Gi"), hot(2))
        await scenario.settle()
        assert scenario.database.identity == before


async def test_no_database_is_formed_beside_data_whose_managers_are_lost_until_a_person_agrees() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin(indices=0)
        before = scenario.database.identity
        await deleted(scenario)
        without_managers(scenario)
        scenario.user.create()
        assert await scenario.until(lambda: "ManagersLost" in scenario.waits)
        assert not await scenario.until(lambda: scenario.world.context.counts["cluster formed"] == 2, 600.0)
        scenario.user.confirm_bootstrap()
        assert await scenario.until(lambda: scenario.world.context.counts["cluster formed"] == 2)
        assert scenario.database.identity != before


async def test_fewer_members_than_the_kept_volumes_need_are_asked_for_by_number() -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.database.create_index("alone", 0, 2**20, 1.0)
        await deleted(scenario)
        scenario.user.spec["pools"] = [managers(1), hot(1)]
        scenario.user.create()
        assert await scenario.until(lambda: "PoolNeeded" in scenario.waits)
        waits = [wait["message"] for wait in scenario.status["waiting"] if wait["reason"] == "PoolNeeded"]
        assert any(message.endswith("with 3 members of pool hot in the spec") for message in waits), waits
        scenario.pools(managers(1), hot(3))
        await scenario.settle()
        assert scenario.database.health == "green"
