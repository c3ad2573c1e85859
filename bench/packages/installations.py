"""Installations of packages by the hundred on a real API server: calls, memory, CPU time, and how soon data is seen.

Workloads have no pods, so that everything but the operator is quick; what is measured is the operator.
"""

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import msgspec
import yaml

from bench.children import Child, child
from bench.clusters.scale import AT_ONCE, CRD, SANDBOX, percentile, say
from bench.machine import Ticks
from bench.packages import parcel
from bench.packages.beside import beside, much
from bench.packages.packaged import NAMESPACE
from bench.process import Usage, usage
from bench.table import Row
from sandbox import Sandbox
from stateward.api.kinds.installation import Installation
from stateward.api.values.base import Json
from stateward.kube.access.config import connect
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import ApplyOptions, WatchStart
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import CONFIG_MAPS, NAMESPACES
from stateward.kube.objects.watching import Added, Bookmark, Modified
from stateward.kube.timing.background import in_background
from stateward.operator.installations.objects.views import INSTALLATIONS, PACKAGES
from stateward.operator.restarts.views import WORKLOADS
from stateward.packages.format.trees import at, text
from stateward.packages.rendering.rendering import Use
from stateward.packages.rendering.step_objects import render_plan
from stateward.packages.restarts.guards import SETTLE_SECONDS
from stateward.packages.restarts.restarts import digest_in

DEFINITIONS = Path(__file__).parents[2] / "charts/stateward/files/crds"
_APPLY = ApplyOptions("bench", force=True)
RENDERS = 50


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured; times in seconds."""

    installations: int = 500
    idle: float = 300.0
    edits: int = 200
    patience: float = 1800.0


QUICK = Extent(100, 60.0, 60, 600.0)


def rendering() -> Row:
    """Measure the rendering of a package with 250 parameters."""
    use, times = Use(parcel.wide(), "all", "default"), list[float]()
    for _ in range(RENDERS):
        began = time.perf_counter()
        _ = render_plan(use, "deploy")
        times.append(time.perf_counter() - began)
    middle, high = statistics.median(times) * 1000, max(times) * 1000
    return Row("render of a package with 250 parameters, p50 / longest", f"{middle:.0f} / {high:.0f} ms")


def measure(extent: Extent) -> list[Row]:
    """Bring up a sandbox of its own, measure, take it down, and return the figures."""
    sandbox = Sandbox(SANDBOX)
    sandbox.down()
    try:
        sandbox.up(nodes=0)
        kubeconfig = str(sandbox.kubeconfig_path)
        asyncio.run(_prepare(kubeconfig))
        with _controllers(kubeconfig) as stage:
            return [rendering(), asyncio.run(beside()), asyncio.run(much()), *asyncio.run(stage.all(extent))]
    finally:
        sandbox.down()


@contextmanager
def _controllers(kubeconfig: str) -> Generator["Stage"]:
    with child("packages.packaged", kubeconfig) as process:
        port = process.wait_for("answers on port", 120)
        yield Stage(process, f"http://127.0.0.1:{port}/report", kubeconfig)


async def _prepare(kubeconfig: str) -> None:
    """Install the kinds, the namespace and the package."""
    async with HttpApi(connect(kubeconfig=kubeconfig)) as api:
        for path in sorted(DEFINITIONS.glob("*.yaml")):
            body = yaml.safe_load(path.read_text())
            await api.apply(CRD, Key("", body["metadata"]["name"]), body, _APPLY)
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await api.apply(NAMESPACES, Key("", NAMESPACE), space, _APPLY)
        async with asyncio.timeout(60):
            while not await _stored(api):  # noqa: ASYNC110 - the server tells no one when it serves a kind
                await asyncio.sleep(0.2)


async def _stored(api: HttpApi) -> bool:
    try:
        await api.list(INSTALLATIONS, Selection(NAMESPACE))
        await api.apply(PACKAGES, Key(NAMESPACE, "parcel-1.0.0"), parcel.package(), _APPLY)
    except ApiError:
        return False
    return True


class Seen:
    """When each workload was first seen with another digest than it had."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api
        self._first: dict[str, str] = {}
        self.times: dict[str, float] = {}
        self.listening = asyncio.Event()

    async def run(self) -> None:
        """Listen until cancelled."""
        workload = WORKLOADS["Deployment"]
        kept = WatchStart(initial_state=True, timeout_seconds=3600)
        async with aclosing(self._api.watch(workload.raw(), Selection(NAMESPACE), kept)) as events:
            async for event in events:
                if isinstance(event, Bookmark):
                    self.listening.set()
                if not isinstance(event, Added | Modified):
                    continue
                body: Json = {**event.object, "apiVersion": "apps/v1", "kind": workload.kind}
                name, digest = text(at(body, "metadata", "name")), digest_in(body)
                if self._first.setdefault(name, digest) != digest:
                    self.times.setdefault(name, time.monotonic())

    async def all_of(self, changed: Collection[str]) -> bool:
        """Return whether all of these have another digest."""
        return self.times.keys() >= set(changed)


