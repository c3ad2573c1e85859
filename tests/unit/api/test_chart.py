"""The Helm chart, rendered without Helm: values, schema, and the objects that come of them."""

import base64
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from release.generated.values import leaves as described
from release.generated.values import values
from stateward.api.generate import files
from stateward.api.kinds.access.metrics import Metrics
from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.values.base import Metadata
from stateward.cli.run.chart import ORDER, merged, objects, rendered
from stateward.cli.shared.failures import Failure
from stateward.engines.exporter import objects as exporter
from tests.support.chart import SETS, leaves

CHART = Path(__file__).parents[3] / "charts/stateward"
VALUES = (CHART / "values.yaml").read_text()
DIGEST = f"sha256:{'ab' * 32}"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def one(given: dict[str, Any], kind: str) -> Any:
    (found,) = [each for each in objects(given) if each["kind"] == kind]
    return found


def pod(given: dict[str, Any]) -> Any:
    return one(given, "Deployment")["spec"]["template"]["spec"]


def test_every_template_is_rendered() -> None:
    assert {path.stem for path in (CHART / "templates").glob("*.yaml")} == set(ORDER)


def test_the_sets_of_values_use_every_value() -> None:
    used = set[str]().union(*(leaves(given) for given in SETS.values()))
    assert [value.path for value in described(values(VALUES)) if value.path not in used] == []


@pytest.mark.parametrize("path", [value.path for value in described(values(VALUES))])
def test_every_value_changes_an_object(path: str) -> None:
    name, *_ = [name for name, given in SETS.items() if path in leaves(given)]
    assert rendered_set(name) != rendered(CHART, _without(SETS[name], path.split("."))), f"{path} in {name}"


@cache
def rendered_set(name: str) -> dict[str, str]:
    return rendered(CHART, SETS[name])


def _without(given: dict[str, Any], path: list[str]) -> dict[str, Any]:
    head, *rest = path
    rests = {key: value for key, value in given.items() if key != head}
    return {**rests, head: _without(given[head], rest)} if rest else rests


