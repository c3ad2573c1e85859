"""What the documents say about commands, states, reasons and metrics is what the code has."""

import re
from pathlib import Path

import pytest
from click import Context, Group
from click.testing import CliRunner

from stateward.cli.main import COMMANDS, cli
from stateward.planning.model.intent import State
from stateward.planning.model.phase import AFTER, Phase

ROOT = Path(__file__).parents[3]
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md")))]


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def commands(page: str) -> set[str]:
    """Return the words after `stateward` in code, which are commands."""
    blocks = re.findall(r"```(?:sh|console)\n(.*?)```", text(page), re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", text(page))
    code = "\n".join([*blocks, *spans])
    return set(re.findall(r"(?:kubectl |bin/|^|\$ )stateward ([a-z]+)", code, re.MULTILINE))


def test_every_command_in_the_documents_exists() -> None:
    found = {page: commands(page) for page in PAGES}
    assert {page: words - COMMANDS.keys() for page, words in found.items() if words - COMMANDS.keys()} == {}
    assert found["README.md"] >= {
        "status",
        "plan",
        "explain",
        "list",
        "pause",
        "resume",
        "validate",
        "manifests",
        "operator",
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_option_in_the_documents_exists(page: str) -> None:
    for line in re.findall(r"^(?:\$ )?(?:kubectl[ -])?stateward .*$", text(page), re.MULTILINE):
        words = line.split("|")[0].split("#")[0].removeprefix("$ ").replace("kubectl stateward", "stateward").split()
        path = words[1:3] if isinstance(cli.get_command(Context(cli), words[1]), Group) else words[1:2]
        shown = CliRunner().invoke(cli, [*path, "--help"]).output
        missing = [word for word in words[2:] if word.startswith("--") and word not in shown]
        assert missing == [], line


def test_the_states_in_the_drawing_are_those_of_the_plan() -> None:
    drawing = next(
        d for d in re.findall(r"```mermaid\n(.*?)```", text("docs/concepts.md"), re.DOTALL) if "stateDiagram" in d
    )
    arrows = re.findall(r"^\s*(\S+) --> ([A-Za-z\[\]*]+)", drawing, re.MULTILINE)
    assert {name for arrow in arrows for name in arrow} - {"[*]"} == {state.value for state in State}


def test_the_phases_in_the_drawing_are_those_that_follow_each_other() -> None:
    drawings = re.findall(r"```mermaid\n(.*?)```", text("docs/concepts.md"), re.DOTALL)
    drawing = next(d for d in drawings if "schedule_rolling" in d)
    arrows = set(re.findall(r"^\s*(\w+) --> (\w+)", drawing, re.MULTILINE))
    said = {phase: phase.value.replace("-", "_") or "none" for phase in Phase}
    assert arrows == {(said[before], said[after]) for before, found in AFTER.items() for after in found}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text(page)):
        if "://" not in target:
            assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_readme_lists_every_page() -> None:
    listed = set(re.findall(r"\(docs/([a-z-]+\.md)\)", text("README.md").partition("\n## Documentation\n")[2]))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - listed == set()


def test_every_make_verb_in_the_documents_exists() -> None:
    verbs = set(re.findall(r"^([a-z0-9-]+):", text("Makefile"), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"(?:^|`|&& )make ([a-z0-9-]+)", text(page), re.MULTILINE)) <= verbs, page
