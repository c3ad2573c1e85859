"""`list`, `pause`, `resume`, `restart`, `validate` and `manifests`."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from stateward.cli.preview.preview import Kind, preview
from stateward.kube.objects.metadata import Key
from tests.unit.cli.clusters import NOW, changed
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import cluster

ROOT = Path(__file__).parents[3]
GOOD = """\
apiVersion: stateward.dev/v1alpha1
kind: OpenSearchCluster
metadata: {name: logs}
spec:
  version: 2.19.5
  pools:
  - {name: all, replicas: 3}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
"""


def test_list_shows_one_line_per_cluster(run: Run, api: FakeApi) -> None:
    other = cluster(version="2.19.5", health="green", ready="3/3", doing="the cluster matches its spec")
    other["metadata"] |= {"name": "audit", "namespace": "prod"}
    other["spec"]["update"] = {"paused": True}
    api.add("opensearchclusters", other)
    assert run("list", "-A").output == (
        "NAMESPACE  NAME   ENGINE      VERSION          HEALTH  READY  AGE    DOING\n"
        "default    logs   opensearch  2.17.1 → 2.19.5  yellow  2/3    3h00m  logs-hot-1 restarts to apply version\n"
        "prod       audit  opensearch  2.19.5           green   3/3    3h00m  paused; the cluster matches its spec\n"
    )
    assert [found["metadata"]["name"] for found in json.loads(run("list", "-A", "-o", "json").output)] == [
        "logs",
        "audit",
    ]


def elasticsearch() -> dict[str, Any]:
    """Return an Elasticsearch cluster that has the name of the OpenSearch cluster."""
    document = cluster(version="8.17.0", health="green", ready="3/3", doing="the cluster matches its spec")
    return document | {"kind": "ElasticsearchCluster", "spec": {**document["spec"], "version": "8.19.4"}}


def test_clusters_of_both_kinds_are_listed_and_found_by_name(run: Run, api: FakeApi) -> None:
    document = elasticsearch()
    document["metadata"] |= {"name": "search"}
    api.add("elasticsearchclusters", document)
    assert "search  elasticsearch  8.17.0 → 8.19.4" in run("list").output
    assert "logs" not in run("list", "--kind", "elasticsearch").output
    assert "search  ElasticsearchCluster in namespace default" in run("status", "search").output
    assert run("pause", "search").exit_code == 0
    assert run("restart", "search").exit_code == 0


def test_one_name_for_two_kinds_asks_which(run: Run, api: FakeApi) -> None:
    api.add("elasticsearchclusters", elasticsearch())
    for command in ("status", "explain", "plan", "pause", "restart"):
        result = run(command, "logs")
        assert result.exit_code == 1
        assert "there is an OpenSearchCluster and an ElasticsearchCluster called 'logs'" in result.output
        assert "--kind" in result.output
    assert not api.patches
    assert "ElasticsearchCluster" in run("status", "logs", "--kind", "elasticsearch").output
    assert "OpenSearchCluster" in run("status", "logs", "--kind", "opensearch").output


def test_a_cluster_of_another_kind_is_not_the_one_that_is_meant(run: Run) -> None:
    result = run("status", "logs", "--kind", "elasticsearch")
    assert result.exit_code == 1
    assert "there is no ElasticsearchCluster 'logs'" in result.output


def test_a_kind_that_is_not_installed_has_no_clusters(run: Run, api: FakeApi) -> None:
    api.served.remove("elasticsearchclusters")
    assert run("status", "logs").exit_code == 0
    assert run("list").output.count("opensearch") == 1


def test_list_says_where_it_looked_for_nothing(run: Run) -> None:
    result = run("list", "-n", "empty")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "there is no cluster in namespace 'empty'; --all-namespaces searches all namespaces\n"


def test_pause_and_resume_set_one_field(run: Run, api: FakeApi) -> None:
    assert "logs is paused" in run("pause", "logs").output
    assert run("resume", "logs").output == "logs goes on\n"
    key = Key("default", "logs")
    assert api.patches == [
        (key, {"spec": {"update": {"paused": True}}}),
        (key, {"spec": {"update": {"paused": False}}}),
    ]


def test_pausing_what_is_not_there_fails(run: Run) -> None:
    assert run("pause", "metrics").exit_code == 1


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
    assert run("restart", "logs", "--pool", "hot", "--member", "logs-hot-0").exit_code == 2
    assert run("restart", "logs", "--recreate", "--coordinated").exit_code == 2


def test_a_member_is_kept_stopped_by_a_list_on_its_cluster(run: Run, api: FakeApi) -> None:
    document = cluster()
    document["metadata"]["annotations"] = {"stateward.dev/stopped": "logs-hot-1"}
    api.add("opensearchclusters", document)
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
    api.add("opensearchclusters", document)
    run("restart", "logs", "--recreate")
    template = api.patches[0][1][1]["value"]
    assert template["metadata"]["labels"] == {"team": "search"}
    assert template["spec"] == {"priorityClassName": "high"}
    shown = preview(changed(lambda spec: spec.update(podTemplate=template)), NOW)
    assert {change.effect for change in shown.members} == {Kind.RECREATE}


def test_a_pool_that_is_not_there_lists_those_that_are(run: Run) -> None:
    result = run("restart", "logs", "--pool", "cold")
    assert (result.exit_code, result.stderr) == (1, "stateward: logs has no pool 'cold'; it has managers, hot\n")


def test_a_good_file_passes_and_other_kinds_in_it_are_skipped(run: Run) -> None:
    result = run("validate", "-f", "-", stdin=GOOD)
    assert (result.exit_code, result.output) == (0, "- (document 1): logs: no problems found\n")


def test_every_problem_of_a_file_is_shown_with_what_is_accepted(run: Run) -> None:
    bad = GOOD.replace("2.19.5", "2.19").replace("{name: all, replicas: 3}", "{name: all, replica: 3}")
    result = run("validate", "-f", "-", stdin=bad)
    assert result.exit_code == 1
    assert result.output == (
        "- (document 1): logs: error: spec.version: 2.19: must be text: put it in quotes\n"
        "- (document 1): logs: error: spec.pools[0].replica: 3: is not a known field; did you mean replicas?\n"
        "- (document 1): logs: error: spec.pools[0].replicas: is required: How many members the pool has.\n"
    )


def test_validate_looks_up_the_objects_that_a_file_references(run: Run, api: FakeApi) -> None:
    named = GOOD.replace(
        "replicas: 3}",
        "replicas: 3, storage: {storageClass: fsat}, podTemplate: {spec: {"
        "priorityClassName: high, imagePullSecrets: [{name: registry}], nodeSelector: {disk: ssd}}}}",
    )
    assert ": no problems found" in run("validate", "-f", "-", stdin=named).output
    api.add("nodes", {"metadata": {"name": "n1", "labels": {"disk": "hdd"}}})
    said = run("validate", "--server", "-f", "-", stdin=named)
    assert said.exit_code == 0
    for path in (
        "storage.storageClass",
        "podTemplate.spec.priorityClassName",
        "podTemplate.spec.imagePullSecrets",
        "podTemplate.spec.nodeSelector",
    ):
        assert f"warning: spec.pools[0].{path}: " in said.output
    api.add("storageclasses", {"metadata": {"name": "fsat"}})
    api.add("priorityclasses", {"metadata": {"name": "high"}})
    api.add("secrets", {"metadata": {"name": "registry", "namespace": "default"}})
    api.add("nodes", {"metadata": {"name": "n2", "labels": {"disk": "ssd"}}})
    assert ": no problems found" in run("validate", "--server", "-f", "-", stdin=named).output


def test_warnings_fail_only_when_asked_to(run: Run) -> None:
    doubtful = GOOD.replace("replicas: 3", "replicas: 2")
    assert run("validate", "-f", "-", stdin=doubtful).exit_code == 0
    assert run("validate", "--strict", "-f", "-", stdin=doubtful).exit_code == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "not YAML"),
        ("", "there is no OpenSearchCluster"),
        ("kind: Service\napiVersion: v1\n", "there is no OpenSearchCluster"),
    ],
)
def test_a_file_without_a_cluster_is_a_failure(run: Run, text: str, says: str) -> None:
    result = run("validate", "-f", "-", stdin=text)
    assert result.exit_code == 1
    assert says in result.stderr


def test_a_file_that_is_not_there_is_a_failure(run: Run, tmp_path: Path) -> None:
    result = run("validate", "-f", str(tmp_path / "none.yaml"))
    assert (result.exit_code, result.stderr) == (1, f"stateward: {tmp_path}/none.yaml: No such file or directory\n")


def test_manifests_carry_the_image_and_the_namespace_everywhere(run: Run) -> None:
    result = run("manifests", "--image", "registry.example/stateward:9", "-n", "ops")
    found = list(yaml.safe_load_all(result.output))
    kinds = [document["kind"] for document in found]
    first = kinds.index("Namespace")
    assert set(kinds[:first]) == {"CustomResourceDefinition"}
    assert kinds[-1] == "Deployment"
    assert found[first]["metadata"]["name"] == "ops"
    assert found[-1]["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/stateward:9"
    assert "stateward-system" not in result.output


def test_manifests_bring_the_webhook_where_it_is_requested(run: Run) -> None:
    without, found = (
        list(yaml.safe_load_all(run("manifests", "-n", "ops", *words).output)) for words in ([], ["--webhook"])
    )
    assert "ValidatingWebhookConfiguration" not in {document["kind"] for document in without}
    webhook = next(d for d in found if d["kind"] == "ValidatingWebhookConfiguration")["webhooks"][0]
    assert webhook["failurePolicy"] == "Ignore"
    assert webhook["clientConfig"]["service"]["namespace"] == "ops"
    assert "--webhook" in found[-1]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--webhook" not in without[-1]["spec"]["template"]["spec"]["containers"][0]["args"]


def test_manifests_have_the_webhook_ask_for_certificates_where_a_ca_is_named(run: Run) -> None:
    words = ("manifests", "--webhook", "--webhook-client-ca", "api-server-ca")
    pod = list(yaml.safe_load_all(run(*words).output))[-1]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (volume,) = [each for each in pod["volumes"] if each.get("configMap") == {"name": "api-server-ca"}]
    (mount,) = [each for each in container["volumeMounts"] if each["name"] == volume["name"]]
    assert f"--webhook-client-ca={mount['mountPath']}/ca.crt" in container["args"]
    for wrong in (("--webhook", "--webhook-client-ca", "A b"), ("--webhook-client-ca", "api-server-ca")):
        assert run("manifests", *wrong).exit_code == 2


def test_a_ca_for_a_webhook_that_is_not_served_is_refused(run: Run) -> None:
    result = run("operator", "--webhook-client-ca", "ca.crt")
    assert (result.exit_code, "--webhook-client-ca needs --webhook" in result.output) == (2, True)


@pytest.mark.parametrize(("word", "value"), [("", "true"), ("--no-secure-new-clusters", "false")])
def test_manifests_secure_new_clusters_unless_they_are_told_not_to(run: Run, word: str, value: str) -> None:
    deployment = list(yaml.safe_load_all(run("manifests", *word.split()).output))[-1]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "STATEWARD_SECURE_NEW_CLUSTERS", "value": value} in container["env"]


@pytest.mark.parametrize(
    ("words", "policy", "references"),
    [("", "baseline", "labelled"), ("--pod-policy restricted --pod-references any", "restricted", "any")],
)
def test_manifests_say_what_pods_may_be_and_use(run: Run, words: str, policy: str, references: str) -> None:
    deployment = list(yaml.safe_load_all(run("manifests", *words.split()).output))[-1]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "STATEWARD_POD_POLICY", "value": policy} in container["env"]
    assert {"name": "STATEWARD_POD_REFERENCES", "value": references} in container["env"]


POWER = """
apiVersion: stateward.dev/v1alpha1
kind: FoundationDBCluster
metadata: {name: facts}
spec:
  version: 7.3.63
  podTemplate: {spec: {hostPID: true}}
  pools:
  - {name: storage, processClass: storage, replicas: 3}
  - {name: log, processClass: log, replicas: 3}
