"""Where output goes: colours and redrawing on a terminal, whole plain lines everywhere else."""

import json
from typing import Any

import yaml
from rich.console import Console, RenderableType

WIDE = 250
"""Columns when nobody's terminal limits them: lines that programs and logs get are not folded."""


def console() -> Console:
    """Return the console for standard output as it is now."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=WIDE, no_color=True)


def show(what: RenderableType) -> None:
    """Print something rich; a table does not leave blanks at the ends of lines."""
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
