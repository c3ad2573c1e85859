"""`status` shows the whole picture, once or as it changes."""

import json

import yaml

from stateward.kube.objects.errors import Forbidden, Status, TransportError, UnknownResource
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import cluster

PICTURE = """\
logs  OpenSearchCluster in namespace default
version   2.17.1 → 2.19.5
health    yellow
members   2 of 3 ready
activity  logs-hot-1 restarts to apply version
progress  12s ago

POOL      READY  VERSION         UPGRADE
managers  1/1    2.17.1          Pending
hot       1/2    2.17.1, 2.19.5  Upgrading

MEMBER           STATE       FOR    VERSION  NODE    ZONE  PENDING   REASON
logs-hot-0       Waiting     3m     2.17.1   node-a  a     recreate  logs-hot-0 waits (version): logs-hot-1 must be back first: the copy of a shard is missing
logs-hot-1       Restarting  20s    2.17.1   node-b  b     recreate  logs-hot-1 restarts to apply version
logs-managers-0  Ready       2h58m  2.17.1   node-c  c

WAITS       FOR  REASON            WAITS FOR
logs-hot-0  3m   DatabaseNotReady  version: logs-hot-1 must be back first: the copy of a shard is missing

CONDITION  STATUS  FOR    REASON      MESSAGE
Ready      False   5m     InProgress  logs-hot-1 restarts to apply version
Available  True    2h57m  Serving
"""  # noqa: E501


def test_status_is_the_whole_picture(run: Run) -> None:
    result = run("status", "logs")
    assert (result.exit_code, result.output) == (0, PICTURE)


def test_status_as_json_is_what_the_api_has(run: Run) -> None:
    shown = json.loads(run("status", "logs", "-o", "json").output)
    assert shown["wantedVersion"] == "2.19.5"
    assert shown["status"]["memberStates"][1]["state"] == "Restarting"


def test_status_as_yaml(run: Run) -> None:
    assert yaml.safe_load(run("status", "logs", "-o", "yaml").output)["status"]["health"] == "yellow"


def test_a_cluster_that_no_operator_has_seen_reports_it(run: Run, api: FakeApi) -> None:
    document = cluster()
    del document["status"]
    api.add("osclusters", document)
    assert "no operator has observed this cluster yet; check that one is running" in run("status", "logs").output


def test_a_change_that_was_not_checked_yet_is_named(run: Run, api: FakeApi) -> None:
    api.add("osclusters", cluster(observedGeneration=1))
    assert "the operator has not observed the latest change of the spec yet" in run("status", "logs").output


def test_watch_appends_a_line_for_each_change_until_the_cluster_is_deleted(run: Run, api: FakeApi) -> None:
    later = cluster(health="green", ready="3/3", activity="the cluster matches its spec", version="2.19.5", waiting=[])
    later["status"]["memberStates"][1] |= {"state": "Ready", "version": "2.19.5"}
    later["status"]["members"] = {"ready": 3, "desired": 3}
    later["metadata"]["resourceVersion"] = "8"
    gone = cluster()
    gone["metadata"]["resourceVersion"] = "9"
    end = {"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}
    api.watched = [
        {"type": "ADDED", "object": cluster()},
        {"type": "BOOKMARK", "object": end},
        {"type": "MODIFIED", "object": later},
        {"type": "DELETED", "object": gone},
    ]
    result = run("status", "logs", "--watch")
    assert (result.exit_code, result.stderr) == (0, "logs is deleted\n")
    assert result.stdout.splitlines()[7:] == [
        "12:00:00Z  version 2.19.5",
        "12:00:00Z  health green, 3 of 3 members ready",
        "12:00:00Z  the cluster matches its spec",
        "12:00:00Z  logs-hot-1: Ready (2.19.5)",
    ]


def test_a_cluster_that_is_not_there_is_one_line(run: Run) -> None:
    result = run("status", "metrics", "-n", "prod")
    assert result.exit_code == 1
    assert result.stderr == (
        "stateward: there is no cluster 'metrics' in namespace 'prod'; `list --all-namespaces` shows all\n"
    )


def test_no_crd_no_right_and_no_server_are_one_line_each(run: Run, api: FakeApi) -> None:
    for refusal, says in (
        (UnknownResource("404", status=Status(code=404)), "CRDs are not installed"),
        (Forbidden("not you", status=Status(code=403)), "stateward-view"),
        (
            TransportError("GET /: Connection refused"),
            "check that the cluster is up and that KUBECONFIG (or --context) names it",
        ),
    ):
        api.refusal = refusal
        result = run("status", "logs")
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        assert says in result.stderr


def test_disks_that_grow_have_lines_of_their_own(run: Run, api: FakeApi) -> None:
    disk = {"usedPercent": 81, "member": "logs-hot-1", "volumeSize": "125Gi", "fullTime": "2026-12-03T13:00:00Z"}
    api.add(
        "osclusters", cluster(pools=[{"name": "hot", "disk": disk}, {"name": "cold", "disk": {**disk, "fullTime": ""}}])
    )
    lines = run("status", "logs").output.splitlines()
    shown = lines[lines.index(next(line for line in lines if line.startswith("DISKS OF"))) :][:3]
    assert [line.split() for line in shown] == [
        ["DISKS", "OF", "SIZE", "USED", "FULLEST", "FULL", "IN"],
        ["hot", "125Gi", "81%", "logs-hot-1", "12d"],
        ["cold", "125Gi", "81%", "logs-hot-1", "not", "known"],
    ]


def test_without_a_name_each_chosen_cluster_is_shown(run: Run, api: FakeApi) -> None:
    other = cluster(health="green")
    other["metadata"] |= {"name": "audit", "namespace": "prod", "labels": {"team": "search"}}
    api.add("osclusters", other)
    assert [line for line in run("status", "-A").output.splitlines() if " in namespace " in line] == [
        "logs  OpenSearchCluster in namespace default",
        "audit  OpenSearchCluster in namespace prod",
    ]
    assert run("status").output.count(" in namespace ") == 1
    found = json.loads(run("status", "-A", "-l", "team=search", "-o", "json").output)
    assert [each["name"] for each in found] == ["audit"]
    assert run("status", "-n", "empty").stderr.startswith("there is no cluster in namespace 'empty'")


def test_a_name_and_a_selection_exclude_each_other_and_a_watch_needs_a_name(run: Run) -> None:
    for words in (("status", "logs", "-A"), ("events", "logs", "-l", "a=b")):
        assert "NAME is one cluster, -A and -l choose among all" in run(*words).stderr
    assert "`list --watch` follows all" in run("status", "--watch").stderr
