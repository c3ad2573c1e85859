"""The tour on a terminal: the cluster, its timeline, and the keys, redrawn while time passes; pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stateward.cli.page.timeline import Seen
from stateward.cli.page.tone import state_word
from stateward.cli.shared.picture import HEALTH as HEALTH_STYLES
from stateward.cli.shared.picture import state_style, version
from stateward.cli.shared.screen import SafeConsole
from stateward.cli.status.news import WAITING
from stateward.cli.tour.controls import Control
from stateward.cli.tour.player import Frame
from stateward.cli.tour.verdict import Verdict
from stateward.timeline.chart import legend, lines
from stateward.timeline.phases import STYLES

NAMES, STATES, VERSIONS = 13, 11, 8
"""Columns of names, states and versions."""
PLAIN = SafeConsole(color_system=None)
"""Measures how texts wrap."""


@dataclass(frozen=True, slots=True)
class Around:
    """What the screen shows besides the cluster; `width` and `height` are those of the terminal."""

    controls: tuple[Control, ...]
    url: str
    pace: str
    width: int
    height: int
    result: Verdict | None = None


def screen(frame: Frame, around: Around) -> RenderableType:
    """Return the whole screen."""
    parts = [
        headline(frame, around),
        *([one_line(("page      ", "bold"), (around.url, "underline"))] if around.url else []),
        Text(),
        summary(frame),
        numbers(frame),
        one_line(("doing     ", "bold"), frame.cluster.status.activity),
        Text(),
        *members(frame, around.width),
        letters(frame),
        Text(),
    ]
    below = [*verdict_line(around), keys(around.controls)]
    room = around.height - len(parts) - sum(_lines(text, around.width) for text in below)
    shown = [*fitting([*waits(frame), *latest(frame.seen)], room - 1, around.width)]
    return Group(*parts, *shown, *([Text()] if room > 0 else []), *below)


def headline(frame: Frame, around: Around) -> Text:
    """Return the title with the time."""
    name = f"  {frame.cluster.kind} {frame.cluster.metadata.name}  "
    return one_line(("Stateward tour", "bold"), name, (around.pace, "cyan"))


def summary(frame: Frame) -> Text:
    """Return version, health and members."""
    status = frame.cluster.status
    done = sum(member.version == frame.cluster.spec.version for member in status.member_states)
    health = status.health or "unknown"
    return one_line(
        ("version   ", "bold"),
        f"{version(frame.cluster)}, {done} of {len(status.member_states)} members have it   health ",
        (health, HEALTH_STYLES.get(health, "magenta")),
        f"   {status.ready} ready",
        (f"   without power: {', '.join(frame.lost)}" if frame.lost else "", "bold red"),
    )


def numbers(frame: Frame) -> Text:
    """Return what the clients of the database experience."""
    writes = frame.writes
    whole = writes.found == writes.acknowledged
    return one_line(
        ("documents ", "bold"),
        f"{writes.acknowledged:,} acknowledged, ",
        ("all found", "green") if whole else (f"{writes.found:,} found", "bold red"),
        f"   {writes.per_second:,.0f}/s   red {writes.red:.0f} s   longest without a write {writes.longest:.0f} s",
    )


def members(frame: Frame, width: int) -> Iterator[Text]:
    """Yield a line for each band and member, with its part of the timeline, and the axis."""
    timeline, name = frame.timeline, frame.cluster.metadata.name
    states = {member.name: member for member in frame.cluster.status.member_states}
    gone = {row.name for row in timeline.rows} - {name}
    for line in lines(timeline, max(20, width - NAMES - STATES - VERSIONS - 4))[:-1]:
        found = states.get(line.label)
        state = Text("gone", "dim") if line.label in gone else Text()
        if found is not None:
            state = Text(state_word(found), state_style(found))
        state.pad_right(max(0, STATES - len(state)))
        label = f"{line.label.removeprefix(f'{name}-'):<{NAMES}} "
        yield one_line(label, state, f" {found.version if found else '':<{VERSIONS}} ", *line.pieces)


def one_line(*parts: str | Text | tuple[str, str]) -> Text:
    """Return a text that is cut at the end of its line."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def letters(frame: Frame) -> Text:
    """Return what the letters of the timeline mean, in one line."""
    made = Text(" " * (NAMES + 1), no_wrap=True, overflow="ellipsis", style="dim")
    for phase, _ in legend(frame.timeline):
        made.append(f"{STYLES[phase].letter} {phase.value}   ")
    return made


def waits(frame: Frame) -> Iterator[Text]:
    """Yield a text for each wait, those for the same thing together."""
    name, held = frame.cluster.metadata.name, dict[str, list[str]]()
    for wait in frame.cluster.status.waiting:
        held.setdefault(wait.message, []).append(wait.subject.removeprefix(f"{name}-"))
    for message, subjects in held.items():
        yield Text.assemble((" waits ", "yellow"), f"{', '.join(subjects)}: {message}")


def latest(seen: Seen) -> Iterator[Text]:
    """Yield the latest changes, the newest first, without waits: the present ones are above."""
    for change in reversed(seen.changes):
        if not change.text.startswith(WAITING):
            yield one_line((f"{clock(change.at - seen.begin):>6} {change.text}", "dim"))


def fitting(texts: Iterable[Text], room: int, width: int) -> Iterator[Text]:
    """Yield the texts that fit into a number of lines; a longer one is cut to the lines that are left."""
    for text in texts:
        if room <= 0:
            return
        needed = 1 if text.no_wrap else len(text.wrap(PLAIN, width))
        if needed > room:
            text.no_wrap, text.overflow, needed = True, "ellipsis", 1
        room -= needed
        yield text


def verdict_line(around: Around) -> Iterator[Text]:
    """Yield the verdict, if there is one."""
    if around.result is not None:
        yield Text(around.result.text, "bold green" if around.result.good else "bold red")


def keys(controls: tuple[Control, ...]) -> Text:
    """Return the line of keys."""
    line = Text()
    for control in (
        *controls,
        Control("open", "o", "Open the page"),
        Control("quit", "q", "Quit, and print the timeline"),
    ):
        line.append(f" {control.key} ", "reverse" if control.enabled else "dim")
        line.append(f"\N{NO-BREAK SPACE}{control.label.replace(' ', chr(160))}", "" if control.enabled else "dim")
        line.append("   ")
    return line


def _lines(text: Text, width: int) -> int:
    return -(-len(text) // max(1, width))


def chart(frame: Frame, width: int) -> RenderableType:
    """Return the timeline of the whole story, as it is printed at the end."""
    legend_line, marks = Text(style="dim"), Table.grid(padding=(0, 2, 0, 0))
    for phase, meaning in legend(frame.timeline):
        legend_line.append(f"{STYLES[phase].letter} {meaning}   ")
    for mark in frame.timeline.marks:
        marks.add_row(clock(mark.at - frame.seen.begin), mark.text)
    return Group(Text("TIMELINE", style="bold"), *members(frame, width), legend_line, Text(), marks)


def clock(seconds: float) -> str:
    """Return minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
