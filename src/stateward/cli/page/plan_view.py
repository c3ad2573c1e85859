"""A plan as the page shows it: the words of `stateward plan`, in parts."""

from msgspec import Struct
from rich.text import Text

from stateward.cli.page.tone import Tone
from stateward.cli.preview import forecast
from stateward.cli.preview.inputs import PlanInputs
from stateward.cli.preview.preview import Kind, Preview
from stateward.cli.shared.ages import about


class Effect(Struct, frozen=True, rename="camel"):
    """The effect on one member."""

    name: str
    effect: str
    mode: str
    takes: str
    because: str


class Section(Struct, frozen=True, rename="camel"):
    """A titled list of lines."""

    title: str
    lines: tuple[str, ...]


class PlanView(Struct, frozen=True, rename="camel"):
    """A whole plan."""

    headline: str
    members: tuple[Effect, ...]
    """The members that change; the others are `unchanged`."""
    unchanged: int
    steps: tuple[str, ...]
    sections: tuple[Section, ...]
    verdict: str
    tone: Tone


def plan_view(found: PlanInputs, shown: Preview) -> PlanView:
    """Return a plan for the page."""
    changing = [change for change in shown.members if change.effect is not Kind.NONE]
    stuck = bool(shown.waits) or forecast.blocked(found, shown)
    return PlanView(
        headline=forecast.headline(found, shown).plain,
        members=tuple(
            Effect(c.name, c.effect.value, c.mode, about(c.seconds), "; ".join(filter(None, (c.because, c.held))))
            for c in changing
        ),
        unchanged=len(shown.members) - len(changing),
        steps=tuple(
            f"{forecast.clock(step.at)} {step.does} {', '.join(step.members)}{f' ({step.why})' if step.why else ''}"
            for step in shown.steps
        ),
        sections=tuple(_sections([*forecast.time(found, shown), *forecast.remarks(found, shown)])),
        verdict=forecast.verdict(found, shown).plain,
        tone=Tone.BAD if shown.refused else Tone.WAIT if stuck else Tone.GOOD,
    )


def _sections(lines: list[Text]) -> list[Section]:
    """Return the lines below each title; a title is in capitals, as on the terminal."""
    found = list[Section]()
    for line in lines:
        if line.plain.isupper():
            found.append(Section(line.plain.capitalize(), ()))
        elif found:
            found[-1] = Section(found[-1].title, (*found[-1].lines, line.plain.strip()))
    return found
