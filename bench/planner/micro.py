"""Small measurements of pure code: one large plan, and what it costs to read a pod.

Medians of many runs; what is compared runs in turn, so that whatever else the machine does hits both alike.
"""

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import msgspec

from bench.planner.samples import large, pod, rolling
from bench.table import Row
from stateward.kube.objects.pods import Pod
from stateward.planning.plan import plan

RUNS = 15
PODS = 400
NOW = 1_800_000_000.0


def measure() -> list[Row]:
    """Return all small figures."""
    return [*plans(), *pods()]


def plans() -> list[Row]:
    """Measure the plan of a large cluster that is settled, and of one that is being upgraded."""
    settled = large()
    upgraded = rolling(settled)
    rows: list[Row] = []
    for what, observed in (("settled", settled), ("upgrade begins", upgraded)):
        found = plan(observed, NOW)
        seconds = statistics.median(timed(lambda seen=observed: plan(seen, NOW)) for _ in range(RUNS))
        note = f"{len(found.actions)} actions, {len(found.waits)} waits"
        rows.append(Row(f"plan of 120 members, 3,000 shards: {what}", f"{seconds * 1000:.0f} ms", "", note))
    return rows


def pods() -> list[Row]:
    """Measure reading a pod into its projection, and into plain dictionaries."""
    body = pod()
    decoder = msgspec.json.Decoder(Pod)
    readers: dict[str, Callable[[bytes], Any]] = {
        "projection": decoder.decode,
        "msgspec dictionaries": msgspec.json.decode,
        "json dictionaries": json.loads,
    }
    times: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(RUNS):
        for name, read in readers.items():
            times[name].append(timed(lambda read=read: [read(body) for _ in range(PODS)]) / PODS)
    medians = {name: statistics.median(found) for name, found in times.items()}
    base = medians["projection"]
    first = Row(f"reading a pod of {len(body) / 1000:.1f} kB: projection", f"{base * 1e6:.0f} µs")
    others = [
        Row(
            f"reading the same pod: {name}", f"{seconds * 1e6:.0f} µs", "", f"{seconds / base:.1f} times the projection"
        )
        for name, seconds in medians.items()
        if name != "projection"
    ]
    return [first, *others]


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of CPU time that some work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began
