"""What the operator's event loop is kept from while a large package is rendered beside it."""

import asyncio
import time
from functools import partial

from bench import parcel
from bench.scale import percentile
from bench.table import Row
from stateward.operator.aside import in_thread
from stateward.packages.rendering import Use, render_plan

RENDERS = 20


async def beside() -> Row:
    """Measure how often the loop comes by while a package with 250 parameters is rendered again and again."""
    use, gaps = Use(parcel.wide(), "all", "default"), list[float]()
    watching = asyncio.create_task(_watch(gaps))
    for _ in range(RENDERS):
        await in_thread(partial(render_plan, use, "deploy"))
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    middle, high = percentile(gaps, 50) * 1000, max(gaps) * 1000
    return Row("the event loop comes by meanwhile, p50 / longest", f"{middle:.1f} / {high:.0f} ms")


async def _watch(gaps: list[float]) -> None:
    """Note how long each look of the loop is after the one before, in seconds; it wants to look every millisecond."""
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now
