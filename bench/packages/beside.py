"""What the operator's event loop is kept from while a large package is rendered beside it."""

import asyncio
import resource
import time

from bench.clusters.scale import percentile
from bench.packages import parcel
from bench.table import Row
from stateward.kube.timing.background import in_background
from stateward.operator.installations.execution.background import WorkerPool
from stateward.operator.installations.execution.jobs import RenderObjects, RenderStep
from stateward.packages.rendering.rendering import Use, places
from stateward.packages.rendering.templates import TemplateProblem, Variables

RENDERS = 20
MUCH = "{{ $x := repeat 262000 `- a\n` }}{{ $x }}{{ $x }}{{ $x }}{{ $x }}"
"""A template of one line that writes 4 MiB of YAML with a million nodes."""


async def beside() -> Row:
    """Measure how often the loop comes by while a package with 250 parameters is rendered again and again."""
    use, gaps = Use(parcel.wide(), "all", "default"), list[float]()
    rendered = WorkerPool()
    async with in_background(_watch(gaps)):
        for _ in range(RENDERS):
            for place in places(use.package, "deploy"):
                await rendered(RenderStep(use, place))
    middle, high = percentile(gaps, 50) * 1000, max(gaps) * 1000
    return Row("the event loop comes by meanwhile, p50 / longest", f"{middle:.1f} / {high:.0f} ms")


async def much() -> Row:
    """Measure what a short template that writes very much costs this process, and the one in which it is refused."""
    job = RenderObjects("much.yaml", MUCH, Variables("all", "default", "bench", "1", "1", {}))
    own, others = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        await WorkerPool()(job)
    except TemplateProblem as error:
        said = error.message
    else:
        said = "it was rendered"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - others.ru_utime - others.ru_stime
    figures = f"{time.process_time() - own:.2f} s / {spent:.2f} s, {after.ru_maxrss >> 10} MiB at most"
    return Row("a line of template that writes 4 MiB: CPU here / in its process", figures, "", said)


async def _watch(gaps: list[float]) -> None:
    """Note how long each look of the loop is after the one before, in seconds; it wants to look every millisecond."""
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now