class Stage:
    """Measurements of running controllers."""

    def __init__(self, process: Child, report_url: str, kubeconfig: str) -> None:
        self._process = process
        self._report_url = report_url
        self._kubeconfig = kubeconfig

    async def all(self, extent: Extent) -> list[Row]:
        """Make installations, watch them at rest, change them, and change what they use."""
        async with HttpApi(connect(kubeconfig=self._kubeconfig)) as api:
            empty = self._usage()
            made = await self._plans(api, extent, "1", "install")
            idle = await self._idle(extent, empty)
            changed = await self._plans(api, extent, "2", "change of a parameter")
            return [made, changed, idle, await self._digests(api, extent)]

    async def _plans(self, api: HttpApi, extent: Extent, level: str, what: str) -> Row:
        before, machine, began = await self._calls(), Ticks.now(), time.monotonic()
        slots, count = asyncio.Semaphore(AT_ONCE), extent.installations

        async def apply(index: int) -> None:
            async with slots:
                if level == "1":
                    body, key = parcel.outside(index, "1"), Key(NAMESPACE, f"{parcel.OUTSIDE}-{parcel.name(index)}")
                    await api.apply(CONFIG_MAPS, key, body, _APPLY)
                key = Key(NAMESPACE, parcel.name(index))
                await api.apply(INSTALLATIONS, key, parcel.installation(index, level), _APPLY)

        await asyncio.gather(*(apply(index) for index in range(count)))
        await self._until(extent, what, lambda: _ready(api, level, count))
        took, after = time.monotonic() - began, await self._calls()
        calls = after - before
        shown = ", ".join(f"{number / count:.1f} {name}" for name, number in calls.most_common(6))
        say(f"{what}: {count} in {took:.1f} s, {calls.total() / count:.1f} calls each: {shown}")
        return Row(
            f"{what}: {count} installations of {parcel.OBJECTS} objects, API calls for each plan",
            f"{calls.total() / count:.1f}",
            "",
            f"{took:.0f} s for all; {shown}; machine {Ticks.now().busy_since(machine):.0%} busy",
        )

    async def _idle(self, extent: Extent, empty: Usage) -> Row:
        await asyncio.sleep(10)
        before, used, began = await self._calls(), self._usage(), time.monotonic()
        await asyncio.sleep(extent.idle)
        now, took, calls = self._usage(), time.monotonic() - began, await self._calls() - before
        core = (now.cpu - used.cpu) / took
        note = f"{calls.total()} calls in {took:.0f} s; {empty.resident / 1e6:.0f} MB before the first; "
        return Row(
            f"{extent.installations} installations idle: CPU and memory",
            f"{core:.1%} of a core, {now.resident / 1e6:.0f} MB",
            "",
            f"{note}peak {now.peak / 1e6:.0f} MB",
        )

    async def _digests(self, api: HttpApi, extent: Extent) -> Row:
        """Change what workloads use, five a second, and take the time until each has its new digest.

        One watch tells of all of them: hundreds who ask for theirs again and again would be what is measured.
        """
        machine, before = Ticks.now(), await self._calls()
        seen, changed = Seen(api), dict[str, float]()
        async with in_background(seen.run()):
            await asyncio.wait_for(seen.listening.wait(), 60)
            for index in range(min(extent.edits, extent.installations)):
                name = parcel.name(index)
                key = Key(NAMESPACE, f"{parcel.OUTSIDE}-{name}")
                await api.apply(CONFIG_MAPS, key, parcel.outside(index, "2"), _APPLY)
                changed[name] = time.monotonic()
                await asyncio.sleep(0.2)
            await self._until(extent, "new digests", lambda: seen.all_of(changed))
        seconds = [seen.times[name] - since for name, since in changed.items()]
        calls = (await self._calls() - before).total() / len(seconds)
        middle, high = statistics.median(seconds), percentile(seconds, 99)
        return Row(
            "ConfigMap changed to new digest in the template, p50 / p99",
            f"{middle:.2f} / {high:.2f} s",
            "",
            f"{SETTLE_SECONDS:.0f} s of it to let changes settle; {len(seconds)} changes, 5 a second,"
            f" {calls:.1f} calls each;"
            f" machine {Ticks.now().busy_since(machine):.0%} busy",
        )

    async def _until(self, extent: Extent, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        deadline = time.monotonic() + extent.patience
        while not await holds():
            self._process.require()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not done after {extent.patience:.0f} s")
            await asyncio.sleep(1.0)

    async def _calls(self) -> Counter[str]:
        async with aiohttp.ClientSession() as session, session.get(self._report_url) as answer:
            return Counter(msgspec.json.decode(await answer.read(), type=dict[str, int]))

    def _usage(self) -> Usage:
        return usage(self._process.pid)


async def _ready(api: HttpApi, level: str, count: int) -> bool:
    state = await list_all(api, INSTALLATIONS, Selection(NAMESPACE))
    return sum(_has(found, level) for found in state.hand_over()) >= count


def _has(found: Installation, level: str) -> bool:
    installed = found.status.installed
    ready = any(each.type == "Ready" and each.status == "True" for each in found.status.conditions)
    return ready and installed is not None and installed.parameters.get("LEVEL") == level
