"""The option `-o` of all commands that read: a table for people, the rest for programs.

`json` and `yaml` have the same document; its fields are stable, see the reference. `name` prints KIND.GROUP/NAME, one a
line, as kubectl does. `wide` is the table with more columns.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import GROUP
from stateward.cli.shared import screen
from stateward.cli.shared.echo import echo

Command = TypeVar("Command", bound=Callable[..., Any])

TABLE, WIDE, JSON, YAML, NAME = FORMS = ("table", "wide", "json", "yaml", "name")
LABELS = "Only objects with these labels, as for kubectl: `team=search`, `tier!=test`, `team in (a, b)`."


def output_option(command: Command) -> Command:
    """Add the option `-o` (`output`)."""
    said = "Form of the output; json and yaml are stable for programs."
    return click.option("-o", "--output", type=click.Choice(FORMS), default=TABLE, show_default=True, help=said)(
        command
    )


def selection_options(command: Command) -> Command:
    """Add the options of lists: all namespaces (`all_namespaces`) and labels (`selector`)."""
    command = click.option("-l", "--selector", default="", metavar="LABELS", help=LABELS)(command)
    return click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")(command)


def print_output(form: str, document: Any, names: Iterable[str], table: Callable[[], object]) -> None:
    """Print in the form that was chosen: `table` prints the one for people, also if it is wide."""
    if form in (JSON, YAML):
        screen.show_document(msgspec.to_builtins(document), form)
    elif form == NAME:
        for name in names:
            echo(name)
    else:
        table()


def print_lines(form: str, document: Any, names: Iterable[str], lines: Sequence[str]) -> None:
    """Print in the form that was chosen; the one for people is lines of text."""
    print_output(form, document, names, lambda: [echo(line) for line in lines])


def name_of(cluster: Cluster) -> str:
    """Return the name of a cluster as kubectl prints it."""
    return qualified(cluster.kind, cluster.metadata.name)


def plural_of(kind: str) -> str:
    """Return the plural of a kind of objects, such as StorageClasses or NetworkPolicies."""
    if kind.endswith("y"):
        return f"{kind[:-1]}ies"
    return f"{kind}{'es' if kind.endswith('s') else 's'}"


def qualified(kind: str, name: str) -> str:
    """Return the name of one of Stateward's objects as kubectl prints it."""
    return f"{kind.lower()}.{GROUP}/{name}"
