"""`events`: those of a cluster and of everything that it owns, in the order of time."""

import json

import pytest

from tests.unit.cli.diagnosis.objects import event, pod
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import cluster


@pytest.fixture(autouse=True)
def happened(api: FakeApi) -> None:
    """Add events about the cluster, its pods now and before, and others."""
    api.add("pods", pod())
    mine = {"kind": "Pod", "name": "logs-hot-1-0", "uid": "uid-logs-hot-1-0"}
    told = [
        event({"kind": "Pod", "name": "logs-hot-0-0", "uid": "gone"}, "2026-11-21T11:58:00.000000Z", "a pod before"),
        event(mine, "2026-11-21T11:59:50.000000Z", "Back-off  pulling\nimage", "BackOff", "Warning"),
        event({"kind": "OpenSearchCluster", "name": "logs", "uid": "u-1"}, "2026-11-21T11:59:00.000000Z", "restarts"),
        event({"kind": "OpenSearchCluster", "name": "logs", "uid": "u-0"}, "2026-11-21T11:59:01.000000Z", "another"),
        event({"kind": "Pod", "name": "shop-0", "uid": "x"}, "2026-11-21T11:59:02.000000Z", "foreign"),
    ]
    for each in told:
        api.add("events", each)
    legacy = {"metadata": {"name": "old", "namespace": "default"}, "involvedObject": mine, "message": "older API"}
    api.add("events", legacy | {"lastTimestamp": "2026-11-21T11:59:30Z", "count": 7})


def test_events_of_all_objects_are_in_order_and_foreign_ones_are_left_out(run: Run) -> None:
    lines = run("events", "logs").output.splitlines()
    assert lines[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert [line.rsplit("  ", 1)[-1] for line in lines[1:]] == [
        "a pod before",
        "restarts",
        "older API (x7)",
        "Back-off pulling image",
    ]


def test_events_are_chosen_by_age_and_type(run: Run) -> None:
    assert len(run("events", "logs", "--since", "1m").output.splitlines()) == 1 + 3
    found = json.loads(run("events", "logs", "--warnings", "-o", "json").output)
    assert [(each["reason"], each["object"], each["count"]) for each in found] == [("BackOff", "logs-hot-1-0", 1)]
    assert run("events", "logs", "--warnings", "-o", "name").output.startswith("event/event-")


def test_without_the_right_to_list_pods_events_are_found_by_names(run: Run, api: FakeApi) -> None:
    api.denied = {"pods", "secrets"}
    said = run("events", "logs")
    assert "Back-off pulling image" in said.output
    assert "you may not list Pods" in said.stderr


def test_without_a_name_events_of_all_chosen_clusters_are_in_one_order(run: Run, api: FakeApi) -> None:
    other = cluster()
    other["metadata"] |= {"name": "audit", "namespace": "prod", "uid": "u-9", "labels": {"team": "search"}}
    api.add("osclusters", other)
    about = {"kind": "OpenSearchCluster", "name": "audit", "uid": "u-9"}
    late = event(about, "2026-11-21T11:59:45.000000Z", "waits")
    late["metadata"] = {"name": "event-audit", "namespace": "prod"}
    api.add("events", late)
    lines = run("events", "-A").output.splitlines()
    assert lines[0].split()[2:4] == ["NAMESPACE", "CLUSTER"]
    assert [line.split()[1:3] for line in lines[1:]] == [["default", "logs"]] * 3 + [
        ["prod", "audit"],
        ["default", "logs"],
    ]
    found = json.loads(run("events", "-A", "-l", "team=search", "-o", "json").output)
    assert [(each["namespace"], each["cluster"], each["message"]) for each in found] == [("prod", "audit", "waits")]
    assert run("events", "-n", "empty").stderr.startswith("there is no cluster in namespace 'empty'")
