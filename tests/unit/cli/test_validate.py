"""`validate`: every problem of a file, with the accepted values."""

from pathlib import Path

import pytest

from stateward.api.schema.custom_resources import KINDS
from stateward.kube.objects.errors import Status, error_for
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import GOOD


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
        "- (document 1): logs: error: spec.pools[0].replicas: is required: How many members the pool has; with"
        " `scaling` the number to begin with, or the nearest one within its limits.\n"
    )


def test_the_server_judges_the_pods_where_the_user_may_create_them(run: Run, api: FakeApi) -> None:
    named = GOOD.replace("replicas: 3}", "replicas: 3, podTemplate: {spec: {bogus: 1}}}")
    assert run("validate", "--server", "-f", "-", stdin=named).exit_code == 0
    why = "failed to create typed patch object (x): .spec.template.spec.bogus: field not declared in schema"
    api.trial = error_for(Status(kind="Status", code=500, message=why))
    said = run("validate", "--server", "-f", "-", stdin=named)
    assert said.exit_code == 1
    assert "error: spec.pools[0].podTemplate.spec.bogus: the API server says: unknown field" in said.output
    beside = GOOD.replace("replicas: 3}", "replicas: 3}\n  metrics: {podTemplate: {spec: {bogus: 1}}}")
    said = run("validate", "--server", "-f", "-", stdin=beside)
    assert said.exit_code == 1
    assert "error: spec.metrics.podTemplate.spec.bogus: the API server says: unknown field" in said.output


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


def test_a_directory_has_the_documents_of_its_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yml").write_text(f"{GOOD.replace('logs', 'second')}\n---\n{GOOD.replace('logs', 'third')}")
    (tmp_path / "notes.txt").write_text("no YAML: [")
    result = run("validate", "-f", str(tmp_path))
    assert (result.exit_code, result.output.count(": no problems found")) == (0, 3)
    (tmp_path / "c.yaml").write_text(GOOD)
    again = run("validate", "-f", str(tmp_path))
    assert again.exit_code == 1
    assert "c.yaml" in again.output


def test_a_file_that_is_no_yaml_hides_no_problem_of_another_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.yaml").write_bytes(b"\xff")
    (tmp_path / "c.yaml").write_text(GOOD.replace("replicas: 3", "replicas: x"))
    (tmp_path / "d.yaml").write_text("kind: List\napiVersion: v1\nitems: 5\n")
    result = run("validate", "-f", str(tmp_path))
    assert result.exit_code == 1
    for words in ("a.yaml:1: not YAML", "b.yaml: not text in UTF-8", "d.yaml: items: 5: must be a list"):
        assert words in result.stderr
    assert "c.yaml (document 1): logs: error: spec.pools[0].replicas: 'x'" in result.stdout


@pytest.mark.parametrize("text", [b"\xff\xfe", GOOD.encode() + b"# \xff", b"kind: List\nitems: {a: b}\n"])
def test_standard_input_that_cannot_be_read_is_a_line(run: Run, text: bytes) -> None:
    result = run("validate", "-f", "-", stdin=text)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("stateward: -: ")


SCALE = """
apiVersion: stateward.dev/v1alpha1
kind: PoolScale
metadata: {name: logs-hot}
spec: {cluster: {kind: OpenSearchCluster, name: logs}, pool: hot, replicas: 3}
"""


def test_every_kind_is_known_and_an_object_of_any_kind_may_be_there_once(run: Run) -> None:
    assert run("validate", "-f", "-", stdin=SCALE).output == "-: logs-hot: no problems found\n"
    result = run("validate", "-f", "-", stdin=f"{SCALE}---{SCALE.replace('replicas: 3', 'replicas: 4')}")
    assert result.exit_code == 1
    assert "- (document 2): logs-hot: error: is in - (document 1) already" in result.output
    for kind in KINDS:
        text = f"apiVersion: stateward.dev/v1alpha1\nkind: {kind.name}\nmetadata: {{name: a}}\nspec: {{}}\n"
        assert "is no kind of Stateward's" not in run("validate", "-f", "-", stdin=text).output


def test_what_is_listed_twice_is_refused_as_the_api_server_refuses_it(run: Run) -> None:
    more = "members: {keep: [logs-all-0, logs-all-0], replace: [logs-all-1, logs-all-1]}"
    more += "\n  plugins: [{name: a}, {name: b}, {name: a}]\n  replacement: {onTaints: [{key: x}, {key: x}]}"
    result = run("validate", "-f", "-", stdin=GOOD.replace("pools:", f"{more}\n  pools:"))
    said = [line.partition("error: ")[2] for line in result.output.splitlines()]
    for path in ("replacement.onTaints[1].key", "members.replace[1]", "members.keep[1]", "plugins[2].name"):
        assert any(line.startswith(f"spec.{path}: ") and line.endswith(": must be listed once") for line in said), path


def test_documents_that_are_joined_without_a_separator_are_refused_and_not_merged(run: Run) -> None:
    result = run("validate", "-f", "-", stdin=GOOD + GOOD.replace("logs", "second"))
    assert result.exit_code == 1
    assert "has the key 'apiVersion' twice, first in line" in result.stderr


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


@pytest.mark.parametrize("block", ["dashboards", "metrics"])
@pytest.mark.parametrize("power", ["hostPID: true", "volumes: [{name: x, hostPath: {path: /}}]"])
def test_the_policy_is_for_the_pods_beside_the_database_too(run: Run, block: str, power: str) -> None:
    text = GOOD.replace("pools:", f"{block}: {{podTemplate: {{spec: {{{power}}}}}}}\n  pools:")
    refused = run("validate", "-f", "-", stdin=text)
    assert refused.exit_code == 1
    assert f"error: spec.{block}.podTemplate.spec.{power.partition(':')[0]}" in refused.output
    assert "(the pod policy is baseline)" in refused.output
    assert run("validate", "-f", "-", "--pod-policy", "privileged", stdin=text).exit_code == 0
    plain = text.replace(power, "nodeSelector: {a: b}")
    assert run("validate", "-f", "-", "--pod-policy", "restricted", stdin=plain).exit_code == 0


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
    assert "-:2: not YAML" in result.output
