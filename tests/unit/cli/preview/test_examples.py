"""Every example in YAML on the pages is accepted as it stands, or as a part of a resource or of the chart's values."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from stateward.api.values.names import GROUP
from stateward.cli.main import cli
from stateward.cli.run.chart import merged

ROOT = Path(__file__).parents[4]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SEARCH = {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}}
POOLS = [{"name": "all", "replicas": 3}]
WHOLE: dict[str, dict[str, Any]] = {
    "OpenSearchCluster": {"version": "2.19.5", "pools": POOLS},
    "ElasticsearchCluster": {"version": "8.19.4", "pools": POOLS},
    "FoundationDBCluster": {"version": "7.1.67", "pools": [{"name": "storage", "processClass": "storage"}]},
    "SearchSnapshotSchedule": SEARCH | {"repository": "backups", "schedule": "30 3 * * *"},
    "SearchObject": SEARCH | {"object": "indexTemplate/logs", "body": {}},
}
"""The least spec of each kind of which pages show a part."""
OTHERS = {"command", "data"}
"""First fields of examples that are neither: the command of a container, and a ConfigMap of Argo CD."""


def examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place (page and line, from 1) and the content of each document of each block of YAML."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^ *```yaml\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
            place = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, block.start()) + 1}"
            yield from ((place, found) for found in yaml.safe_load_all(dedent(block[1])))


def problems(tmp_path: Path, resource: dict[str, Any], *options: str) -> str:
    """Return what `validate` says about a resource under the strictest pod policy, or nothing if it accepts it."""
    file = tmp_path / "example.yaml"
    file.write_text(yaml.safe_dump(resource), encoding="utf-8")
    done = CliRunner().invoke(cli, ["validate", "-f", str(file), "--pod-policy", "restricted", *options])
    return "" if done.exit_code == 0 else done.output


def completed(part: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return a resource of a kind with a part of its spec, which may leave the word `spec` out."""
    base, given = WHOLE[kind], part.get("spec", part)
    pools = {"pools": base["pools"] + given.get("pools", [])} if "pools" in base else {}
    spec = base | given | pools
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": {"name": "logs"}, "spec": spec}


def is_part(example: dict[str, Any]) -> bool:
    """Whether an example shows a part of one of our resources."""
    return "kind" not in example and bool(example.keys() & {"spec", "pools", "values"})


ALL = list(examples())
RESOURCES = [(place, found) for place, found in ALL if str(found.get("apiVersion")).startswith(GROUP)]
PARTS = [(place, found) for place, found in ALL if is_part(found)]
VALUES = [(at, found) for at, found in ALL if not (found.keys() & {"kind", *OTHERS} or is_part(found))]


@pytest.mark.parametrize(("place", "resource"), RESOURCES)
def test_each_resource_is_valid_without_a_warning(tmp_path: Path, place: str, resource: dict[str, Any]) -> None:
    assert problems(tmp_path, resource, "--strict") == "", place


@pytest.mark.parametrize(("place", "part"), PARTS)
def test_each_part_of_a_spec_is_valid_in_a_resource_of_some_kind(
    tmp_path: Path, place: str, part: dict[str, Any]
) -> None:
    found = {kind: problems(tmp_path, completed(part, kind)) for kind in WHOLE}
    assert "" in found.values(), (place, found)


@pytest.mark.parametrize(("place", "part"), VALUES)
def test_each_part_of_the_values_is_accepted_by_the_chart(place: str, part: dict[str, Any]) -> None:
    chart = ROOT / "charts/stateward"
    values = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((chart / "values.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(merged(values, part), schema, jsonschema.Draft7Validator)
    assert part.keys() <= values.keys(), place


def test_there_are_examples_of_each_sort() -> None:
    assert len(RESOURCES) >= 29
    assert len(PARTS) >= 18
    assert len(VALUES) >= 2
