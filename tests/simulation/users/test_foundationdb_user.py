"""The simulated user of FoundationDB requests only what the cluster can do when faults have ended."""

import pytest

from stateward.simulation.users.foundationdb_user import FoundationDBUser
from tests.simulation.foundationdb.scenario import KIND, NAME, Scenario

pytestmark = pytest.mark.simulation


async def test_no_version_is_requested_that_a_member_has_passed_also_while_no_process_runs() -> None:
    with Scenario(version="7.1.67").logged() as scenario:
        await scenario.begin()
        scenario.process.kill()
        for database in scenario.world.foundationdb.databases.values():
            database.processes.clear()
        (resource,) = scenario.world.store.all(KIND)
        # An upgrade that has not reached every member: the deployed version is the earlier one.
        resource.doc["status"]["version"] = "7.1.57"
        scenario.world.clusters = KIND
        user = FoundationDBUser(scenario.world, {**scenario.spec, "version": "7.1.57"}, NAME)
        user.request_satisfiable_spec()
        assert user.spec["version"] == "7.1.67"
