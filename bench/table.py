"""The one table that all measurements end in."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One figure: what was measured, how much it is, what is aimed at (empty: nothing), and what to know about it."""

    what: str
    value: str
    aim: str = ""
    note: str = ""


HEAD = Row("figure", "measured", "aim", "remarks")


def render(rows: Iterable[Row]) -> str:
    """Return the rows as a Markdown table with aligned columns, so that it can go into a document as it is."""
    table = [HEAD, *rows]
    widths = [max(3, *(len(row[column]) for row in table)) for column in range(len(HEAD))]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(cells, widths) for cells in (table[0], rule, *table[1:]))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
