"""The pages for an incident name only reasons, commands, flags, fields, annotations and log lines that exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import Context, Group
from click.testing import CliRunner

from stateward.api.schema.crd import crd
from stateward.api.schema.custom_resources import CLUSTER_KINDS
from stateward.api.values import names
from stateward.cli.main import COMMANDS, cli
from stateward.cli.status.advice import ADVICE
from stateward.kube.objects import errors
from stateward.operator.objects.translate import TROUBLES
from stateward.planning.facts.missing_members import Cause
from stateward.planning.model.intent import State
from stateward.planning.report import conditions

ROOT = Path(__file__).parents[3]
PLAYBOOK = "troubleshooting"
PAGES = [PLAYBOOK, "disaster-recovery", "sizing", "operations"]
HOW_TO = {"Take an edit back", "Hold the operator for a time", "Remove the operator"}
"""Sections of the playbook that answer a question, and begin with no symptom."""
OF_KUBERNETES = {"Unschedulable", "OnDelete", "PersistentVolumes"}
CHART = ("image", "namespaces", "resources", "replicas", "arguments", "webhook", "metrics")
"""Helm values that the pages name, by their first part."""


def text(page: str) -> str:
    return (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")


def code(page: str) -> list[str]:
    """Return the code of a page: each inline span, and each line of its shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", text(page), re.DOTALL)
    spans = re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", re.sub(r"```.*?```", "", text(page), flags=re.DOTALL))
    return [re.sub(r"\s+", " ", span) for span in spans] + [line for block in blocks for line in block.splitlines()]


def sections(page: str) -> dict[str, str]:
    """Return the sections of the third level by their headings."""
    parts = re.split(r"^#{2,3} (.+)$", text(page), flags=re.MULTILINE)
    return {name: body for name, body in zip(parts[1::2], parts[2::2], strict=True) if body.strip()}


def constants(module: Any) -> set[str]:
    """Return the texts in a module's code."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def fields(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the dotted paths of all fields of a schema; lists have [] after their name."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}{name}"
        yield from fields(inner, f"{path}{name}.")
        if "items" in inner:
            yield f"{path}{name}[]"
            yield from fields(inner["items"], f"{path}{name}[].")


def schemas() -> list[dict[str, Any]]:
    """Return the schema of each kind of cluster."""
    return [crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for kind in CLUSTER_KINDS]


def all_fields() -> set[str]:
    """Return every path of a field of any kind of cluster."""
    return {path for schema in schemas() for path in fields(schema)}


def test_each_symptom_says_what_you_see_one_command_what_it_means_and_what_to_do() -> None:
    found = sections(PLAYBOOK)
    assert len(found) >= 14
    for name, body in found.items():
        assert body.count("```sh") == 1, name
        if name not in HOW_TO:
            assert "**You see**" in body, name
            assert "**Do:**" in body or "| do |" in body, name
            assert "**It means" in body or "| do |" in body, name


@pytest.mark.parametrize("page", PAGES)
def test_every_reason_and_state_exists(page: str) -> None:
    rules = yaml.safe_load((ROOT / "charts/stateward/files/rules.yaml").read_text(encoding="utf-8"))
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    states = {state.value for state in State} | {cause.value for cause in Cause}
    kinds = {kind.record.__name__ for kind in CLUSTER_KINDS}
    known = (
        ADVICE.keys() | alerts | states | kinds | constants(conditions) | TROUBLES | OF_KUBERNETES | vars(errors).keys()
    )
    named = {word for span in code(page) for word in re.findall(r"^((?:[A-Z][a-z]+)+)(?:: …)?$", span)}
    values = set(re.findall(r"'enum': \[([^\]]*)\]", str(schemas())))
    assert {word for word in named - known if not any(f"'{word}'" in value for value in values)} == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_flag_exists(page: str) -> None:
    for span in code(page):
        words = re.split(r" [|\\]|#", span)[0].replace("kubectl stateward", "stateward").split()
        if len(words) < 2 or words[0] != "stateward":
            continue
        assert words[1] in COMMANDS, span
        path = words[1:3] if isinstance(cli.get_command(Context(cli), words[1]), Group) else words[1:2]
        shown = CliRunner().invoke(cli, [*path, "--help"]).output
        assert [word for word in words[2:] if word.startswith("-") and word != "-n" and word not in shown] == [], span


@pytest.mark.parametrize("page", PAGES)
def test_every_field_exists(page: str) -> None:
    known = all_fields()
    spec = {path.removeprefix("spec.") for path in known if path.startswith("spec.")}
    parts = re.compile(r"(?:(?:spec|status|update|volumes|replacement|members|security)\.)[A-Za-z.\[\]]+")
    named = {span.split(":")[0] for span in code(page) if parts.fullmatch(span.split(":")[0])}
    own = {path for path in named if not path.startswith(("spec.claimRef", "spec.volumeName"))}
    assert {path for path in own if path not in known | spec} == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_annotation_and_label_exists(page: str) -> None:
    known = {value for value in vars(names).values() if isinstance(value, str)}
    named = {found for span in code(page) for found in re.findall(r"stateward\.dev/[a-z-]*[a-z]", span)}
    assert named - known == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_helm_value_exists(page: str) -> None:
    values = yaml.safe_load((ROOT / "charts/stateward/values.yaml").read_text(encoding="utf-8"))
    for span in code(page):
        if re.fullmatch(rf"(?:{'|'.join(CHART)})(?:\.[A-Za-z]+)+", span):
            first, *rest = span.split(".")
            inner = values[first]
            for part in rest:
                assert part in inner, span
                inner = inner[part]


def test_the_log_lines_exist() -> None:
    table = sections(PLAYBOOK)["The operator does not start"]
    lines = set(re.findall(r"`([a-z]+(?: [a-z]+)+)`", table))
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/stateward").rglob("*.py"))
    assert len(lines) >= 3
    assert {line for line in lines if f'("{line}"' not in source} == set()
