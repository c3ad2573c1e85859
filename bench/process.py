"""The resource usage of one process, as the kernel counts it."""

import os
import re
from pathlib import Path
from typing import NamedTuple

_RESIDENT = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_TICKS = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """CPU time in seconds since the start, resident memory in bytes, now and at its highest."""

    cpu: float
    resident: int
    peak: int


def usage(pid: int) -> Usage:
    """Return what a process has used; raise FileNotFoundError when it is gone."""
    root = Path(f"/proc/{pid}")
    return parse((root / "stat").read_text(), (root / "status").read_text())


def parse(stat: str, status: str) -> Usage:
    """Return what /proc/PID/stat and /proc/PID/status tell."""
    # The second field is the program's name in parentheses, which may hold anything.
    fields = stat.rpartition(")")[2].split()
    return Usage((int(fields[11]) + int(fields[12])) / _TICKS, _bytes(_RESIDENT, status), _bytes(_PEAK, status))


def _bytes(pattern: re.Pattern[str], status: str) -> int:
    found = pattern.search(status)
    return int(found[1]) * 1024 if found else 0
