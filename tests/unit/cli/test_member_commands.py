"""`pause`, `restart`, `stop`, `replace` and `keep`: each writes one field or annotation."""

import pytest

from stateward.api.parse import convert_cluster
from stateward.api.validation import validate
from stateward.cli.preview.preview import Kind, preview
from stateward.cli.shared.failures import ExitCode
from stateward.kube.objects.metadata import Key
from tests.unit.cli.clusters import NOW, changed
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import GOOD, cluster


def test_pause_and_resume_set_one_field(run: Run, api: FakeApi) -> None:
    assert "logs is paused" in run("pause", "logs").output
    assert run("resume", "logs").output == "logs goes on\n"
    key = Key("default", "logs")
    assert api.patches == [
        (key, {"spec": {"update": {"paused": True}}}),
        (key, {"spec": {"update": {"paused": False}}}),
    ]


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_pausing_what_is_not_there_fails(run: Run, api: FakeApi, verb: str) -> None:
    result = run(verb, "metrics")
    assert result.exit_code == 1
    assert result.stderr.startswith("stateward: there is no cluster 'metrics' in namespace 'default'")
    assert not api.patches


def test_a_restart_is_requested_by_an_annotation_of_the_cluster(run: Run, api: FakeApi) -> None:
    assert run("restart", "logs").output.startswith("all members of logs restart when it is safe")
    assert run("restart", "logs", "--pool", "hot").output.startswith("the members of pool hot of logs")
    assert run("restart", "logs", "--coordinated").output.startswith("all members of logs restart together")
    pools = "stateward.dev/restart-pools"
    phase = "stateward.dev/restart-phase"
    assert [patch["metadata"]["annotations"] for _, patch in api.patches] == [
        {phase: "schedule-rolling", pools: None},
        {phase: "schedule-rolling", pools: "hot"},
        {phase: "schedule-coordinated", pools: None},
    ]


@pytest.mark.parametrize(
    ("pending", "asked", "pools"),
    [
        ("schedule-rolling managers", "hot", "hot,managers"),
        ("schedule-rolling hot", "hot", "hot"),
        ("schedule-rolling ", "hot", None),
        ("schedule-rolling hot", "", None),
        ("schedule-coordinated managers", "hot", "hot"),
    ],
)
def test_a_restart_keeps_the_pools_of_one_that_is_not_recorded_yet(
    run: Run, api: FakeApi, pending: str, asked: str, pools: str | None
) -> None:
    """Two commands in a row, while the operator is away."""
    phase, _, before = pending.partition(" ")
    document = cluster()
    document["metadata"]["annotations"] = {"stateward.dev/restart-phase": phase, "stateward.dev/restart-pools": before}
    api.add("osclusters", document)
    assert run("restart", "logs", *(("--pool", asked) if asked else ())).exit_code == 0
    assert api.patches[-1][1]["metadata"]["annotations"]["stateward.dev/restart-pools"] == pools


def test_one_member_is_restarted_by_an_annotation_of_its_pod(run: Run, api: FakeApi) -> None:
    labels = {"stateward.dev/cluster": "logs"}
    api.add("pods", {"metadata": {"name": "logs-hot-0-0", "namespace": "default", "uid": "p-1", "labels": labels}})
    said = run("restart", "logs", "--member", "logs-hot-0")
    assert said.output.startswith("member logs-hot-0 of logs restarts when it is safe;")
    assert said.exit_code == 0
    assert api.patches[-1][1] == {
        "metadata": {"uid": "p-1", "annotations": {"stateward.dev/restart-phase": "schedule"}}
    }
    result = run("restart", "logs", "--member", "logs-hot-7")
    assert (result.exit_code, result.stderr) == (1, "stateward: logs has no member 'logs-hot-7' with a pod\n")


def test_ways_to_restart_that_exclude_each_other_are_not_understood(run: Run) -> None:
    assert run("restart", "logs", "--pool", "hot", "--member", "logs-hot-0").exit_code == ExitCode.USAGE
    assert run("restart", "logs", "--recreate", "--coordinated").exit_code == ExitCode.USAGE


@pytest.mark.parametrize("option", ["--member", "--pool"])
@pytest.mark.parametrize("words", [(), ("--recreate",)])
def test_an_empty_name_restarts_nothing(run: Run, api: FakeApi, option: str, words: tuple[str, ...]) -> None:
    """A script whose variable is empty would restart all members."""
    result = run("restart", "logs", option, "", *words)
    assert (result.exit_code, api.patches) == (ExitCode.USAGE, [])
    assert f"{option} is empty" in result.stderr


def test_a_member_is_kept_stopped_by_a_list_on_its_cluster(run: Run, api: FakeApi) -> None:
    document = cluster()
    document["metadata"]["annotations"] = {"stateward.dev/stopped": "logs-hot-1"}
    api.add("osclusters", document)
    labels = {"stateward.dev/cluster": "logs"}
    for name in ("logs-hot-0", "logs-hot-1"):
        api.add("statefulsets", {"metadata": {"name": name, "namespace": "default", "labels": labels}})
    assert "stays stopped" in run("stop", "logs-hot-0").output
    assert run("start", "logs-hot-1").output == "logs-hot-1 starts again\n"
    lists = [patch["metadata"]["annotations"]["stateward.dev/stopped"] for _, patch in api.patches]
    assert lists == ["logs-hot-0,logs-hot-1", None]
    result = run("stop", "logs-cold-0")
    assert (result.exit_code, result.stderr) == (
        1,
        "stateward: there is no member 'logs-cold-0' in namespace 'default'\n",
    )


