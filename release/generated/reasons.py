"""The page of all reasons to wait: what ends each wait, and what the user can do."""

from stateward.cli.status.advice import ADVICE

_HEAD = """\
<!-- Generated from src/stateward/cli/status/advice.py; renew it with `make docs`. -->

# Reasons to wait

Each entry of `status.waiting` has one of these reasons. `kubectl stateward explain NAME` adds what it found in the
cluster. Where the last column is empty, waiting is enough.

| reason | the wait ends when | what you can do |
| --- | --- | --- |
"""


def page() -> str:
    """Return the page, one line for each reason, in alphabetical order."""
    rows = (f"| `{reason}` | {cell(a.ends)} | {cell(a.do)} |\n" for reason, a in sorted(ADVICE.items()))
    return _HEAD + "".join(rows)


def cell(text: str) -> str:
    """Return a text as the cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")
