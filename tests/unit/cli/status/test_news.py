"""The appended lines of `status --watch`: one for each relevant change."""

from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.api.parse import convert_cluster
from stateward.cli.status.news import lasting_activities, news
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


def test_what_a_member_goes_on_doing_is_told_once_while_others_take_their_turns() -> None:
    def state(activity: str, leaving: str) -> Cluster:
        members = [{"name": "logs-hot-1", "state": "Leaving", "reason": leaving}, {"name": "logs-hot-0"}]
        return typed(activity=activity, memberStates=members, waiting=[])

    before, printed, lines = state("logs-hot-0 restarts", "it leaves"), frozenset[str](), list[str]()
    turns = ["it leaves", "logs-hot-0 restarts", "it leaves", "logs-hot-0 restarts", "it waits", "it leaves"]
    for activity in turns:
        after = state(activity, "it waits" if activity == "it waits" else "it leaves")
        lines += news(before, after, printed)
        before, printed = after, lasting_activities(printed, after)
    assert lines == ["it leaves", "logs-hot-0 restarts", "logs-hot-0 restarts", "it waits", "it leaves"]
