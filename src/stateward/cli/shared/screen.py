"""Output: colours and redrawing on a terminal, unwrapped plain lines elsewhere."""

import json
from typing import Any

from rich.console import Console, RenderableType
from rich.measure import Measurement

WIDE = 250
"""Columns without a terminal, if no line is longer."""
LONGEST = 20_000
"""Columns above which a line is wrapped also without a terminal."""


def console() -> Console:
    """Return the console for the present standard output; square brackets are text, and never markup."""
    found = Console(highlight=False, markup=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, width=WIDE, no_color=True)


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
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def show_document(document: Any, form: str) -> None:
    """Print a document as `json` or `yaml`."""
    if form == "json":
        print(json.dumps(document, indent=2))
    else:
        from stateward.api.yaml_writer import to_yaml  # noqa: PLC0415 - its library is slow to import, and few need it

        print(to_yaml(document), end="")
