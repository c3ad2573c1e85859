"""Texts for users: a problem in the input, with what is needed to correct it, and parts of sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MOST = 10
"""Texts that a sentence has where nothing else is said."""

MOST_PROBLEMS, LONGEST = 20, 1000
"""Problems of one spec in a status or an answer, and characters of each.

The disaster this prevents: a spec with many wrong keys, or with one as long as itself, becomes a status of many
megabytes that nothing can store, and that is made and sent again and again.
"""


class Severity(StrEnum):
    """Whether a problem stops the change or is only a warning."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Problem:
    """One finding about one field; `message` says what is accepted there and why."""

    path: str
    value: Any
    message: str
    severity: Severity = Severity.ERROR
    detail: str = ""
    """The end of the message, if it contains another value."""

    def __str__(self) -> str:
        """Return one line: path, value, message; without a value if there is none."""
        value = "" if self.value is None else f"{_shown(self.value)}: "
        return printable(f"{self.path}: {value}{self.message}{self.detail}")

    @property
    def public(self) -> str:
        """The line without any value, for a status or an event."""
        return printable(f"{self.path}: {self.message}")


def printable(text: str, kept: str = "") -> str:
    """Return a text without characters that move the cursor of a terminal or hide other text: escaped, on one line.

    Characters in `kept` stay: with line breaks the text may have more than one line.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in kept else ascii(each)[1:-1] for each in text)


def first_of(texts: Sequence[str], most: int = MOST, between: str = ", ") -> str:
    """Return the first `most` texts as one, and how many more there are: `a, b and 3 more`."""
    more = len(texts) - most
    return between.join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def short(text: str, longest: int = LONGEST) -> str:
    """Return a text, or the begin of one that is longer than `longest` characters."""
    return text if len(text) <= longest else f"{text[:longest]}..."


def in_short(texts: Sequence[str]) -> str:
    """Return the first problems as one text, and how many more there are."""
    shown = [short(text) for text in texts[:MOST_PROBLEMS]]
    return first_of([*shown, *texts[MOST_PROBLEMS:]], MOST_PROBLEMS, "; ")


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def errors(problems: list[Problem]) -> list[Problem]:
    """Those that stop the change."""
    return [problem for problem in problems if problem.severity is Severity.ERROR]
