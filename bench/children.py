"""Processes that a measurement needs: started, spoken to, and ended by their own handle."""

import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_GRACE = 30
LOGS = Path(".artifacts/bench")
"""Where the processes write what they say."""


class Child(subprocess.Popen[str]):
    """A process whose log is a file."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / f"{name}.log"
        with self.log.open("w") as log:
            super().__init__(command, stdout=log, stderr=log, text=True, env=environment)

    def require(self) -> None:
        """Raise RuntimeError with the last it said when the process has ended."""
        if self.poll() is not None:
            last = self.log.read_text(errors="replace").strip().splitlines()[-3:]
            raise RuntimeError(f"{self.log.stem} ended with {self.returncode}: {' '.join(last) or 'it said nothing'}")

    def wait_for(self, text: str, seconds: float) -> str:
        """Wait until the process has said a whole line that begins with `text`, and return what follows.

        Raise TimeoutError after `seconds`.
        """
        deadline = time.monotonic() + seconds
        while (said := self._said(text)) is None:
            self.require()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.log.stem} did not say {text!r} within {seconds:.0f} s; see {self.log}")
            time.sleep(0.1)
        return said

    def _said(self, text: str) -> str | None:
        lines = self.log.read_text(errors="replace").splitlines(keepends=True)
        found = (line for line in lines if line.startswith(text) and line.endswith("\n"))
        return next((line.removeprefix(text).strip() for line in found), None)


@contextmanager
def child(name: str, *words: str) -> Generator[Child]:
    """Run a module of this package as a process while the block runs."""
    with program(name, [sys.executable, "-m", f"bench.{name}", *words]) as process:
        yield process


@contextmanager
def program(name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Generator[Child]:
    """Run any program as a process while the block runs; `name` is that of its log."""
    process = Child(name, command, environment)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
