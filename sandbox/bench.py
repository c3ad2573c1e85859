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
from sandbox.toolchain.kubelite import build_step

# After this many seconds the start-up work of the controllers is over.
_SETTLE = 30
_NAME = "bench"


@dataclass(frozen=True)
class Figures:
    """Times in seconds, memory in bytes; `cold` and the `build` within it are None where they were not measured."""

    cold: float | None
    build: float | None
    warm: float
    again: float
    down: float
    memory: int


def measure(*, cold: bool) -> Figures:
    """Bring a sandbox of its own up and down, print the figures and return them."""
    cold_time, build = _cold() if cold else (None, None)
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
    figures = Figures(cold_time, build, warm, again, down, memory)
    _print(figures)
    return figures


def _timed(sandbox: Sandbox) -> float:
    begin = time.monotonic()
    sandbox.up(nodes=3)
    return time.monotonic() - begin


def _cold() -> tuple[float, float]:
    with _empty_caches(), Sandbox(_NAME) as sandbox:
        seconds = _timed(sandbox)
        return seconds, sandbox.progress.took[build_step()]


@contextmanager
def _empty_caches() -> Generator[None]:
    """Let everything be downloaded and built from nothing."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as scratch:
        changed = {
            "STATEWARD_CACHE": f"{scratch}/stateward",
            "GOCACHE": f"{scratch}/go",
            "GOMODCACHE": f"{scratch}/modules",
        }
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
        print(f"cold up, three nodes Ready      {figures.cold:8.1f} s   (with all downloads; target 720 s)")
        print(f"  of which the Go build         {figures.build or 0:8.1f} s   (target 480 s)")
    print(f"warm up, three nodes Ready      {figures.warm:8.1f} s   (target 45 s)")
    print(f"up again, nothing to do         {figures.again:8.1f} s")
    print(f"down                            {figures.down:8.1f} s")
    print(f"idle memory of all Kubernetes   {figures.memory / 2**20:8.0f} MB  (target 1600 MB)")