"""


def test_validate_refuses_pods_that_the_policy_does_not_allow(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "power.yaml"
    file.write_text(POWER)
    refused = run("validate", "-f", str(file))
    assert refused.exit_code == 1
    said = "spec.podTemplate.spec.hostPID: True: must be false, or left out (the pod policy is baseline)"
    assert said in refused.output
    assert run("validate", "-f", str(file), "--pod-policy", "privileged").exit_code == 0


def test_the_wheel_carries_every_manifest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert all(target == f"stateward/charts/{Path(origin).name}" for origin, target in included.items())
    listed = yaml.safe_load((ROOT / "charts/stateward/kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    folders = {f"charts/stateward/{name.partition('/')[0]}" for name in listed}
    assert folders | {"charts/stateward/kustomization.yaml"} <= included.keys()


def test_manifests_give_the_operator_further_arguments(run: Run) -> None:
    words = ("--webhook", "--argument=--max-replacements=2", "--argument", "--workers=8")
    deployment = list(yaml.safe_load_all(run("manifests", *words).output))[-1]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["operator", "--webhook", "--max-replacements=2", "--workers=8"]


@pytest.mark.parametrize("words", [("-n", "Bad_Name"), ("--image", "not an image")])
def test_manifests_refuse_names_that_the_server_would_refuse_half_way(run: Run, words: tuple[str, str]) -> None:
    result = run("manifests", *words)
    assert (result.exit_code, words[1] in result.output) == (2, True)


def test_manifests_can_be_the_crds_alone(run: Run) -> None:
    found = list(yaml.safe_load_all(run("manifests", "--crds-only").output))
    assert {document["kind"] for document in found} == {"CustomResourceDefinition"}


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
    api.add("opensearchclusters", document)
    assert run("keep", "logs-hot-1").exit_code == 0
    assert members(api) == {"replace": ["logs-hot-0"], "keep": ["logs-hot-1"]}


def test_a_member_that_no_cluster_has_is_not_replaced(run: Run, api: FakeApi) -> None:
    result = run("replace", "logs-cold-1")
    assert result.exit_code == 1
    assert "has a member 'logs-cold-1'" in result.output
    assert not api.patches


def test_a_loss_is_accepted_only_where_one_is_possible(run: Run) -> None:
    assert run("replace", "logs-hot-1", "--accept-data-loss").exit_code == 2


def test_a_mistyped_kind_is_the_only_error_of_a_document(run: Run) -> None:
    text = "apiVersion: stateward.dev/v1alpha1\nkind: Instalation\nmetadata: {name: shop}\nspec: {package: shop-1}\n"
    result = run("validate", "-f", "-", stdin=text)
    assert result.exit_code == 1
    assert result.output == (
        "-: shop: error: kind: 'Instalation': is no kind of Stateward's; did you mean Installation?\n"
    )


def test_a_fault_of_yaml_names_its_line_and_no_object_of_python(run: Run) -> None:
    result = run("validate", "-f", "-", stdin="a: [1\nb: 2\n")
    assert "unicode string" not in result.output
    assert "at line 2" in result.output


def test_a_cluster_that_is_there_twice_is_an_error(run: Run) -> None:
    result = run("validate", "-f", "-", stdin=f"{GOOD}---\n{GOOD}")
    assert result.exit_code == 1
    assert ": logs: error: is in - (document 1) already\n" in result.output
