"""What a simulated user changes when the status asks for kept volumes: what it says, and no more."""

from typing import Any

import pytest

from stateward.api.values.base import Json
from stateward.simulation.users.needed_pools import needed_pools

pytestmark = pytest.mark.simulation

HOT: Json = {"name": "hot", "replicas": 2, "roles": ["data"]}


def after(message: str, *pools: Json, subject: str = "logs-hot-3", reason: str = "PoolNeeded") -> list[Json]:
    """Return the pools after a wait with this message."""
    wait = {"subject": subject, "reason": reason, "message": message}
    return needed_pools("logs", pools, [wait], [{**HOT, "replicas": 9}, HOT], "cluster_manager")


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


def test_a_removed_pool_is_restored_as_it_was_last() -> None:
    assert after("it can only be used with pool hot in the spec") == [HOT]
    assert after("it can only be used with pool cold in the spec", subject="logs-cold-0") == []


def test_other_waits_change_nothing() -> None:
    assert after("with 4 members of pool hot", HOT, reason="NeverJoined") == [HOT]
