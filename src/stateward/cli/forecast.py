"""A preview as people read it."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stateward.api.problem import Severity
from stateward.api.quantity import format_quantity
from stateward.cli.look import Look
from stateward.cli.picture import columns
from stateward.cli.preview import Kind, Preview

STYLES = {Kind.NONE: "dim", Kind.CREATE: "green", Kind.REMOVE: "red", Kind.REPLACE: "magenta", Kind.RECREATE: "yellow"}


def forecast(found: Look, shown: Preview) -> RenderableType:
    """Return the whole forecast: effects, order, volumes, and everything that is not as it should be."""
    parts: list[RenderableType] = [headline(found, shown)]
    tables = (members(shown), order(shown), volumes(shown))
    for title, table in zip(("", "ORDER", "VOLUMES"), tables, strict=True):
        if table.row_count:
            parts += [Text(), *([Text(title, style="bold")] if title else []), table]
    for line in remarks(found, shown):
        parts += [Text(), line] if line.plain.isupper() else [line]
    parts += [Text(), verdict(found, shown)]
    return Group(*parts)


def headline(found: Look, shown: Preview) -> Text:
    """Return which cluster it is about, and what becomes of its version."""
    version = shown.wanted if shown.deployed in ("", shown.wanted) else f"{shown.deployed} → {shown.wanted}"
    new = "" if found.exists else " (a new cluster)"
    return Text.assemble(
        (shown.cluster, "bold"), f"  {found.cluster.kind} in namespace {shown.namespace}, {version}{new}"
    )


def members(shown: Preview) -> Table:
    """Return one line per member."""
    table = columns("MEMBER", "EFFECT", "MODE", "BECAUSE")
    for change in shown.members:
        held = f"held back: {change.held}" if change.held else ""
        because = "; ".join(part for part in (change.because, held) if part)
        table.add_row(change.name, Text(change.effect.value, STYLES.get(change.effect, "")), change.mode, because)
    return table


def order(shown: Preview) -> Table:
    """Return the steps, numbered."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for number, step in enumerate(shown.steps, 1):
        why = f" ({step.why})" if step.why else ""
        table.add_row(f"{number:>3}.", f"{step.does} {', '.join(step.members)}{why}")
    return table


def volumes(shown: Preview) -> Table:
    """Return the volumes that grow in place."""
    table = columns("MEMBER", "FROM", "TO")
    for change in shown.volumes:
        table.add_row(change.member, format_quantity(change.before), format_quantity(change.after))
    return table


def remarks(found: Look, shown: Preview) -> Iterator[Text]:
    """Yield what is refused, what would wait, what is doubtful, and what could not be seen."""
    warnings = [str(p) for p in found.problems if p.severity is Severity.WARNING]
    sections = (
        (
            "REFUSED",
            "bold red",
            [f"{r.subject}: {r.message}" if r.reason != "InvalidSpec" else r.message for r in shown.refused],
        ),
        ("WOULD WAIT", "yellow", [f"{wait.subject}: {wait.message}" for wait in shown.waits]),
        ("WARNINGS", "yellow", warnings),
        ("NOTES", "dim", list(found.notes)),
    )
    for title, style, lines in sections:
        if lines:
            yield Text(title, style="bold")
            yield from (Text(f"  {line}", style=style) for line in lines)


def verdict(found: Look, shown: Preview) -> Text:
    """Return the last line: what it comes to."""
    if shown.refused:
        return Text("not everything would go through; nothing was changed", style="bold red")
    if shown.waits:
        return Text("it would begin, and wait before its end; nothing was changed", style="bold yellow")
    busy = [change for change in shown.members if change.effect is not Kind.NONE]
    if not busy:
        return Text("nothing would happen to any member", style="green")
    paused = found.cluster.spec.update is not None and found.cluster.spec.update.paused
    tail = "; it is paused, so nothing begins before it is resumed" if paused else ""
    some = f"{len(busy)} of {len(shown.members)} members would change, the others would not be touched"
    count = some if len(busy) < len(shown.members) else f"all {len(busy)} members would change"
    return Text(f"{count}; nothing was changed yet{tail}", style="green")