def test_a_workload_of_others_is_no_member(run: Run, api: FakeApi) -> None:
    """It has no cluster; a request for a cluster without a name is one for the list of all."""
    api.add("statefulsets", {"metadata": {"name": "web-0", "namespace": "default"}})
    listed = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchClusterList", "metadata": {}, "items": []}
    api.objects["osclusters", Key("default", "")] = listed
    api.objects["statefulsets", Key("default", "")] = {**listed, "kind": "StatefulSetList"}
    for command, member in (("stop", "web-0"), ("start", "web-0"), ("stop", "")):
        assert run(command, member).stderr == f"stateward: there is no member {member!r} in namespace 'default'\n"
    assert "there is no cluster '' in namespace 'default'" in run("status", "").stderr


def test_new_pods_are_requested_by_an_annotation_of_the_pod_template(run: Run, api: FakeApi) -> None:
    assert run("restart", "logs", "--recreate").output.startswith("all members of logs restart when it is safe")
    assert run("restart", "logs", "--recreate", "--pool", "hot").exit_code == 0
    template = {"metadata": {"annotations": {"stateward.dev/restarted-at": "2026-11-21T12:00:00Z"}}}
    unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
    assert [patch for _, patch in api.patches] == [
        [unchanged, {"op": "add", "path": "/spec/podTemplate", "value": template}],
        [unchanged, {"op": "add", "path": "/spec/pools/1/podTemplate", "value": template}],
    ]


def test_a_restart_keeps_what_else_the_template_says_and_recreates_every_member(run: Run, api: FakeApi) -> None:
    document = cluster()
    document["spec"]["podTemplate"] = {
        "metadata": {"labels": {"team": "search"}},
        "spec": {"priorityClassName": "high"},
    }
    api.add("osclusters", document)
    run("restart", "logs", "--recreate")
    template = api.patches[0][1][1]["value"]
    assert template["metadata"]["labels"] == {"team": "search"}
    assert template["spec"] == {"priorityClassName": "high"}
    shown = preview(changed(lambda spec: spec.update(podTemplate=template)), NOW)
    assert {change.effect for change in shown.members} == {Kind.RECREATE}
    document["spec"]["podTemplate"] = template
    assert validate(convert_cluster(document)) == validate(convert_cluster(cluster()))


def test_a_request_for_all_members_takes_those_for_single_pools_away(run: Run, api: FakeApi) -> None:
    document = cluster()
    metadata = {"annotations": {"stateward.dev/restarted-at": "2026-11-20T12:00:00Z", "team": "search"}}
    document["spec"]["pools"][1]["podTemplate"] = {"metadata": metadata}
    api.add("osclusters", document)
    run("restart", "logs", "--recreate")
    path = "/spec/pools/1/podTemplate/metadata/annotations/stateward.dev~1restarted-at"
    assert api.patches[0][1][2:] == [{"op": "remove", "path": path}]
    run("restart", "logs", "--recreate", "--pool", "hot")
    assert len(api.patches[1][1]) == 2


def test_a_pool_that_is_not_there_lists_those_that_are(run: Run) -> None:
    result = run("restart", "logs", "--pool", "cold")
    assert (result.exit_code, result.stderr) == (1, "stateward: logs has no pool 'cold'; it has managers, hot\n")


def members(api: FakeApi) -> object:
    return api.patches[-1][1][-1]["value"]


def test_replace_and_keep_name_the_member_in_one_list(run: Run, api: FakeApi) -> None:
    result = run("replace", "logs-hot-1")
    assert result.output == (
        "logs-hot-1 is replaced; `status logs --watch` follows it, `keep logs-hot-1` takes it back\n"
    )
    assert members(api) == {"replace": ["logs-hot-1"]}
    run("replace", "logs-hot-1", "--without-draining", "--accept-data-loss")
    assert members(api) == {"replaceWithoutDraining": ["logs-hot-1"], "acceptDataLoss": ["logs-hot-1"]}


def test_keep_takes_the_member_off_the_other_lists_and_leaves_other_members_there(run: Run, api: FakeApi) -> None:
    document = cluster()
    document["spec"]["members"] = {"replace": ["logs-hot-1", "logs-hot-0"]}
    api.add("osclusters", document)
    assert run("keep", "logs-hot-1").exit_code == 0
    assert members(api) == {"replace": ["logs-hot-0"], "keep": ["logs-hot-1"]}


def test_a_member_that_no_cluster_has_is_not_replaced(run: Run, api: FakeApi) -> None:
    result = run("replace", "logs-cold-1")
    assert result.exit_code == 1
    assert "has a member 'logs-cold-1'" in result.output
    assert not api.patches


def test_a_loss_is_accepted_only_where_one_is_possible(run: Run) -> None:
    assert run("replace", "logs-hot-1", "--accept-data-loss").exit_code == ExitCode.USAGE


def test_a_cluster_that_is_there_twice_is_an_error(run: Run) -> None:
    result = run("validate", "-f", "-", stdin=f"{GOOD}---\n{GOOD}")
    assert result.exit_code == 1
    assert ": logs: error: is in - (document 1) already\n" in result.output
