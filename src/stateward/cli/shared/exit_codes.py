"""The exit codes of all commands: one table, which the reference page and the help print."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes, for scripts."""

    SUCCESS = 0
    FAILURE = 1
    CHANGES = 2
    USAGE = 64
    INTERRUPTED = 130


def verdict_code(*, changes: bool, through: bool) -> ExitCode:
    """Return the code of a plan: whether something would change, and whether all of it would complete."""
    if not through:
        return ExitCode.FAILURE
    return ExitCode.CHANGES if changes else ExitCode.SUCCESS


MEANING = {
    ExitCode.SUCCESS: "success; `plan`: nothing would change",
    ExitCode.FAILURE: "failure, or a problem was found; `plan`: a part of the change would be refused or would wait",
    ExitCode.CHANGES: "`plan`: the cluster or installation would change, and the change would complete",
    ExitCode.USAGE: "invalid command line, as EX_USAGE of sysexits: 2 would look like a change",
    ExitCode.INTERRUPTED: "ended by Ctrl-C",
}
"""What each code means."""
