"""`manifests`: the objects that install the operator, with their options."""

import tomllib
from pathlib import Path

import pytest

from stateward.cli.run.manifests import image_values
from stateward.cli.shared.failures import ExitCode
from stateward.operator.database_view.address import ACCOUNT, PORT_NAME, PREVIEW_ACCOUNT, SERVICE
from stateward.operator.database_view.server import PLURALS, PREVIEWED
from stateward.operator.runtime.options import OperatorOptions
from tests.support.chart import documents
from tests.unit.cli.fake_api import Run

ROOT = Path(__file__).parents[3]


def test_manifests_carry_the_image_and_the_namespace_everywhere(run: Run) -> None:
    result = run("manifests", "--image", "registry.example/stateward:9", "-n", "ops")
    found = documents(result.output)
    kinds = [document["kind"] for document in found]
    first = kinds.index("Namespace")
    assert set(kinds[:first]) == {"CustomResourceDefinition"}
    assert kinds[-1] == "Deployment"
    assert found[first]["metadata"]["name"] == "ops"
    assert found[-1]["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/stateward:9"
    assert "stateward-system" not in result.output


def test_manifests_bring_the_webhook_where_it_is_requested(run: Run) -> None:
    without, found = (documents(run("manifests", "-n", "ops", *words).output) for words in ([], ["--webhook"]))
    assert "ValidatingWebhookConfiguration" not in {document["kind"] for document in without}
    webhook = next(d for d in found if d["kind"] == "ValidatingWebhookConfiguration")["webhooks"][0]
    assert webhook["failurePolicy"] == "Ignore"
    assert webhook["clientConfig"]["service"]["namespace"] == "ops"
    assert "--webhook" in found[-1]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--webhook" not in without[-1]["spec"]["template"]["spec"]["containers"][0]["args"]


def test_manifests_bring_the_database_view_unless_it_is_switched_off(run: Run) -> None:
    without, found = (documents(run("manifests", "-n", "ops", *words).output) for words in (["--no-database-view"], []))
    added = [document for document in found if document not in without and document["kind"] != "Deployment"]
    bound = ["ClusterRole", "ClusterRoleBinding"]
    kinds = [*bound, "Role", "RoleBinding", *bound, *bound, "ServiceAccount", "ServiceAccount", "Service"]
    assert [document["kind"] for document in added] == kinds
    kinds_of_clusters, previewed = (
        {resource for rule in added[at]["rules"] for resource in rule["resources"]} for at in (4, 6)
    )
    assert (kinds_of_clusters, previewed) == (PLURALS, PREVIEWED.keys())
    assert [added[at]["subjects"][0]["name"] for at in (5, 7)] == [ACCOUNT, PREVIEW_ACCOUNT]
    assert [added[at]["metadata"]["name"] for at in (8, 9)] == [ACCOUNT, PREVIEW_ACCOUNT]
    service = added[10]
    assert (service["metadata"]["name"], service["metadata"]["namespace"]) == (SERVICE, "ops")
    assert [(port["name"], port["targetPort"]) for port in service["spec"]["ports"]] == [
        (PORT_NAME, OperatorOptions().database_view_port)
    ]
    assert added[2]["rules"][0]["resourceNames"] == [f"https:{SERVICE}:{PORT_NAME}"]
    assert "--database-view" in found[-1]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--database-view" not in without[-1]["spec"]["template"]["spec"]["containers"][0]["args"]


def test_manifests_have_the_webhook_ask_for_certificates_where_a_ca_is_named(run: Run) -> None:
    words = ("manifests", "--webhook", "--webhook-client-ca", "api-server-ca")
    pod = documents(run(*words).output)[-1]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (volume,) = [each for each in pod["volumes"] if each.get("configMap") == {"name": "api-server-ca"}]
    (mount,) = [each for each in container["volumeMounts"] if each["name"] == volume["name"]]
    assert f"--webhook-client-ca={mount['mountPath']}/ca.crt" in container["args"]
    for wrong in (("--webhook", "--webhook-client-ca", "A b"), ("--webhook-client-ca", "api-server-ca")):
        assert run("manifests", *wrong).exit_code == ExitCode.USAGE


def test_a_ca_for_a_webhook_that_is_not_served_is_refused(run: Run) -> None:
    result = run("operator", "--webhook-client-ca", "ca.crt")
    assert (result.exit_code, "--webhook-client-ca needs --webhook" in result.output) == (ExitCode.USAGE, True)


def test_an_empty_namespace_is_not_all_namespaces(run: Run) -> None:
    result = run("operator", "-n", "")
    assert (result.exit_code, "--namespace is empty" in result.output) == (ExitCode.USAGE, True)


@pytest.mark.parametrize(("word", "value"), [("", "true"), ("--no-secure-new-clusters", "false")])
def test_manifests_secure_new_clusters_unless_they_are_reported_not_to(run: Run, word: str, value: str) -> None:
    deployment = documents(run("manifests", *word.split()).output)[-1]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "STATEWARD_SECURE_NEW_CLUSTERS", "value": value} in container["env"]


