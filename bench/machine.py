"""What the measurements ran on, and how busy it was with other things."""

import os
import platform
from pathlib import Path
from typing import NamedTuple


def describe() -> str:
    """Return the machine in one line: cores, memory, kernel, Python."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    cores = os.cpu_count() or 1
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{cores} cores, {memory / 2**30:.0f} GiB, {platform.machine()}, Linux {platform.release()}, {python}"


class Ticks(NamedTuple):
    """Time of all cores since boot, in clock ticks."""

    busy: int
    total: int

    @classmethod
    def now(cls) -> "Ticks":
        """Read the counters."""
        return cls.parse(Path("/proc/stat").read_text())

    @classmethod
    def parse(cls, text: str) -> "Ticks":
        """Return the counters that the first line of /proc/stat tells."""
        # user nice system idle iowait irq softirq steal; guest time is in user time already.
        fields = [int(field) for field in text.splitlines()[0].split()[1:9]]
        idle = fields[3] + fields[4]
        return cls(sum(fields) - idle, sum(fields))

    def busy_since(self, before: "Ticks") -> float:
        """Return which part of the machine was busy between two readings, from 0 to 1."""
        total = self.total - before.total
        return (self.busy - before.busy) / total if total else 0.0
