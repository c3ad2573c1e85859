"""Output: colours and redrawing on a terminal, unwrapped plain lines elsewhere."""

import json
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Span, Text

from stateward.cli.shared.echo import echo, echo_json, harmless

WIDE = 250
"""Columns without a terminal, if no line is longer."""
LONGEST = 20_000
"""Columns above which a line is wrapped also without a terminal."""


class SafeConsole(Console):
    """A console whose texts have visible escapes in place of characters that a terminal would obey.

    Styles and the console's own control of the terminal are no texts, and stay.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text for a string; its width is that of its escapes."""
        return super().render_str(harmless(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the parts of an object, which may contain others."""
        shown = harmless_text(renderable) if isinstance(renderable, Text) else renderable
        for segment in super().render(shown, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text))


def harmless_text(text: Text) -> Text:
    """Return a text with escapes; each part keeps its style."""
    if harmless(text.plain) == text.plain:
        return text
    pieces = [harmless(each) for each in text.plain]
    places = [0, *accumulate(len(piece) for piece in pieces)]
    made = text.copy()
    made.plain = "".join(pieces)
    made.spans = [Span(places[span.start], places[min(span.end, len(pieces))], span.style) for span in text.spans]
    return made


def console() -> SafeConsole:
    """Return the console for the present standard output; square brackets and colons are text, and never markup."""
    plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    found = SafeConsole(**plain)
    return found if found.is_terminal else SafeConsole(**plain, width=WIDE, no_color=True)


def show(what: RenderableType) -> None:
    """Print a rich object; without a terminal, no line is wrapped or has trailing blanks, for programs and logs."""
    target = console()
    if target.is_terminal:
        target.print(what)
        return
    target.width = LONGEST
    target.width = max(WIDE, Measurement.get(target, target.options, what).maximum)
    with target.capture() as captured:
        target.print(what)
    echo("\n".join(line.rstrip() for line in captured.get().removesuffix("\n").split("\n")))


def show_document(document: Any, form: str) -> None:
    """Print a document as `json` or `yaml`."""
    if form == "json":
        echo_json(json.dumps(document, indent=2))
    else:
        from stateward.api.yaml_writer import to_yaml  # noqa: PLC0415 - its library is slow to import, and few need it

        echo(to_yaml(document), nl=False)
