"""The recovery speed of a cluster: from its settings and its last recoveries, or unknown."""

from typing import Any

import pytest

from stateward.engines.search.database.recovery import Files, Recovered, Size, measured_speed

MIB = 2**20


def settings(**sections: Any) -> dict[str, dict[str, object]]:
    """Return settings with the defaults that every cluster tells."""
    allocation = {"node_concurrent_incoming_recoveries": "2", "node_concurrent_recoveries": "2"}
    defaults: dict[str, object] = {
        "indices": {"recovery": {"max_bytes_per_sec": "40mb"}},
        "cluster": {"routing": {"allocation": allocation}},
    }
    return {"defaults": defaults, **sections}


def recovered(count: int, bytes_: int, millis: int, reused: int = 0) -> list[Recovered]:
    return [Recovered("PEER", "DONE", millis, Files(Size(bytes_, reused)))] * count


def test_defaults_are_read() -> None:
    found = measured_speed(settings(), [])
    assert (found.limit, found.at_once, found.rate, found.reopen) == (40 * MIB, 2, 0.0, 0.0)


def test_what_a_user_has_set_comes_before_defaults_and_the_wider_setting_counts_too() -> None:
    wider = {"cluster": {"routing": {"allocation": {"node_concurrent_recoveries": "8"}}}}
    transient = {"indices": {"recovery": {"max_bytes_per_sec": "1.5gb"}}}
    found = measured_speed(settings(persistent=wider, transient=transient), [])
    assert (found.limit, found.at_once) == (1.5 * 2**30, 8)


@pytest.mark.parametrize("text", ["0", "-1", "fast", ""])
def test_no_limit_is_not_known_as_one(text: str) -> None:
    assert measured_speed(settings(persistent={"indices": {"recovery": {"max_bytes_per_sec": text}}}), []).limit in {
        None,
        40 * MIB,
    }


def test_large_recoveries_tell_the_rate_and_small_ones_do_not() -> None:
    found = measured_speed(settings(), [*recovered(3, 100 * MIB, 5_000), *recovered(50, 10, 1)])
    assert (found.rate, found.rates) == (20 * MIB, 3)


def test_copies_that_were_there_already_tell_how_soon_they_are_back() -> None:
    found = measured_speed(settings(), recovered(4, 10, 700, reused=500 * MIB))
    assert (found.reopen, found.reopened) == (0.7, 4)


def test_copies_that_lack_only_operations_are_back_without_any_file() -> None:
    """As OpenSearch 2.17 reports the copies of a member whose process was restarted."""
    found = measured_speed(settings(), [r for millis in (284, 181, 415) for r in recovered(1, 0, millis)])
    assert (found.reopen, found.reopened) == (0.284, 3)
    assert measured_speed(settings(), recovered(4, 208, 90)).reopened == 0, "the first copy of an empty shard"


def test_few_recoveries_provide_no_information() -> None:
    found = measured_speed(settings(), [*recovered(2, 100 * MIB, 5_000), *recovered(2, 10, 700, reused=MIB)])
    assert (found.rate, found.reopen) == (0.0, 0.0)