@pytest.mark.parametrize("name", SETS)
def test_the_schema_accepts_what_the_chart_accepts(name: str) -> None:
    whole = merged(yaml.safe_load(VALUES), SETS[name])
    jsonschema.validate(whole, SCHEMA, jsonschema.Draft7Validator)


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"replica": 2}, "replica: the chart has no such value"),
        ({"replicas": "2"}, "replicas: '2': must be a whole number, without quotes"),
        ({"replicas": True}, "replicas: True: must be a whole number"),
        ({"replicas": 2.5}, "replicas: 2.5: must be a whole number"),
        ({"replicas": -1}, "replicas: -1: must be 0 or more"),
        ({"pageAccess": {"port": 70000}}, "pageAccess.port: 70000: must be 65535 or less"),
        ({"image": {"digest": "sha256:ab"}}, "image.digest: 'sha256:ab': must match"),
        ({"image": {"tags": "1"}}, "image.tags: the chart has no such value"),
        ({"image": {"tag": 1.1}}, "image.tag: 1.1: must be text: put it in quotes"),
        ({"image": {"repository": ""}}, "image.repository: '': must not be empty"),
        ({"image": {"pullSecrets": [{"nam": "a"}]}}, "image.pullSecrets[0].name: is required"),
        ({"image": []}, "image: []: must be an object"),
        ({"webhook": "false"}, "webhook: 'false': must be true or false, without quotes"),
        ({"namespaces": "logs"}, "namespaces: 'logs': must be a list"),
        ({"namespaces": ["logs", "logs"]}, "must have no item twice"),
        ({"namespaces": [1001]}, "namespaces[0]: 1001: must be text"),
        ({"installationAccounts": "packages"}, "installationAccounts: 'packages': must be a list"),
        ({"networkPoliciesFor": []}, "networkPoliciesFor: []: must have 1 items or more"),
        ({"pageAccess": {"clients": [{}]}}, "pageAccess.clients[0]: {}: must not be empty"),
        ({"podPolicy": "strict"}, "podPolicy: 'strict': must be one of restricted, baseline, privileged"),
        ({"metrics": {"rules": {"labels": {"a": 1}}}}, "metrics.rules.labels.a: 1: must be text"),
    ],
)
def test_wrong_values_are_refused_with_and_without_helm(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(merged(yaml.safe_load(VALUES), wrong), SCHEMA, jsonschema.Draft7Validator)
    with pytest.raises(Failure, match=re.escape(place)):
        objects(wrong)


def test_a_line_break_at_the_end_of_a_value_is_refused() -> None:
    """Helm refuses it; a pattern in Python ends before it."""
    with pytest.raises(Failure, match="wave"):
        objects({"wave": "a\n"})


def test_names_of_digits_alone_are_texts() -> None:
    """YAML takes them for numbers, and the API server refuses a namespace that is a number."""
    given = {
        "namespaces": ["1001"],
        "webhook": True,
        "webhookClientCA": "7",
        "priorityClassName": "8",
        "serviceAccount": {"name": "9"},
        "page": True,
        "networkPolicies": True,
        "crds": {"install": False},
    }
    found = objects(given, "1002")
    assert set(_named(found, "namespace")) == {"1001", "1002"}
    assert {"7", "8", "9"} <= {*_named(found, "name"), *_named(found, "priorityClassName")}
    assert all(isinstance(value, str) for value in _named(found, "name"))


def _named(value: Any, field: str) -> Iterator[Any]:
    """Yield the values of all fields of a name."""
    if isinstance(value, dict):
        yield from (inner for name, inner in value.items() if name == field)
        value = [*value.values()]
    for inner in value if isinstance(value, list) else ():
        yield from _named(inner, field)


def test_all_words_of_the_schema_are_checked_without_helm() -> None:
    checked = "enum minItems uniqueItems required type items minLength additionalProperties maximum properties minimum"
    more = {"pattern", "minProperties", "$schema", "title", "description"}
    assert _words(SCHEMA) <= {*checked.split(), *more}


def _words(schema: Any) -> set[str]:
    """Return the words that a schema uses."""
    if not isinstance(schema, dict):
        return set()
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return set(schema).union(*map(_words, inner))


def test_two_monitors_of_the_same_process_are_refused() -> None:
    both = {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}
    with pytest.raises(Failure, match="scrapes every process twice"):
        objects({"metrics": both})


def test_the_release_of_a_wave_has_a_lease_of_its_own_and_no_webhook() -> None:
    found = objects({"wave": "canary", "crds": {"install": False}}, "ops", "canary")
    assert found[-1]["spec"]["template"]["spec"]["containers"][0]["args"][1:] == [
        "--wave=canary",
        "--lease-name=canary",
    ]


def test_the_release_of_a_wave_has_no_database_view() -> None:
    found = objects({"wave": "canary", "databaseView": True, "crds": {"install": False}}, "ops", "canary")
    assert not [each for each in found if "database-view" in str(each) or "reviews" in each["metadata"]["name"]]


@pytest.mark.parametrize("value", ["webhook", "page"])
def test_what_a_kubernetes_cluster_has_once_is_refused_in_the_release_of_a_wave(value: str) -> None:
    with pytest.raises(Failure, match="without a wave"):
        objects({"wave": "canary", value: True})
    objects({value: True})


@pytest.mark.parametrize(
    ("given", "image"),
    [
        ({"tag": "", "digest": ""}, "r.example/stateward:0.1.0"),
        ({"tag": "own", "digest": ""}, "r.example/stateward:own"),
        ({"tag": "own", "digest": DIGEST}, f"r.example/stateward@{DIGEST}"),
    ],
)
def test_a_digest_identifies_the_image_of_operator_and_agent(given: dict[str, str], image: str) -> None:
    (container,) = pod({"image": {"repository": "r.example/stateward", **given}})["containers"]
    assert container["image"] == image
    assert {"name": "STATEWARD_AGENT_IMAGE", "value": image} in container["env"]


def test_the_default_is_two_processes_on_different_nodes_and_one_may_be_evicted() -> None:
    assert one({}, "Deployment")["spec"]["replicas"] == 2
    assert [each["topologyKey"] for each in pod({})["topologySpreadConstraints"]] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    assert one({}, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_a_selector_of_pods_selects_the_operators_pods() -> None:
    found = objects({"metrics": {"podMonitor": {"enabled": True}}})
    labels = one({}, "Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        each["spec"]["selector"].get("matchLabels", each["spec"]["selector"])
        for each in found
        if each["kind"] in {"Deployment", "PodDisruptionBudget", "PodMonitor", "Service"}
        and each["metadata"]["name"] != "stateward-databases"
    ]
    assert len(selectors) == 5
    assert all(selector.items() <= labels.items() for selector in selectors)


def test_the_service_monitor_selects_the_metrics_service_alone() -> None:
    found = objects({"webhook": True, "metrics": {"serviceMonitor": {"enabled": True}}})
    monitor, _ = [each for each in found if each["kind"] == "ServiceMonitor"]
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    selected = [each for each in found if each["kind"] == "Service" and wanted <= each["metadata"]["labels"].items()]
    assert [each["metadata"]["name"] for each in selected] == ["stateward-metrics"]
    assert monitor["spec"]["endpoints"][0]["port"] in {port["name"] for port in selected[0]["spec"]["ports"]}


@pytest.mark.parametrize(("kind", "value"), [("ServiceMonitor", "serviceMonitor"), ("PodMonitor", "podMonitor")])
def test_the_monitor_of_databases_selects_the_objects_of_exporters(kind: str, value: str) -> None:
    def monitor(**given: Any) -> dict[str, Any]:
        found = objects({"metrics": {value: {"enabled": True}}, **given})
        return next(each["spec"] for each in found if each["metadata"]["name"] == "stateward-databases")

    spec = OpenSearchSpec(version="2.19.5", pools=[Pool(name="all", replicas=1)])
    cluster = OpenSearchCluster(metadata=Metadata(name="logs", namespace="prod"), spec=spec)
    made = exporter.service(cluster, "opensearch")
    template = exporter.deployment(cluster, Metrics(), "opensearch", image="stateward:1", config="c")["spec"][
        "template"
    ]
    carrier = made if kind == "ServiceMonitor" else template
    (wanted,) = monitor()["selector"]["matchExpressions"]
    assert wanted["operator"] == "Exists"
    assert carrier["metadata"]["labels"][wanted["key"]] == "logs"
    (endpoint,) = monitor()["endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints"]
    assert endpoint["port"] == made["spec"]["ports"][0]["name"]
    assert endpoint["port"] == template["spec"]["containers"][0]["ports"][0]["name"]
    assert endpoint["honorLabels"] is True
    assert monitor()["namespaceSelector"] == {"any": True}
    assert monitor(namespaces=["prod"])["namespaceSelector"] == {"matchNames": ["prod"]}


def test_the_release_of_a_wave_scrapes_no_exporter_a_second_time() -> None:
    found = objects({"wave": "canary", "crds": {"install": False}, "metrics": {"podMonitor": {"enabled": True}}})
    assert [each["metadata"]["name"] for each in found if each["kind"] == "PodMonitor"] == ["stateward"]


@pytest.mark.parametrize("keep", [True, False])
def test_the_crds_are_those_of_the_types_and_stay_unless_they_are_not_kept(keep: bool) -> None:
    generated = {path.name for path in files() if path.parent.name == "crds"}
    assert {path.name for path in (CHART / "files/crds").iterdir()} == generated
    found = [each for each in objects({"crds": {"keep": keep}}) if each["kind"] == "CustomResourceDefinition"]
    plain = [yaml.safe_load((CHART / "files/crds" / name).read_text()) for name in sorted(generated)]
    assert [each["spec"] for each in found] == [each["spec"] for each in plain]
    marks = [each["metadata"].get("annotations", {}) for each in found]
    assert marks == [{"helm.sh/resource-policy": "keep"} if keep else {}] * len(found)


def test_an_operator_of_some_namespaces_has_rights_in_these_alone() -> None:
    found = objects({"namespaces": ["a", "b"]})
    roles = {each["metadata"].get("namespace") for each in found if each["kind"] == "Role"}
    assert roles == {"a", "b", "stateward-system"}
    (cluster,) = [each for each in found if (each["kind"], each["metadata"]["name"]) == ("ClusterRole", "stateward")]
    assert {verb for rule in cluster["rules"] for verb in rule["verbs"]} <= {"get", "list", "watch"}
    assert [arg for arg in pod({"namespaces": ["a", "b"]})["containers"][0]["args"] if "namespace" in arg] == [
        "--namespace=a",
        "--namespace=b",
    ]


def test_only_an_operator_that_verifies_snapshots_may_create_and_delete_clusters() -> None:
    def granted(given: dict[str, Any]) -> set[tuple[str, str]]:
        rules = [rule for each in objects(given) if each["kind"] == "ClusterRole" for rule in each["rules"]]
        operator = [rule for rule in rules if rule["apiGroups"] == ["stateward.dev"] and "patch" not in rule["verbs"]]
        return {(resource, verb) for rule in operator for resource in rule["resources"] for verb in rule["verbs"]}

    assert granted({"userRoles": False, "verifySnapshots": True}) - granted({"userRoles": False}) == {
        ("osclusters", "create"),
        ("osclusters", "delete"),
        ("esclusters", "create"),
        ("esclusters", "delete"),
        ("searchobjects", "create"),
        ("searchsnapshotschedules/finalizers", "update"),
    }


def test_every_object_has_the_common_labels() -> None:
    made = [each for each in objects(SETS["placed"]) if each["kind"] != "Namespace"]
    assert [each["metadata"]["name"] for each in made if each["metadata"]["labels"].get("team") != "data"] == []


def test_versions_agree() -> None:
    project = tomllib.loads((CHART.parents[1] / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    kustomization = yaml.safe_load((CHART / "kustomization.yaml").read_text())
    assert {chart["version"], chart["appVersion"], kustomization["images"][0]["newTag"]} == {project["version"]}


def test_the_icon_of_the_chart_is_the_picture() -> None:
    kind, _, content = yaml.safe_load((CHART / "Chart.yaml").read_text())["icon"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(content) == (CHART.parents[1] / "docs/pictures/icon.svg").read_bytes()


def test_the_operators_pod_gets_no_service_links() -> None:
    """A Service called stateward-metrics sets STATEWARD_METRICS_PORT=tcp://… in every pod beside it."""
    assert pod({})["enableServiceLinks"] is False
