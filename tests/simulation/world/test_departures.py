"""The rules for a departure: who counts as serving in the place of a member, and who has nothing to lose."""

import asyncio

import pytest
from msgspec import structs

from stateward.api.values.base import Json
from stateward.kube.objects.metadata import Key
from stateward.simulation.properties.departures import Departure, departure_problems
from stateward.simulation.properties.operator_knowledge import DatabaseKnowledge, known_database
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.scenario import CLAIMS, PODS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation


async def test_a_member_that_has_joined_while_kubernetes_saw_its_pod_not_ready_counts_when_an_absent_one_leaves() -> (
    None
):
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        world, other = scenario.world, scenario.object(PODS, "logs-hot-1-0")
        member = scenario.object(SETS, "logs-hot-0")
        assert other is not None
        assert member is not None
        # Neither serves now, and the other one's pod was never ready.
        conditions = [c | {"status": "False"} for c in other.doc["status"]["conditions"]]
        world.context.change(other, ("status", "conditions"), conditions)
        await asyncio.sleep(1.0)
        known, now = known_database(scenario.database, world.now), world.now
        known = structs.replace(known, nodes=known.nodes - {"logs-hot-0", "logs-hot-1"}, holders={}, copies={})
        spec: Json = {"pools": [managers(1), hot(1)]}

        def problems(knowledge: DatabaseKnowledge) -> list[str]:
            left = Departure(world, member, Key(NAMESPACE, "logs"), now, knowledge, spec, {member.uid})
            return [letter for letter, _ in departure_problems(left)]

        assert problems(known) == []
        assert problems(structs.replace(known, seen=known.seen - {"logs-hot-1"})) == ["d"]


@pytest.mark.parametrize("left", ["", "claim", "pod", "record"])
async def test_a_member_that_lost_its_volume_with_an_earlier_cluster_may_leave_before_others_join(*, left: str) -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.process.kill()
        world, member, other = scenario.world, scenario.object(SETS, "logs-hot-0"), scenario.object(SETS, "logs-hot-1")
        assert member is not None
        assert other is not None
        for kind, name, keeps in ((PODS, "logs-hot-0-0", "pod"), (CLAIMS, "data-logs-hot-0", "claim")):
            stored = scenario.object(kind, name)
            assert stored is not None
            if left != keeps:
                world.store.remove(stored)
        await asyncio.sleep(1.0)
        known = known_database(scenario.database, world.now)
        seen = known.seen if left == "record" else known.seen - {"logs-hot-0"}
        known = structs.replace(known, nodes=known.nodes - {"logs-hot-0"}, seen=seen, holders={}, copies={})
        spec: Json = {"pools": [managers(1), hot(2)]}
        leaving = Departure(world, member, Key(NAMESPACE, "logs"), world.now, known, spec, {member.uid, other.uid})
        assert [letter for letter, _ in departure_problems(leaving)] == (["d"] if left else [])
