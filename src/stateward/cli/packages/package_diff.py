"""`package diff`: the effect of a new version or of new values, and the resulting pod restarts."""

from collections.abc import Iterator

import click

from stateward.api.values.problem import first_of
from stateward.cli.packages.package_files import checked, load, rendered_plan, values_of
from stateward.cli.shared.output import output_option, print_lines
from stateward.packages.rendering.rendering import Use
from stateward.packages.review.difference import Change, Difference, Fate, Restart, difference

_MARKS = {Fate.ADDED: "+", Fate.CHANGED: "~", Fate.REMOVED: "-"}
_MOST_FIELDS = 8


@click.command()
@click.argument("old")
@click.argument("new", required=False)
@click.option("--before", multiple=True, help="A value of OLD, NAME=VALUE; repeatable.")
@click.option("--before-parameters", default="", help="A YAML file of values of OLD.")
@click.option("-p", "--parameter", "given", multiple=True, help="A value of NEW, NAME=VALUE, over those of OLD.")
@click.option("-P", "--parameters", "file", default="", help="A YAML file of values of NEW, in place of those of OLD.")
@click.option("--plan", default="deploy", show_default=True, help="The plan to render.")
@click.option("--name", default="", help="Name of the installation; default: the package's.")
@click.option("-n", "--namespace", default="default", show_default=True, help="Namespace of the installation.")
@output_option
def diff(old: str, new: str | None, before: tuple[str, ...], given: tuple[str, ...], **rest: str) -> None:
    """Show the effect of a change on an installation.

    OLD and NEW are folders or tarballs; without NEW only the values change. The output lists each object that is added
    (+), changed (~) or removed (-) with its fields, and each workload that restarts its pods, with the reason. It does
    not show values of fields, because they may be secret.
    """
    first = load(old)
    second = load(new) if new else first
    values = values_of(before, rest["before_parameters"])
    name = rest["name"] or first.name
    was = rendered_plan(Use(first, name, rest["namespace"], checked(first, values)), rest["plan"])
    kept = {key: value for key, value in values.items() if key in second.parameters}
    wanted = values_of(given, rest["file"]) if rest["file"] else kept | values_of(given, "")
    will = rendered_plan(Use(second, name, rest["namespace"], checked(second, wanted)), rest["plan"])
    found = difference((r.body for r in was), (r.body for r in will))
    document = {"changes": found.changes, "restarts": found.restarts}
    print_lines(rest["output"], document, [str(change.identity) for change in found.changes], list(shown(found)))


def shown(found: Difference) -> Iterator[str]:
    """Yield a difference as lines."""
    for change in found.changes:
        yield _change(change)
    if not found.changes:
        yield "no object changes"
    for restart in found.restarts:
        yield f"pods of {restart.identity} restart: {_because(restart)}"
    if found.changes and not found.restarts:
        yield "no pod restarts"


def _change(change: Change) -> str:
    fields = first_of(change.fields, _MOST_FIELDS)
    return f"{_MARKS[change.fate]} {change.identity}" + (f": {fields}" if fields else "")


def _because(restart: Restart) -> str:
    reasons = [f"its template changes ({first_of(restart.template, _MOST_FIELDS)})"] if restart.template else []
    reasons += [f"it uses {key.partition(':')[0]}, whose key {key.partition(':')[2]} changes" for key in restart.keys]
    return "; ".join(reasons)
