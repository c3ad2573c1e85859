"""The appended lines of `status --watch`: one for each relevant change."""

from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.api.parse import convert_cluster
from stateward.cli.status.news import news
from tests.unit.cli.samples import cluster


def typed(**status: Any) -> Cluster:
    return convert_cluster(cluster(**status))


def test_the_first_lines_tell_the_whole_state_in_short() -> None:
    assert news(None, typed()) == [
        "version 2.17.1 → 2.19.5",
        "health yellow, 2 of 3 members ready",
        "logs-hot-1 restarts to apply version",
        "logs-hot-0: Waiting (2.17.1)",
        "logs-hot-1: Restarting (2.17.1)",
        "logs-managers-0: Ready (2.17.1)",
        "waiting: logs-hot-0: version: logs-hot-1 must be back first: the copy of a shard is missing",
    ]


def test_nothing_new_is_no_line() -> None:
    assert news(typed(), typed(lastProgressTime="2026-11-21T12:00:00Z")) == []


def test_members_that_come_change_and_go_are_named() -> None:
    states = [
        {"name": "logs-hot-1", "state": "Ready", "version": "2.19.5"},
        {"name": "logs-hot-2", "state": "Creating"},
    ]
    lines = news(typed(), typed(memberStates=states, waiting=[]))
    assert lines == [
        "logs-hot-1: Ready (2.19.5)",
        "logs-hot-2: Creating",
        "logs-hot-0: gone",
        "logs-managers-0: gone",
    ]
