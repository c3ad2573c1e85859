"""No text of others makes a terminal obey: its characters are shown as escapes, wherever a command prints them."""

import ast
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import click
import pytest
import yaml
from rich.console import Group
from rich.text import Text

import stateward.cli
from stateward.cli.main import show_bug, usage_errors
from stateward.cli.shared.echo import echo, echo_json, harmless
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.picture import columns
from stateward.cli.shared.screen import SafeConsole, show, show_document

HOSTILE = (
    *("\x1b[2J", "\x1b]0;title\x07", "\x1b]52;c;YQ==\x1b\\", "\x1b]8;;http://x\x1b\\", "a\rb", "a\bb", "\x00", "\x7f"),
    *("\x9b2J", "\x85", "\u202eback", "\u2066in\u2069", "\u2028", "\u2029", "\u200b", "\ufeff", "\U000e0041", "\udcff"),
)
SCREEN = ("echo.py", "screen.py")
"""The only modules that may write."""


def is_safe(text: str) -> bool:
    return text.replace("\n", "").replace("\t", "").isprintable()


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_terminal_obeys_is_visible(text: str) -> None:
    assert is_safe(harmless(f"a {text}\n\tb"))
    assert harmless(f"a {text}\n\tb").endswith("\n\tb")


def test_escapes_are_those_of_python() -> None:
    assert harmless("\x1b[2J \u202e \r é 日 → █") == r"\x1b[2J \u202e \r é 日 → █"


@pytest.mark.parametrize("text", HOSTILE)
def test_lines_objects_failures_and_documents_have_no_such_character(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    echo(f"name {text}")
    echo(f"name {text}", err=True)
    Failure(f"failed: {text}").show()
    table = columns("NAME", "MESSAGE")
    table.add_row(text, Text(f"says {text}", style="red"))
    table.title = text
    show(Group(table, Text(text), text, columns(text)))
    for document in ({"a": text, text: [text]}, text):
        capsys.readouterr()
        show_document(document, "json")
        printed = capsys.readouterr().out
        assert is_safe(printed)
        assert json.loads(printed) == document
        echo_json(json.dumps(document, ensure_ascii=False))
        printed = capsys.readouterr().out
        assert is_safe(printed)
        assert json.loads(printed) == document
        show_document(document, "yaml")
        printed = capsys.readouterr().out
        assert is_safe(printed)
        assert text == "\udcff" or yaml.safe_load(printed) == document


def test_plain_output_has_no_such_character(capsys: pytest.CaptureFixture[str]) -> None:
    for text in HOSTILE:
        echo(text)
        echo(text, err=True)
        Failure(text).show()
        show(Group(text, Text(text)))
    found = capsys.readouterr()
    assert is_safe(found.out)
    assert is_safe(found.err)


def test_styles_of_the_console_stay_and_cover_the_same_text() -> None:
    written = StringIO()
    console = SafeConsole(file=written, force_terminal=True, color_system="standard", width=80)
    console.print(Text.assemble("a", ("\x1b[2J", "red"), ("b", "green")))
    assert written.getvalue() == "a\x1b[31m\\x1b[2J\x1b[0m\x1b[32mb\x1b[0m\n"


def test_an_escaped_text_stays_in_its_column() -> None:
    written = StringIO()
    table = columns("NAME", "MESSAGE")
    table.add_row(Text("\x1b" * 10), "fine")
    SafeConsole(file=written, width=30).print(table)
    assert all(len(line) <= 30 for line in written.getvalue().splitlines())


def test_an_invalid_command_line_has_no_such_character() -> None:
    with pytest.raises(click.UsageError) as error, usage_errors():
        raise click.UsageError("there is no \x1b[2J")
    assert error.value.format_message() == r"there is no \x1b[2J"


def test_a_traceback_has_no_such_character(capsys: pytest.CaptureFixture[str]) -> None:
    error = ValueError("\x1b[2J")
    show_bug(ValueError, error, error.__traceback__)
    assert capsys.readouterr().err == "ValueError: \\x1b[2J\n"


def writes(tree: ast.AST) -> Iterator[str]:
    """Yield each way to write to a terminal that is not `echo` or `screen`, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name("click"), attr="echo" | "secho" | "echo_via_pager" | "style" | "prompt"):
                yield f"{node.lineno}: click.{node.attr}"
            case ast.Attribute(value=ast.Name("click"), attr="confirm"):
                yield f"{node.lineno}: click.{node.attr}"
            case ast.Name("print"):
                yield f"{node.lineno}: print"
            case ast.Call(func=ast.Name("Console") | ast.Attribute(attr="Console")):
                yield f"{node.lineno}: Console"
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name("sys"), attr="stdout" | "stderr" as stream),
                attr="write" | "buffer" | "writelines",
            ):
                yield f"{node.lineno}: sys.{stream}"
            case ast.ImportFrom(module="click" | "rich" | "sys" as module, names=names):
                bad = {"echo", "secho", "print", "style", "prompt", "confirm", "stdout", "stderr", "get_console"}
                yield from (f"{node.lineno}: {module}.{each.name}" for each in names if each.name in bad)
            case _:
                pass


def test_commands_write_only_what_is_harmless() -> None:
    root = Path(stateward.cli.__file__).parent
    found = [
        f"{path.relative_to(root)}:{each}"
        for path in sorted(root.rglob("*.py"))
        if path not in {root / "shared" / name for name in SCREEN}
        for each in writes(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "click.echo('a')",
        "show(click.echo)",
        "print('a')",
        "Console()",
        "console.Console()",
        "sys.stdout.write('a')",
        "sys.stdout.buffer.write(b'a')",
        "from click import echo",
        "from rich import print",
    ],
)
def test_other_ways_to_write_are_found(text: str) -> None:
    assert list(writes(ast.parse(text)))
