r"""Prints lines: the only way, beside the console for rich objects, in which a command writes to a terminal.

Names, messages, annotations, answers of databases and files of packages come from others. A terminal obeys some of
their characters: they move the cursor, replace what is above, change the clipboard, or turn the order of letters. Such
characters are shown as escapes, such as `\x1b`. So a line here has no style: what has one is a rich object for
`screen.show`, which keeps the style apart from the text.
"""

import struct
import sys
from typing import IO, Any

import click

from stateward.api.values.problem import printable

LAYOUT = "\n\t"
"""Characters of a text with more than one line or column."""


def harmless(text: str) -> str:
    """Return a text with visible escapes in place of all that a terminal would obey, but line breaks and tabs."""
    return printable(text, LAYOUT)


def harmless_json(text: str) -> str:
    """Return JSON that has the same values, and the escapes of JSON in place of all that a terminal would obey."""
    if harmless(text) == text:
        return text
    return "".join(each if each.isprintable() or each in LAYOUT else _units(each) for each in text)


def _units(character: str) -> str:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{unit:04x}" for (unit,) in struct.iter_unpack(">H", encoded))


def echo(text: object = "", *, err: bool = False, nl: bool = True, file: IO[Any] | None = None) -> None:
    """Print a text with escapes, to standard output or with `err` to standard error; without `nl`, no line ends."""
    click.echo(harmless(str(text)), err=err, nl=nl, file=file)


def echo_json(text: str | bytes) -> None:
    """Print a document of JSON; its values are exact."""
    click.echo(harmless_json(text.decode() if isinstance(text, bytes) else text))


def write_bytes(content: bytes) -> None:
    """Write a file that a command was asked to write to standard output, exactly as it is."""
    sys.stdout.buffer.write(content)
