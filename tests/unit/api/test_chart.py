"""The Helm chart says what the plain manifests say; both are written by hand, so that both can be read."""

import json
import re
from pathlib import Path

import gotpl
import pytest
import yaml

from stateward.api.generate import files

CHART = Path(__file__).parents[3] / "charts/stateward"
INCLUDED = re.compile(r'\{\{-? include "(?P<name>[\w.]+)" [.$] (\| nindent (?P<indent>\d+) )?\}\}')
DEFINED = re.compile(r'\{\{- define "(?P<name>[\w.]+)" -\}\}\n(?P<text>.*?)\n\{\{- end \}\}', re.DOTALL)
VALUES = {
    "{{ .Release.Name }}": "stateward",
    "{{ $.Release.Name }}": "stateward",
    "{{ .Release.Namespace }}": "stateward-system",
    "{{ $.Release.Namespace }}": "stateward-system",
    "{{ .Values.replicas }}": "1",
    "{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:"
    "{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}": "stateward",
    "{{ .Values.image.pullPolicy }}": "IfNotPresent",
    "{{ .Values.podPolicy }}": "baseline",
    "{{ .Values.podReferences }}": "labelled",
    "{{ .Values.secureNewClusters | quote }}": '"true"',
}


def expanded(template: str) -> list[str]:
    """Fill in the names and the included parts of a template; the rest of its actions stay as they are."""
    parts = {m["name"]: m["text"] for m in DEFINED.finditer((CHART / "templates/_names.tpl").read_text())}

    def included(match: re.Match[str]) -> str:
        indent = " " * int(match["indent"] or 0)
        return (
            "\n".join(indent + line for line in parts[match["name"]].splitlines()).lstrip()
            if indent
            else parts[match["name"]]
        )

    text = INCLUDED.sub(included, (CHART / "templates" / template).read_text())
    text = text.replace("{{- toYaml .Values.resources | nindent 10 }}", _resources())
    for place, value in VALUES.items():
        text = text.replace(place, value)
    return lines(text)


def _resources() -> str:
    return yaml.safe_dump(yaml.safe_load((CHART / "values.yaml").read_text())["resources"])


def lines(text: str) -> list[str]:
    """Return the lines without indent, comments and template actions."""
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith(("#", "{{"))]


@pytest.mark.parametrize(
    "file",
    [
        "manifests/deployment",
        "manifests/detection-role",
        "manifests/leases-role",
        "manifests/operator-role",
        "manifests/packages-role",
        "manifests/foundationdb-role",
        "manifests/service",
        "manifests/service-account",
        "manifests/user-roles",
        "network/network-policy",
        "webhook/webhook",
    ],
)
def test_every_line_of_a_manifest_is_in_its_template_in_order(file: str) -> None:
    rest = iter(expanded(f"{Path(file).name}.yaml"))
    missing = [line for line in lines((CHART / f"{file}.yaml").read_text()) if line not in rest]
    assert missing == []


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ({"tag": "", "digest": ""}, "r.example/stateward:0.1.0"),
        ({"tag": "own", "digest": ""}, "r.example/stateward:own"),
        ({"tag": "own", "digest": "sha256:ab"}, "r.example/stateward@sha256:ab"),
    ],
)
def test_a_digest_names_the_image_of_operator_and_agent(values: dict[str, str], image: str) -> None:
    deployment = (CHART / "templates/deployment.yaml").read_text()
    parts = [line for line in deployment.splitlines() if "stateward.image" in line]
    assert [line.strip().partition(":")[0] for line in parts] == ["image", "value"]
    names = (CHART / "templates/_names.tpl").read_text()
    called = [line.replace("include", "template") for line in parts]
    data = {"Values": {"image": {"repository": "r.example/stateward", **values}}, "Chart": {"AppVersion": "0.1.0"}}
    given = yaml.safe_load((CHART / "values.yaml").read_text())["image"]
    assert given.keys() >= values.keys()

    def default(other: object, value: object) -> object:
        return value or other

    functions = {"default": default, "toJson": json.dumps}
    rendered = gotpl.Template("\n".join((names, *called)), functions=functions).render(data)
    assert [line.strip() for line in rendered.splitlines() if line.strip()] == [f"image: {image}", f"value: {image}"]


def test_the_chart_brings_the_definitions() -> None:
    generated = {path.name for path in files() if path.suffix == ".yaml"}
    assert {path.name for path in (CHART / "crds").iterdir()} == generated


def test_versions_agree() -> None:
    import tomllib

    project = tomllib.loads((CHART.parents[1] / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    kustomization = yaml.safe_load((CHART / "kustomization.yaml").read_text())
    assert {chart["version"], chart["appVersion"], kustomization["images"][0]["newTag"]} == {project["version"]}


def test_the_operators_pod_gets_no_service_links() -> None:
    """A Service called stateward-metrics sets STATEWARD_METRICS_PORT=tcp://… in every pod beside it."""
    (deployment,) = yaml.safe_load_all((CHART / "manifests/deployment.yaml").read_text())
    assert deployment["spec"]["template"]["spec"]["enableServiceLinks"] is False
