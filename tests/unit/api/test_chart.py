"""The Helm chart says what the plain manifests say; both are written by hand, so that both can be read."""

import re
from pathlib import Path

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
    "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}": "stateward",
    "{{ .Values.image.pullPolicy }}": "IfNotPresent",
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
        "webhook/webhook",
    ],
)
def test_every_line_of_a_manifest_is_in_its_template_in_order(file: str) -> None:
    rest = iter(expanded(f"{Path(file).name}.yaml"))
    missing = [line for line in lines((CHART / f"{file}.yaml").read_text()) if line not in rest]
    assert missing == []


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
