"""The lines that `fdbcli` prints beside an answer, on either channel: they are of no command, and judge none.

A command that takes longer than five seconds (`status` seven) prints a warning, and then how the database is. Such a
line can look like the failure of a command that succeeds ("Unable to ..."). Only these lines are left out; any other
line belongs to the answer. The texts are those of versions 7.1 and 7.3.
"""

import re

ASIDES = tuple(
    re.compile(text)
    for text in (
        r"WARNING: Long delay \(Ctrl-C to interrupt\)",
        r"WARNING: One or more of the processes in the cluster is incompatible with this version of fdbcli\.",
        r"WARNING: The cluster file is not up to date\. Type 'status' for more information\.",
        r"The database is available\.",
        r"The database is available, but has issues \(type 'status' for more information\)\.",
        r"The database is unavailable; type `status' for more information\.",
        r"Unable to determine database state, type 'status' for more information\.",
        r"Unable to communicate with the cluster controller at \S+ to get status\.",
        r"Using cluster file `[^']*'\.",
    )
)


def without_asides(output: str) -> str:
    """Return an output without the lines of the program that belong to no answer."""
    return "\n".join(line for line in output.splitlines() if not is_aside(line))


def is_aside(line: str) -> bool:
    """Return whether a line is an aside."""
    return any(aside.fullmatch(line.strip()) for aside in ASIDES)
