"""Which changes of a status are written at once."""

from typing import Any

import pytest
from msgspec import structs

from stateward.api.kinds.replacement import RemovalStatus
from stateward.api.kinds.status import (
    BootstrapStatus,
    ClusterStatus,
    DataChangeStatus,
    ForecastStatus,
    MemberCounts,
    MemberStatus,
    PoolStatus,
    WaitStatus,
)
from stateward.api.values.base import Condition
from stateward.planning.report.urgency import is_urgent, moves_on

MEMBER = MemberStatus(name="logs-hot-0", pool="hot", state="Ready", version="2.19.5", volume="v", address="10.0.0.1")
READY = Condition(type="Ready", status="True", reason="Settled", message="all members run")
BEFORE = ClusterStatus(observed_generation=1, version="2.19.5", member_states=[MEMBER], conditions=[READY])


def member(**changes: Any) -> dict[str, Any]:
    return {"member_states": [structs.replace(MEMBER, **changes)]}


@pytest.mark.parametrize(
    "changes",
    [
        {"activity": "logs-hot-0 starts"},
        {"health": "yellow"},
        {"ready": "0/1"},
        {"members": MemberCounts(ready=0, desired=1)},
        {"pools": [PoolStatus(name="hot")]},
        {"waiting": [WaitStatus(subject="logs", reason="NotSafeYet", message="a copy is not assigned")]},
        {"last_progress_time": "2026-01-01T00:00:00Z"},
        {"conditions": [structs.replace(READY, message="another sentence", reason="Other")]},
        member(absence="Unplanned"),
        member(state="Down", reason="it stops", last_transition_time="2026-01-01T00:00:00Z", pending="recreate"),
        member(
            node="n1",
            not_serving_since_time="2026-01-01T00:00:00Z",
            missing_since_time="2026-01-01T00:00:00Z",
            missing_reason="X",
        ),
    ],
)
def test_sentences_counts_and_times_can_wait_for_the_next_write(changes: dict[str, Any]) -> None:
    assert not is_urgent(BEFORE, structs.replace(BEFORE, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"observed_generation": 2},
        {"version": "3.0.0"},
        {"cluster_uuid": "u"},
        {"connection_secret_name": "s"},
        {"bootstrap": BootstrapStatus(member="logs-hot-0", volume="v")},
        {"data_digests": {"Secret/a:b": "digest"}},
        {"data_change": DataChangeStatus(first_time="2026-01-01T00:00:00Z")},
        {"last_removal_time": "2026-01-01T00:00:00Z"},
        {"forecast": ForecastStatus(start_time="2026-01-01T00:00:00Z")},
        {"pending_removals": [RemovalStatus(name="logs-hot-1")]},
        {"conditions": [structs.replace(READY, status="False")]},
        {"member_states": []},
        member(version="3.0.0"),
        member(volume="w"),
        member(zone="a"),
        member(address="10.0.0.2"),
        member(absence="Planned"),
        member(pool="warm"),
    ],
)
def test_records_and_the_values_of_conditions_are_written_at_once(changes: dict[str, Any]) -> None:
    assert is_urgent(BEFORE, structs.replace(BEFORE, **changes))


def test_a_member_that_changes_its_state_is_distinguished_from_one_that_only_has_another_reason() -> None:
    assert moves_on(BEFORE, structs.replace(BEFORE, **member(state="Down")))
    assert moves_on(BEFORE, structs.replace(BEFORE, member_states=[]))
    assert not moves_on(BEFORE, structs.replace(BEFORE, **member(reason="it waits", node="n1")))


def test_the_duration_of_a_forecast_can_wait_for_the_next_write() -> None:
    begun = ForecastStatus(start_time="2026-01-01T00:00:00Z")
    known = structs.replace(begun, change="upgrade", duration_seconds=300)
    assert not is_urgent(structs.replace(BEFORE, forecast=begun), structs.replace(BEFORE, forecast=known))


def test_where_a_member_is_that_has_never_joined_can_wait_for_the_next_write() -> None:
    new = structs.replace(MEMBER, version="", volume="", address="", zone="")
    begun = structs.replace(BEFORE, member_states=[new])
    assert not is_urgent(begun, structs.replace(BEFORE, member_states=[structs.replace(new, zone="a", volume="v")]))
    assert is_urgent(begun, structs.replace(BEFORE, member_states=[structs.replace(new, version="3.0.0")]))
    assert is_urgent(begun, structs.replace(BEFORE, member_states=[structs.replace(new, address="10.0.0.2")]))
