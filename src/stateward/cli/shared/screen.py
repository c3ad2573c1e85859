"""Output: colours and redrawing on a terminal, unwrapped plain lines elsewhere."""

import json
from typing import Any

import yaml
from rich.console import Console, RenderableType

WIDE = 250
"""Columns without a terminal: lines for programs and logs are not wrapped."""


def console() -> Console:
    """Return the console for the present standard output; square brackets are text, and never markup."""
    found = Console(highlight=False, markup=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, width=WIDE, no_color=True)


def show(what: RenderableType) -> None:
    """Print a rich object; without a terminal, no line has trailing blanks."""
    target = console()
    if target.is_terminal:
        target.print(what)
        return
    with target.capture() as captured:
        target.print(what)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def show_document(document: Any, form: str) -> None:
    """Print a document as `json` or `yaml`."""
    if form == "json":
        print(json.dumps(document, indent=2))
    else:
        print(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), end="")
