"""The sandbox's own figures: how long it takes to come up, how much memory it takes when nothing happens."""

import os
import platform
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox import report
from sandbox.api import Sandbox

# After this many seconds the start-up work of the controllers is over.
_SETTLE = 30
_NAME = "bench"


@dataclass(frozen=True)
class Figures:
    """Times in seconds, memory in bytes; `cold` is None where it was not measured."""

    cold: float | None
    warm: float
    again: float
    down: float
    memory: int


def measure(*, cold: bool) -> Figures:
    """Bring a sandbox of its own up and down, print the figures and return them."""
    cold_time = _cold() if cold else None
    sandbox = Sandbox(_NAME)
    sandbox.down()
    try:
        warm = _timed(sandbox)
        again = _timed(sandbox)
        time.sleep(_SETTLE)  # idle is a state that takes time, not an event that can be awaited
        memory = sum(each.memory for each in report.components(sandbox.layout))
    finally:
        begin = time.monotonic()
        sandbox.down()
        down = time.monotonic() - begin
    figures = Figures(cold_time, warm, again, down, memory)
    _print(figures)
    return figures


def _timed(sandbox: Sandbox) -> float:
    begin = time.monotonic()
    sandbox.up(nodes=3)
    return time.monotonic() - begin


def _cold() -> float:
    with _empty_caches(), Sandbox(_NAME) as sandbox:
        return _timed(sandbox)


@contextmanager
def _empty_caches() -> Generator[None]:
    """Let everything be built from nothing but the downloaded Go modules."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as scratch:
        changed = {"STATEWARD_CACHE": f"{scratch}/stateward", "GOCACHE": f"{scratch}/go"}
        before = {name: os.environ.get(name) for name in changed}
        os.environ.update(changed)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _print(figures: Figures) -> None:
    machine = f"{os.cpu_count()} processors, {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    print(f"machine                         {machine}, Linux {platform.release()}")
    if figures.cold is not None:
        print(f"cold up, three nodes Ready      {figures.cold:8.1f} s   (with the Go build; target 720 s)")
    print(f"warm up, three nodes Ready      {figures.warm:8.1f} s   (target 45 s)")
    print(f"up again, nothing to do         {figures.again:8.1f} s")
    print(f"down                            {figures.down:8.1f} s")
    print(f"idle memory of all Kubernetes   {figures.memory / 2**20:8.0f} MB  (target 1600 MB)")