@pytest.mark.parametrize(
    ("words", "policy", "references"),
    [("", "baseline", "labelled"), ("--pod-policy restricted --pod-references any", "restricted", "any")],
)
def test_manifests_say_what_pods_may_be_and_use(run: Run, words: str, policy: str, references: str) -> None:
    deployment = documents(run("manifests", *words.split()).output)[-1]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "STATEWARD_POD_POLICY", "value": policy} in container["env"]
    assert {"name": "STATEWARD_POD_REFERENCES", "value": references} in container["env"]


def test_the_wheel_carries_the_chart() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {"charts/stateward": "stateward/charts"}


def test_manifests_take_a_file_of_helm_values_and_options_override_it(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("replicas: 5\npodPolicy: restricted\nmetrics: {podMonitor: {enabled: true}}\n")
    found = documents(run("manifests", "--values", str(file), "--replicas", "3").output)
    assert "PodMonitor" in {document["kind"] for document in found}
    assert found[-1]["spec"]["replicas"] == 3
    assert {"name": "STATEWARD_POD_POLICY", "value": "restricted"} in found[-1]["spec"]["template"]["spec"][
        "containers"
    ][0]["env"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"- 1", "must contain an object"),
        (b"a: [", "is not YAML"),
        (b"\xff", "not text in UTF-8"),
        (b"replicas: 1\n---\nreplicas: 2\n", "is not YAML: holds 2 documents"),
        (b"image: {tag: 1.10}", "image.tag: 1.1: must be text: put it in quotes"),
        (b"rbac: {create: 'false'}", "rbac.create: 'false': must be true or false"),
    ],
)
def test_a_file_without_values_is_refused(run: Run, tmp_path: Path, text: bytes, said: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_bytes(text)
    result = run("manifests", "--values", str(file))
    assert (result.exit_code, said in result.output) == (1, True)


def test_a_tag_that_looks_like_a_day_is_text(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("image: {tag: 2026-02-30}\n")
    pod = documents(run("manifests", "--values", str(file)).output)[-1]["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "stateward:2026-02-30"


@pytest.mark.parametrize(
    ("image", "values"),
    [
        ("stateward", ("stateward", "", "")),
        ("r:5000/stateward", ("r:5000/stateward", "", "")),
        ("r:5000/stateward:1", ("r:5000/stateward", "1", "")),
        ("r/stateward:1@sha256:ab", ("r/stateward", "1", "sha256:ab")),
    ],
)
def test_an_image_is_split_into_the_values_of_the_chart(image: str, values: tuple[str, str, str]) -> None:
    assert tuple(image_values(image).values()) == values


def test_manifests_give_the_operator_further_arguments(run: Run) -> None:
    words = ("--webhook", "--argument=--max-replacements=2", "--argument", "--workers=8")
    deployment = documents(run("manifests", *words).output)[-1]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["operator", "--database-view", "--webhook", "--max-replacements=2", "--workers=8"]


@pytest.mark.parametrize("words", [("-n", "Bad_Name"), ("--image", "not an image")])
def test_manifests_refuse_names_that_the_server_would_refuse_half_way(run: Run, words: tuple[str, str]) -> None:
    result = run("manifests", *words)
    assert (result.exit_code, words[1] in result.output) == (ExitCode.USAGE, True)


def test_manifests_can_leave_the_crds_out(run: Run) -> None:
    found = documents(run("manifests", "--no-crds").output)
    assert "CustomResourceDefinition" not in {document["kind"] for document in found}


def test_manifests_can_be_the_crds_alone(run: Run) -> None:
    found = documents(run("manifests", "--crds-only").output)
    assert {document["kind"] for document in found} == {"CustomResourceDefinition"}


def test_crds_do_not_take_away_the_label_by_which_helm_knows_its_own(run: Run) -> None:
    """They are applied for another version with forced conflicts; Helm would then not install its release again."""
    found = documents(run("manifests").output)
    label = "app.kubernetes.io/managed-by"
    labelled = {document["kind"] for document in found if label in document["metadata"].get("labels", {})}
    assert "Deployment" in labelled
    assert "CustomResourceDefinition" not in labelled
