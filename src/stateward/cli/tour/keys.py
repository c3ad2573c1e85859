"""Single keys from a terminal, as they are pressed."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def pressed() -> Generator[asyncio.Queue[str]]:
    """Give the keys that are pressed while the block runs; the terminal is as before afterwards."""
    descriptor, keys = sys.stdin.fileno(), asyncio.Queue[str]()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()

    def read() -> None:
        for key in os.read(descriptor, 64).decode(errors="replace"):
            keys.put_nowait(key)

    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, read)
    try:
        yield keys
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
