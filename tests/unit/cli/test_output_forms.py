"""The forms of the output, held to the reference: stable documents, names, selection, colours."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stateward.cli.reference.page import page
from stateward.cli.reference.shapes import AS_API, SHAPES
from tests.unit.cli.diagnosis.objects import event, pod, with_history
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.preview.test_plan_command import CHANGED
from tests.unit.cli.samples import GOOD, cluster
from tests.unit.packages.samples import files

ROOT = Path(__file__).parents[3]


def paths(value: Any, at: str = "") -> Iterator[str]:
    """Yield the path of each field of a document."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from paths(inner, f"{at}.{name}" if at else name)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from paths(inner, f"{at}[]")
    else:
        yield at


def undocumented(document: Any, shape: dict[str, str]) -> set[str]:
    """Return the fields of a document that the reference does not have."""
    opened = tuple(path for path in shape if shape[path].endswith(AS_API) or path in {"refused", "waits", "member"})
    open_lists = tuple(f"{path}[]" for path in opened)

    def known(path: str) -> bool:
        bare = path.removesuffix("[]")
        begun = any(other.startswith((f"{bare}[]", f"{bare}.")) for other in shape)  # empty, or null
        return bare in shape or begun or path.startswith((*(f"{o}." for o in opened if o), *open_lists))

    return {path for path in paths(document) if path and not known(path)}


def missing(document: Any, shape: dict[str, str]) -> set[str]:
    """Return the fields of the first level that the reference has and a document does not."""
    if not isinstance(document, dict):
        return set()
    always = (path for path, meaning in shape.items() if not meaning.startswith("without a MEMBER"))
    first = {path.split(".")[0].split("[")[0] for path in always} - {"member", ""}
    return first - document.keys()


@pytest.fixture
def sources(api: FakeApi, tmp_path: Path) -> Path:
    """Add what the commands read; return the folder with files."""
    with_history(api)
    api.add("pods", pod())
    about = {"kind": "Pod", "name": "logs-hot-1-0", "uid": "uid-logs-hot-1-0"}
    api.add("events", event(about, "2026-11-21T11:59:50.000000Z", "started"))
    (tmp_path / "change.yaml").write_text(CHANGED % "2.19.5")
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(GOOD.replace("replicas: 3", "replicas: -1"))
    for name, content in files().items():
        (tmp_path / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "package" / name).write_bytes(content)
    return tmp_path


LINES = {
    "status": ["status logs"],
    "list": ["list"],
    "explain": ["explain logs", "explain logs hot-1"],
    "plan": ["plan -f {0}/change.yaml", "plan logs"],
    "timeline": ["timeline logs"],
    "events": ["events logs"],
    "validate": ["validate -f {0}/good.yaml", "validate -f {0}/bad.yaml"],
    "package verify": ["package verify {0}/package"],
    "package diff": ["package diff {0}/package -p COUNT=7"],
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in LINES.items() for line in lines])
def test_documents_have_the_fields_of_the_reference_and_no_others(
    run: Run, sources: Path, name: str, line: str
) -> None:
    words = line.format(sources).split()
    found = json.loads(run(*words, "-o", "json").stdout)
    assert undocumented(found, SHAPES[name]) == set()
    assert missing(found, SHAPES[name]) == set()
    assert yaml.safe_load(run(*words, "-o", "yaml").stdout) == found


@pytest.mark.parametrize("line", ["status logs", "list", "explain logs", "timeline logs"])
def test_names_are_those_that_kubectl_prints(run: Run, line: str) -> None:
    assert run(*line.split(), "-o", "name").stdout == "opensearchcluster.stateward.dev/logs\n"


def test_wide_tables_have_more_columns(run: Run) -> None:
    for line, column in (("status logs", "VOLUME"), ("list", "LABELS"), ("plan logs", "ZONE")):
        assert column not in run(*line.split()).output.replace("NODE  ZONE", "")
        assert column in run(*line.split(), "-o", "wide").output


def test_lists_choose_by_labels(run: Run, api: FakeApi) -> None:
    other = cluster()
    other["metadata"] |= {"name": "audit", "labels": {"team": "security"}}
    api.add("osclusters", other)
    said = run("list", "-l", "team=security", "-o", "name")
    assert said.stdout == "opensearchcluster.stateward.dev/audit\n"
    empty = run("list", "-l", "team=none")
    assert "there is no cluster with the labels team=none in namespace 'default'" in empty.stderr


def test_no_color_leaves_colours_out_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from io import StringIO

    from rich.text import Text

    from stateward.cli.shared import screen

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    shown: dict[str, str] = {}
    for value in ("", "1"):
        monkeypatch.setenv("NO_COLOR", value)
        written = Terminal()
        monkeypatch.setattr("sys.stdout", written)
        screen.show(Text("red", style="red"))
        shown[value] = written.getvalue()
    assert "\x1b[31m" in shown[""]
    assert shown["1"] == "red\n"


def test_the_reference_page_is_what_the_commands_say() -> None:
    assert (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "kubectl"])
def test_completion_prints_a_script_for_each_shell(run: Run, shell: str) -> None:
    said = run("completion", shell)
    assert said.exit_code == 0
    assert "_STATEWARD_COMPLETE" in said.stdout
