"""Says what is being done while it is done: no silent minutes.

On a terminal a long step rewrites its line; elsewhere (CI, a file) it says again every ten seconds that it
is still at it.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Generator
from typing import TextIO

_TERMINAL_PERIOD = 0.5
_LOG_PERIOD = 10.0


class Progress:
    """The progress of one verb, on standard error; `quiet` suppresses it."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._begin = time.monotonic()
        self.took: dict[str, float] = {}
        """Seconds that each step took that has ended, by its message."""
        self._lock = threading.Lock()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begin

    def say(self, message: str) -> None:
        """Print one line with the time since the beginning."""
        if not self._quiet:
            with self._lock:
                self._stream.write(f"{self._clear()}[{clock(self.elapsed)}] {message}\n")
                self._stream.flush()

    @contextlib.contextmanager
    def step(self, message: str, detail: Callable[[], str] = str) -> Generator[None]:
        """Announce a step, keep saying that it goes on (with `detail`), and say how long it took."""
        begin = time.monotonic()
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(message, detail, begin, done), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()
        self.took[message] = time.monotonic() - begin
        self.say(f"{message}: done in {clock(self.took[message])}")

    def _tick(self, message: str, detail: Callable[[], str], begin: float, done: threading.Event) -> None:
        terminal = self._stream.isatty()
        if not terminal:
            self.say(f"{message} ...")
        while not done.wait(_TERMINAL_PERIOD if terminal else _LOG_PERIOD):
            line = f"{message} ... {clock(time.monotonic() - begin)} {detail()}".rstrip()
            if not terminal:
                self.say(line)
            elif not self._quiet:
                with self._lock:
                    self._stream.write(f"{self._clear()}[{clock(self.elapsed)}] {line[:100]}")
                    self._stream.flush()

    def _clear(self) -> str:
        return "\r\x1b[K" if self._stream.isatty() else ""


def clock(seconds: float) -> str:
    """Return a readable time span: `4.2 s`, `3 min 05 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
