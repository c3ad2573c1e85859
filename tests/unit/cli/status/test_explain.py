"""`explain` says in sentences why something waits, and what would end the wait."""

import ast
import re
from pathlib import Path

import stateward
from stateward.cli.status.advice import ADVICE, MEANING
from stateward.planning.model.intent import State
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import cluster

CLUSTER = """\
logs runs 2.17.1 and changes to 2.19.5, so far on 0 of 3; 2 of 3 members serve; the database reports yellow.
Status: logs-hot-1 restarts to apply version. Last progress: 12s ago.

logs-hot-0 has waited 3m (DatabaseNotReady): version: logs-hot-1 must be back first: the copy of a shard is missing.
  It continues when every shard is recovered, or the only obstacle to its allocation is one that this change removes.
  What to do: if it takes long, ask the database for the reason: GET _cluster/allocation/explain.
"""

MEMBER = """\
logs-hot-0 is Waiting (for 3m): it serves, and a change is pending.
It last joined the cluster with version 2.17.1 on node node-a in zone a.
The operator says: logs-hot-0 waits (version): logs-hot-1 must be back first: the copy of a shard is missing.
A pending change has to recreate its pod.

logs-hot-0 has waited 3m (DatabaseNotReady): version: logs-hot-1 must be back first: the copy of a shard is missing.
  It continues when every shard is recovered, or the only obstacle to its allocation is one that this change removes.
  What to do: if it takes long, ask the database for the reason: GET _cluster/allocation/explain.
"""


def test_a_cluster_is_explained_with_each_wait_and_what_ends_it(run: Run) -> None:
    assert run("explain", "logs").output == CLUSTER


def test_a_member_is_found_by_its_name_its_short_name_or_its_pod(run: Run) -> None:
    assert run("explain", "logs", "logs-hot-0").output == MEMBER
    assert run("explain", "logs", "hot-0").output == MEMBER
    assert run("explain", "logs", "logs-hot-0-0").output == MEMBER


def test_a_ready_member_of_the_old_version_is_not_said_to_match_its_spec(run: Run) -> None:
    told = run("explain", "logs", "managers-0").output
    assert "serves with 2.17.1; the spec asks for 2.19.5, and no step of this member is due now" in told
    assert "matches its spec" not in told


def test_a_member_that_is_not_there_lists_those_that_are(run: Run) -> None:
    result = run("explain", "logs", "cold-0")
    assert result.exit_code == 1
    assert "logs has no member 'cold-0'; it has logs-hot-0, logs-hot-1, logs-managers-0" in result.stderr


def test_a_member_in_place_of_a_cluster_is_answered_with_its_cluster(run: Run) -> None:
    for command in ("explain", "status", "timeline"):
        result = run(command, "logs-hot-0")
        assert result.exit_code == 1
        assert "logs-hot-0 is a member of cluster logs: name the cluster, and then the member" in result.stderr


def test_a_stalled_cluster_requests_manual_intervention(run: Run, api: FakeApi) -> None:
    condition = {"type": "Stalled", "status": "True", "reason": "UpgradeRefused", "message": "2.11.0 is older"}
    api.add("osclusters", cluster(conditions=[condition], waiting=[]))
    assert run("explain", "logs").output.splitlines()[2:] == [
        "Manual intervention is required (UpgradeRefused): 2.11.0 is older.",
        "  It continues when this cluster can change to spec.version.",
        "  What to do: set the deployed version again, or the one that the message names.",
    ]


def test_a_settled_cluster_waits_for_nothing(run: Run, api: FakeApi) -> None:
    ready = {"type": "Ready", "status": "True"}
    calm = cluster(conditions=[ready], waiting=[], activity="the cluster matches its spec", version="2.19.5")
    api.add("osclusters", calm)
    assert run("explain", "logs").output.splitlines()[1:] == [
        "Status: the cluster matches its spec.",
        "Nothing is pending.",
    ]


def test_a_message_of_kubernetes_ends_with_one_full_stop(run: Run, api: FakeApi) -> None:
    message = "logs-hot-0 does not start: Unschedulable: 0/3 nodes are available: 3 Insufficient memory."
    condition = {"type": "Stalled", "status": "True", "reason": "MemberDoesNotStart", "message": message}
    api.add("osclusters", cluster(conditions=[condition], waiting=[], activity=message))
    shown = run("explain", "logs").output
    assert shown.count("3 Insufficient memory.\n") == 2
    assert "ask for less in the pool's resources" in shown


def test_a_change_that_goes_on_is_not_said_to_be_over(run: Run, api: FakeApi) -> None:
    api.add("osclusters", cluster(waiting=[]))
    shown = run("explain", "logs").output
    assert "Nothing is held up: the operator goes on by itself.\n" in shown
    assert "Nothing is pending" not in shown


def test_a_cluster_without_status_asks_for_the_operator(run: Run, api: FakeApi) -> None:
    document = cluster()
    del document["status"]
    api.add("osclusters", document)
    assert "No operator has observed logs yet" in run("explain", "logs").output


def test_every_reason_that_planning_gives_has_advice() -> None:
    """Reasons are the words in two humps or more that calls are given; no advice is left for one that is gone."""
    package = Path(stateward.__file__).parent
    operator = (
        "act/perform",
        "clusters/reconcile",
        "observe/desired_state",
        "security/protection",
        "observe/known_data",
        "pod_rights/policy",
        "pod_rights/labels",
        "pod_rights/server_validation",
        "network/refusal",
        "security/cluster_file",
        "security/foundationdb_tls",
    )
    others = (
        *(f"operator/{name}.py" for name in operator),
        "engines/search/objects/desired.py",
        "engines/foundationdb/spec/desired.py",
    )
    paths = [*package.glob("planning/**/*.py"), *(package / path for path in others)]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    given = {v for call in calls for v in [*call.args, *(keyword.value for keyword in call.keywords)]}
    found = {v.value for v in given if isinstance(v, ast.Constant) and is_reason(v.value)}
    assert found - STATUS_REASONS <= ADVICE.keys()
    said = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert ADVICE.keys() - said == set(), "advice for what is never said"


def is_reason(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"([A-Z][a-z]*){2,}", value) is not None


STATUS_REASONS = {"InProgress", "ShardsWithoutCopy", "NoStartedCopy", "VersionChange"}
"""Reasons of conditions that say nothing about waiting."""


def test_every_state_has_a_meaning() -> None:
    assert set(MEANING) == set(State)


def test_disks_that_grow_are_explained_with_the_time_when_they_are_full(run: Run, api: FakeApi) -> None:
    disk = {"usedPercent": 81, "member": "logs-hot-1", "volumeSize": "125Gi", "fullTime": "2026-12-03T13:00:00Z"}
    pools = [{"name": "hot", "disk": disk}, {"name": "cold", "disk": {**disk, "fullTime": ""}}]
    api.add("osclusters", cluster(pools=pools, waiting=[]))
    assert run("explain", "logs").output.splitlines()[2:] == [
        "Pool hot: logs-hot-1 uses 81% of its disk, with volumes of 125Gi. With the largest volumes it is full in 12d.",
        "Pool cold: logs-hot-1 uses 81% of its disk, with volumes of 125Gi.",
        "Nothing is held up: the operator goes on by itself.",
    ]
