"""One line at a time to the container's log, in the shape of the start script's lines."""

import os
import select
import time

_STDERR = 2


def say(message: str) -> None:
    """Write one line, or drop it.

    The disaster this prevents: the reader of the log hangs, the pipe is full, and an agent that waits to write into it
    no longer answers probes or stops the database. The pipe belongs to the database too, so it cannot be made
    non-blocking; it is asked for room instead.
    """
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"[{stamp}] [stateward] {message}\n".encode(errors="backslashreplace")
    try:
        if select.select([], [_STDERR], [], 0)[1]:
            os.write(_STDERR, line[: select.PIPE_BUF])
    except (OSError, ValueError):
        return  # nobody reads the log; that must not end a database
