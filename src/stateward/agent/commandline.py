"""The command line: `run`, `copy` and `version`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from stateward.agent import VERSION, options

_USAGE = """\
usage: python -m stateward.agent run OPTION VALUE ... -- COMMAND
       python -m stateward.agent copy DIRECTORY
       python -m stateward.agent version

The process manager of a database pod. `copy` writes it with an interpreter of its own into a directory.
Options of run:
"""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    words, command = split(arguments)
    match words:
        case ["version"]:
            print(VERSION)  # noqa: T201 - the answer of the command
        case ["copy", target]:
            from stateward.agent.process import transplant  # noqa: PLC0415 - what it needs is not in the copy

            print(transplant.copy(Path(target)))  # noqa: T201 - the answer of the command
        case ["-h" | "--help"] | [_, "-h" | "--help"]:
            print(_USAGE + options.listed())  # noqa: T201 - what was asked for
        case ["run", *_] if not command:
            return _refuse("after -- the command that starts the database is missing")
        case ["run", *rest]:
            try:
                settings = options.settings(rest, command)
            except options.UsageError as error:
                return _refuse(str(error))
            from stateward.agent import agent  # noqa: PLC0415 - `copy` and `version` do without

            return agent.run(settings, arguments)
        case _:
            return _refuse(f"{' '.join(words[:1]) or 'nothing'!r} is not one of these commands")
    return 0


def _refuse(why: str) -> int:
    print(f"{_USAGE}{options.listed()}\n\nerror: {why}", file=sys.stderr)  # noqa: T201 - for who wrote the command
    return 2


def split(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the arguments before `--`, and the command after it."""
    words = list(arguments)
    if "--" not in words:
        return words, ()
    at = words.index("--")
    return words[:at], tuple(words[at + 1 :])
