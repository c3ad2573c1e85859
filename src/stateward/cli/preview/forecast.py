"""A preview as readable text."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stateward.api.values.problem import Severity
from stateward.api.values.quantity import format_quantity
from stateward.cli.preview.inputs import PlanInputs
from stateward.cli.preview.pacing import not_known
from stateward.cli.preview.preview import Kind, Preview
from stateward.cli.shared.ages import about
from stateward.cli.shared.picture import columns

NO_PLACE = "it would stall without losing a member: a new pod cannot start (see WARNINGS)"
NEW_PODS = frozenset({"create", "recreate", "replace"})
"""Steps that create a new pod."""
NO_END = "the duration is not known: it would wait before its end"
STYLES = {
    Kind.NONE: "dim",
    Kind.CREATE: "green",
    Kind.REMOVE: "red",
    Kind.REPLACE: "magenta",
    Kind.RECREATE: "yellow",
    Kind.RESTART: "cyan",
}


def forecast(found: PlanInputs, shown: Preview, *, wide: bool = False) -> RenderableType:
    """Return the whole forecast: effects, order, volumes, and all problems; the wide one has places of members too."""
    parts: list[RenderableType] = [headline(found, shown)]
    tables = (members(shown, found if wide else None), order(shown), volumes(shown))
    for title, table in zip(("", "ORDER", "VOLUMES"), tables, strict=True):
        if table.row_count:
            parts += [Text(), *([Text(title, style="bold")] if title else []), table]
    for line in time(found, shown):
        parts += [Text(), line] if line.plain.isupper() else [line]
    for line in remarks(found, shown):
        parts += [Text(), line] if line.plain.isupper() else [line]
    parts += [Text(), verdict(found, shown)]
    return Group(*parts)


def headline(found: PlanInputs, shown: Preview) -> Text:
    """Return the cluster and the change of its version."""
    version = shown.wanted if shown.deployed in ("", shown.wanted) else f"{shown.deployed} → {shown.wanted}"
    new = "" if found.exists else " (a new cluster)"
    return Text.assemble(
        (shown.cluster, "bold"), f"  {found.cluster.kind} in namespace {shown.namespace}, {version}{new}"
    )


def members(shown: Preview, places: PlanInputs | None = None) -> Table:
    """Return one line per member, with its pool, node and zone if `places` are given."""
    more = ("POOL", "NODE", "ZONE") if places is not None else ()
    pods = {member.name: member.pod for member in places.observed.members} if places is not None else {}
    table = columns("MEMBER", "EFFECT", "MODE", "TAKES", *more, "BECAUSE")
    for change in shown.members:
        held = f"held back: {change.held}" if change.held else ""
        because = "; ".join(part for part in (change.because, held) if part)
        effect = Text(change.effect.value, STYLES.get(change.effect, ""))
        pod = pods.get(change.name)
        place = (change.pool, pod.node if pod else "", pod.zone if pod else "") if more else ()
        table.add_row(change.name, effect, change.mode, about(change.seconds), *place, because)
    return table


def order(shown: Preview) -> Table:
    """Return the numbered steps, each with its start time."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for number, step in enumerate(shown.steps, 1):
        why = f" ({step.why})" if step.why else ""
        table.add_row(f"{number:>3}.", clock(step.at), f"{step.does} {', '.join(step.members)}{why}")
    return table


def clock(seconds: float) -> str:
    """Return a time after the start as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"+{hours}:{minutes:02}:{rest:02}" if hours else f"+{minutes}:{rest:02}"


def time(found: PlanInputs, shown: Preview) -> Iterator[Text]:
    """Yield the total duration, its sources, and what it does not include."""
    if not shown.steps:
        return
    yield Text("TIME", style="bold")
    total = f"about {about(shown.seconds)}, if all goes well" if shown.seconds is not None else NO_END
    if blocked(found, shown):
        total = NO_PLACE
    yield Text(f"  {total}")
    yield from (Text(f"  {line}", style="dim") for line in found.pacing.rests_on)
    yield from (Text(f"  not in it: {line}", style="dim") for line in unknowns(found, shown))


def blocked(found: PlanInputs, shown: Preview) -> bool:
    """Return whether a step needs a new pod that no node can run, as far as that is known."""
    return bool(found.obstacles) and any(step.does in NEW_PODS for step in shown.steps)


def unknowns(found: PlanInputs, shown: Preview) -> tuple[str, ...]:
    """Return what the forecast of this change cannot know."""
    joins = any(step.does == "create" for step in shown.steps) and found.exists
    grows = bool(shown.volumes) and not found.pacing.grow_known
    together = any(step.everyone for step in shown.steps) and not found.pacing.durations.together
    return not_known(found.observed, grows=grows, joins=joins, together=together)


def volumes(shown: Preview) -> Table:
    """Return the volumes that are expanded in place."""
    table = columns("MEMBER", "FROM", "TO")
    for change in shown.volumes:
        table.add_row(change.member, format_quantity(change.before), format_quantity(change.after))
    return table


def remarks(found: PlanInputs, shown: Preview) -> Iterator[Text]:
    """Yield refusals, waits, warnings and missing data."""
    warnings = [str(p) for p in (*found.problems, *found.obstacles) if p.severity is Severity.WARNING]
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


def verdict(found: PlanInputs, shown: Preview) -> Text:
    """Return the last line: the result."""
    if shown.refused:
        return Text("part of the change is refused; nothing was changed", style="bold red")
    if blocked(found, shown):
        return Text("a new pod would not start, and the change would stall; nothing was changed", style="bold yellow")
    if shown.waits:
        return Text("the change would start, and wait before its end; nothing was changed", style="bold yellow")
    busy = [change for change in shown.members if change.effect is not Kind.NONE]
    if not busy:
        return Text("no member would change", style="green")
    paused = found.cluster.spec.update is not None and found.cluster.spec.update.paused
    tail = "; it is paused, so nothing starts until it is resumed" if paused else ""
    some = f"{len(busy)} of {len(shown.members)} members would change, the others would not"
    count = (
        some
        if len(busy) < len(shown.members)
        else (f"all {len(busy)} members would change" if len(busy) > 1 else "the only member would change")
    )
    return Text(f"{count}; nothing was changed yet{tail}", style="green")
