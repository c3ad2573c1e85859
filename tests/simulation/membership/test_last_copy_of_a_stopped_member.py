"""A volume stays while the database still lists the only copy of a shard on its member, also if its pod is gone."""

from typing import Any

import pytest
from msgspec.structs import replace

from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.planning.model import actions as a
from stateward.planning.plan import plan
from tests.simulation.scenario import CLAIMS, PODS, SETS, Scenario, hot, managers
from tests.unit.planning import world as small


def test_a_member_without_a_pod_whose_copy_the_database_still_lists_keeps_its_volume() -> None:
    """A user has scaled its StatefulSet to zero and deleted its pod by force; its process may still run."""
    world = small.settled(small.managers(), small.hot(3), indices=((1,), (1,), (1,)), delete_volumes=True)
    seen = world.edit(pools=[small.managers(), small.hot(2)]).observe()

    def stopped(member: Any) -> Any:
        return replace(member, pod=None, workload=replace(member.workload, replicas=0))

    members = tuple(stopped(m) if m.name == "c-hot-2" else m for m in seen.members)
    made = plan(replace(seen, members=members), world.now)
    assert not [x for x in made.actions if isinstance(x, a.DeleteVolume)]


@pytest.mark.simulation
async def test_the_volume_of_a_pod_that_was_deleted_by_force_is_kept() -> None:
    with Scenario(managers(3), hot(3), volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin(indices=0)
        scenario.database.create_index("alone", 0, 2**20, 5.0, first="logs-hot-2")
        assert await scenario.until(lambda: scenario.database.health == "green")
        workload, pod = scenario.object(SETS, "logs-hot-2"), scenario.object(PODS, "logs-hot-2-0")
        assert workload is not None
        assert pod is not None
        # The machine is cut off from the API server only: its process goes on.
        scenario.world.nodes.lose(pod.doc["spec"]["nodeName"], power=False)
        scenario.world.server.patch(SETS, workload.key, {"spec": {"replicas": 0}}, PatchKind.MERGE)
        scenario.pools(managers(3), hot(2))
        now = DeleteOptions(Preconditions(pod.uid), grace_seconds=0)
        scenario.world.server.delete(PODS, pod.key, now)
        gone = await scenario.until(lambda: scenario.object(CLAIMS, "data-logs-hot-2") is None, 600.0)
        assert not gone, (scenario.world.databases.damage.losses, scenario.run.violations)
