"""Single keys from a terminal, as they are pressed."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Generator
from contextlib import contextmanager, suppress

GONE = "gone"
"""Put in place of a key once the terminal is closed."""


@contextmanager
def pressed() -> Generator[asyncio.Queue[str]]:
    """Give the keys that are pressed while the block runs, and then GONE if the terminal is closed meanwhile.

    The terminal is as before afterwards.
    """
    descriptor, keys = sys.stdin.fileno(), asyncio.Queue[str]()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()

    def read() -> None:
        found = b""
        with suppress(OSError):  # A terminal that was closed.
            found = os.read(descriptor, 64)
        if not found:
            loop.remove_reader(descriptor)
            keys.put_nowait(GONE)
        for key in found.decode(errors="replace"):
            keys.put_nowait(key)

    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, read)
    try:
        yield keys
    finally:
        loop.remove_reader(descriptor)
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
