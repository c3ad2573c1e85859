"""What a simulated user changes when the status asks for kept volumes: what it says, and no more."""

from copy import deepcopy
from typing import Any

import pytest

from stateward.api.values.base import Json
from stateward.simulation.users.drawn_edits import DrawnEdit
from stateward.simulation.users.needed_pools import needed_members, needed_pools
from tests.simulation.scenario import Scenario, hot, managers

pytestmark = pytest.mark.simulation

HOT: Json = {"name": "hot", "replicas": 2, "roles": ["data"]}


def after(message: str, *pools: Json, subject: str = "logs-hot-3", reason: str = "PoolNeeded") -> list[Json]:
    """Return the pools after a wait with this message."""
    wait = {"subject": subject, "reason": reason, "message": message}
    return needed_pools("logs", pools, [wait], {"hot": HOT}, "cluster_manager")


@pytest.mark.parametrize(
    ("pool", "asks", "changes"),
    [
        (HOT, "4 members of pool hot in the spec", {"replicas": 4}),
        ({**HOT, "replicas": 0}, "1 member of pool hot in the spec", {"replicas": 1}),
        ({**HOT, "roles": []}, "the role data for pool hot in the spec", {"roles": ["data"]}),
        (HOT, "the role of a manager for pool hot in the spec", {"roles": ["data", "cluster_manager"]}),
        (
            {**HOT, "scaling": {"min": 1, "max": 3}},
            "4 members of pool hot in the spec",
            {"replicas": 4, "scaling": {"min": 4, "max": 4}},
        ),
    ],
)
def test_a_pool_gets_what_the_message_names(pool: Json, asks: str, changes: dict[str, Any]) -> None:
    assert after(f"it can only be used with {asks}", pool) == [{**pool, **changes}]


def test_a_removed_pool_that_is_known_is_restored() -> None:
    assert after("it can only be used with pool hot in the spec") == [HOT]
    assert after("it can only be used with pool cold in the spec", subject="logs-cold-0") == []


def test_other_waits_change_nothing() -> None:
    assert after("with 4 members of pool hot", HOT, reason="NeverJoined") == [HOT]


async def test_a_pool_is_restored_as_it_was_last_also_if_the_edit_that_added_it_was_reverted() -> None:
    """Its members joined before the revert, and their volumes may have the last copies."""
    with Scenario(managers(1), hot(1)).logged() as scenario:
        scenario.user.create()
        first = deepcopy(scenario.user.spec)
        for replicas in (2, 1):
            more = {**deepcopy(first), "pools": [*first["pools"], {**hot(replicas), "name": "more"}]}
            scenario.user.apply_drawn_edit(DrawnEdit("spec.pools", more["pools"], valid=True, spec=more))
            assert scenario.user.spec == first
        scenario.user.set("version up", version="2.17.2")
        resource = scenario.world.resource()
        assert resource is not None
        wait = {"subject": "logs-more-0", "reason": "PoolNeeded", "message": "it can only be used with pool more"}
        scenario.world.context.change(resource, ("status",), {"waiting": [wait]})
        scenario.user.resolve_waits()
        assert [pool["name"] for pool in scenario.user.spec["pools"]] == ["managers", "hot", "more"]
        assert scenario.user.spec["pools"][2]["replicas"] == 1


async def test_a_member_whose_replacement_is_to_be_taken_back_is_kept() -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        scenario.user.create()
        requests = {"replaceWithoutDraining": ["logs-hot-0", "logs-hot-1"], "keep": ["logs-hot-2"]}
        scenario.user.set("members requested", members=requests)
        resource = scenario.world.resource()
        assert resource is not None
        text = "it can only be used with logs-hot-1 in members.keep and 3 members of pool hot"
        waits = [{"subject": "logs-hot-1", "reason": reason, "message": text} for reason in ("PoolNeeded", "Missing")]
        scenario.world.context.change(resource, ("status",), {"waiting": waits})
        scenario.user.resolve_waits()
        assert scenario.user.spec["members"] == {
            "replaceWithoutDraining": ["logs-hot-0"],
            "keep": ["logs-hot-2", "logs-hot-1"],
        }
        assert needed_members(waits[1:]) == []
