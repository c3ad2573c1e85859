"""Writes the reference page of the command line."""

import re
from collections.abc import Iterator
from inspect import cleandoc

import click

from stateward import __version__
from stateward.cli.main import cli
from stateward.cli.reference.shapes import SHAPES
from stateward.cli.shared.failures import MEANING

HEAD = """\
<!-- Generated from the commands in src/stateward/cli; renew it with `make docs`. -->
# Command line

`stateward`, or `kubectl stateward` as a plug-in: both are the same program. Commands that read need the rights of the
role `stateward-view`, which Kubernetes' own `view` includes.

* `--context`, `--kubeconfig` and `-n` choose the server and the namespace, as for kubectl. `-A` and `-l` choose the
  clusters of `list`, `status` and `events`, and the installations of `installation list`. The other commands are about
  one cluster: they draw one picture, explain one state, or change something.
* `-o json` and `-o yaml` print the same [document](#documents-for-programs), whose fields are stable. `-o name` prints
  one name a line, `-o wide` more columns.
* Colours are left out without a terminal, and with the environment variable `NO_COLOR`.
* `STATEWARD_DEBUG=1` shows the traceback of a failure, `STATEWARD_OPERATOR_NAMESPACE` names the namespace of the
  operator.
* `stateward completion` prints the completion scripts.
"""


ESCAPED = "\\|"
"""A bar in a cell of a table."""


def page() -> str:
    """Return the page."""
    parts = ["\n".join(exit_codes()), *("\n".join(section(path, command)) for path, command in commands(cli, ()))]
    return "\n\n".join([HEAD.strip(), *parts, "\n".join(documents())]) + "\n"


def exit_codes() -> Iterator[str]:
    """Yield the table of exit codes."""
    yield from ("## Exit codes", "", "| code | meaning |", "| --- | --- |")
    yield from (f"| {code.value} | {meaning} |" for code, meaning in MEANING.items())


def commands(group: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command that is no group, with the words that call it."""
    if not isinstance(group, click.Group):
        yield path, group
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if found is not None:
            yield from commands(found, (*path, name))


def section(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    """Yield the section of one command."""
    name = " ".join(path)
    context = click.Context(command, info_name=f"stateward {name}")
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    yield from (f"## {name}", "", "```sh", usage, "```", "")
    yield from described(command.help or "")
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    if options:
        yield from ("", "| option | meaning |", "| --- | --- |", *(row(option, context) for option in options))


def described(text: str) -> Iterator[str]:
    """Yield the help of a command as Markdown: paragraphs in one line, unfolded parts as code."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", cleandoc(text))):
        yield from [""] if number else []
        if paragraph.startswith("\b"):
            yield from ("```sh", *(line.strip() for line in paragraph.splitlines()[1:]), "```")
        else:
            yield escaped(" ".join(paragraph.split()))


def row(option: click.Option, context: click.Context) -> str:
    """Return an option as a line of the table."""
    record = option.get_help_record(context)
    flags, meaning = record if record is not None else (", ".join(option.opts), "")
    meaning = meaning.replace(__version__, "VERSION")  # The page is the same for every version.
    variables = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
    more = f" Environment: {', '.join(f'`{name}`' for name in variables)}." if variables else ""
    return f"| `{' '.join(flags.split()).replace('|', ESCAPED)}` | {escaped(' '.join(meaning.split()))}{more} |"


def documents() -> Iterator[str]:
    """Yield the fields of each document."""
    yield from ("## Documents for programs", "")
    yield "Fields are only added. [Versions and stability](../stability.md#deprecation) says how one is removed."
    for name, fields in SHAPES.items():
        yield from ("", f"### {name} -o json", "", "| field | meaning |", "| --- | --- |")
        yield from (f"| `{field or '.'}` | {escaped(meaning)} |" for field, meaning in fields.items())


def escaped(text: str) -> str:
    """Return text that Markdown leaves as it is."""
    return text.replace("|", ESCAPED).replace("<", "&lt;").replace("*", "\\*")
