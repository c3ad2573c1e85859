"""Writes single lines to the container's log, in the format of the start script's lines."""

import contextlib
import os
import select
import time

_STDERR = 2
_END = "/dev/termination-log"
_LIMIT = 4096  # bytes that Kubernetes reads of this file


def say(message: str) -> None:
    """Write one line, or drop it.

    A blocking write would be dangerous: if the log reader hangs and the pipe is full, the agent would no longer answer
    probes or stop the database. The database shares the pipe, so it cannot be made non-blocking; the agent checks for
    room instead.
    """
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"[{stamp}] [stateward] {message}\n".encode(errors="backslashreplace")
    try:
        if select.select([], [_STDERR], [], 0)[1]:
            os.write(_STDERR, line[: select.PIPE_BUF])
    except (OSError, ValueError):
        return  # the log has no reader; that must not end a database


def last_words(message: str) -> None:
    """Write why the container ends: to its log, and to the file from which the cluster's status gets it."""
    say(message)
    with contextlib.suppress(OSError):
        file = os.open(os.environ.get("STATEWARD_LAST_WORDS", _END), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        with os.fdopen(file, "wb") as opened:
            opened.write(message.encode(errors="backslashreplace")[:_LIMIT])
