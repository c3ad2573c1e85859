"""Writes single lines to the container's log, in the format of the start script's lines."""

import os
import select
import time

_STDERR = 2


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
