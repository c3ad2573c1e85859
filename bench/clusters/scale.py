"""Many clusters on a real API server: how long they take to be made, and what the operator uses once they are.

The operator runs as a process of its own, and so does everything that is pretended around it (`bench.clusters.world`).
Memory and CPU time are the kernel's figures of the operator's process alone.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import yaml

from bench.children import Child, child
from bench.clusters import fleet
from bench.clusters.fleet import Mode
from bench.clusters.operated import Report
from bench.machine import Ticks
from bench.process import Usage, usage
from bench.table import Row
from sandbox import Sandbox
from stateward.kube.access.config import connect
from stateward.kube.client.client import ApplyOptions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.resources import NAMESPACES
from stateward.operator.objects.caches import CLUSTERS

SANDBOX = "stateward-bench"
CRD = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", PartialObject, False
)
DEFINITION = Path(__file__).parents[2] / "charts/stateward/files/crds/stateward.dev_osclusters.yaml"
PRETEND_NODES = 20
AT_ONCE = 16
"""Clusters that are applied at the same time."""
_APPLY = ApplyOptions("bench", force=True)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured; times in seconds."""

    sizes: tuple[int, ...] = (100, 500)
    mode: Mode = Mode.PLAIN
    silence: float = 600.0
    """How long the settled clusters of the first size are watched for writes."""
    idle: float = 300.0
    edits: int = 300
    patience: float = 1800.0
    """How long clusters may take to settle before the measurement is given up."""


QUICK = Extent(silence=60.0, idle=120.0, edits=100)


def measure(extent: Extent) -> list[Row]:
    """Bring up a sandbox of its own, measure, take it down, and return the figures."""
    sandbox = Sandbox(SANDBOX)
    sandbox.down()
    try:
        sandbox.up(nodes=0, pretend_nodes=PRETEND_NODES)
        kubeconfig = str(sandbox.kubeconfig_path)
        asyncio.run(prepare(kubeconfig))
        with child("clusters.world", kubeconfig, str(max(extent.sizes)), extent.mode) as world:
            world.wait_for("ready", 60)
            return _grow(extent, kubeconfig, world)
    finally:
        sandbox.down()


def _grow(extent: Extent, kubeconfig: str, world: Child) -> list[Row]:
    rows: list[Row] = []
    with operating(kubeconfig) as scene:
        there = 0
        for size in extent.sizes:
            rows += asyncio.run(Stage(scene, world, extent, size).all(there))
            there = size
    with operating(kubeconfig) as scene:
        rows += asyncio.run(Stage(scene, world, extent, there).restarted())
    return rows


@dataclass(frozen=True, slots=True)
class Scene:
    """A running operator, and where it and its API server answer."""

    process: Child
    report_url: str
    kubeconfig: str
    began: float


@contextmanager
def operating(kubeconfig: str) -> Generator[Scene]:
    """Run the operator while the block runs."""
    began = time.monotonic()
    with child("clusters.operated", kubeconfig) as process:
        port = process.wait_for("answers on port", 120)
        yield Scene(process, f"http://127.0.0.1:{port}/report", kubeconfig, began)


async def prepare(kubeconfig: str) -> None:
    """Install the kind and the namespace, and wait until the API server serves the kind, a moment later."""
    async with HttpApi(connect(kubeconfig=kubeconfig)) as api:
        await install(api, DEFINITION.read_text(), CLUSTERS, (fleet.NAMESPACE,))


async def install(api: HttpApi, definitions: str, kind: Resource[Any], namespaces: Sequence[str]) -> None:
    """Apply CRDs, given as YAML, and the namespaces, and wait until the API server serves `kind`, one of the CRDs."""
    for definition in filter(None, yaml.safe_load_all(definitions)):
        await api.apply(CRD, Key("", definition["metadata"]["name"]), definition, _APPLY)
    for name in namespaces:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await api.apply(NAMESPACES, Key("", name), space, _APPLY)
    async with asyncio.timeout(60):
        while not await _served(api, kind):  # noqa: ASYNC110 - it tells no one
            await asyncio.sleep(0.1)


async def _served(api: HttpApi, kind: Resource[Any]) -> bool:
    try:
        await api.list(kind, Selection(fleet.NAMESPACE))
    except ApiError:
        return False
    return True


class Stage:
    """Measurements with a number of clusters."""

    def __init__(self, scene: Scene, world: Child, extent: Extent, size: int) -> None:
        self._scene = scene
        self._world = world
        self._extent = extent
        self._size = size

    async def all(self, there: int) -> list[Row]:
        """Add clusters to those that are there already, let them settle, and measure everything."""
        rows = await self._created(there)
        if there == 0:
            rows += [await self._idle(self._extent.silence, "settled", writes=True)]
        rows += [await self._idle(self._extent.idle, "idle")]
        return [*rows, await self._reaction()]

    async def restarted(self) -> list[Row]:
        """Measure an operator that has just come to clusters that were settled before."""
        await self._until("all looked at", lambda report: report.reconciliations >= self._size and not report.waiting)
        took = time.monotonic() - self._scene.began
        say(f"restarted: {took:.1f} s")
        changes = sum(count for what, count in (await self._report()).writes.items() if what.startswith("patch status"))
        first = Row(
            f"restart with {self._size} clusters, until all are looked at", f"{took:.1f} s", "", f"{changes} statuses"
        )
        return [first, await self._idle(self._extent.idle, "idle after a restart")]

    async def replayed(self) -> list[Row]:
        """Measure an operator that has come to settled clusters, or to such whose databases it cannot trust now."""
        rows = await self.restarted()
        if self._extent.mode is Mode.FAILING:
            # What is kept of failed connections shows only after a while.
            return [*rows, await self._idle(self._extent.silence, "failing, later")]
        silent = await self._idle(self._extent.silence, "settled", writes=True)
        return [*rows, silent, await self._reaction()]

    async def settled(self) -> None:
        """Make the clusters and wait until they have been settled for a moment."""
        await self._created(0)
        await asyncio.sleep(5)

    async def _created(self, there: int) -> list[Row]:
        new, began = range(there, self._size), time.monotonic()
        before = await self._report()
        async with HttpApi(connect(kubeconfig=self._scene.kubeconfig)) as api:
            slots = asyncio.Semaphore(AT_ONCE)

            async def apply(index: int) -> None:
                async with slots:
                    body = fleet.body(index, secured=self._extent.mode.secured)
                    await api.apply(CLUSTERS, fleet.key(index), body, _APPLY)

            await asyncio.gather(*(apply(index) for index in new))
        applied = time.monotonic() - began
        await self._until("created", self._is_created)
        created = time.monotonic() - began
        say(f"{len(new)} clusters: applied {applied:.1f} s, created {created:.1f} s")
        await self._until("settled", lambda report: report.settled >= self._size and not report.waiting)
        settled = time.monotonic() - began
        after = await self._report()
        rounds = (after.reconciliations - before.reconciliations) / len(new)
        writes = (sum(_writes(after).values()) - sum(_writes(before).values())) / len(new)
        say(f"{len(new)} clusters: settled {settled:.1f} s")
        what = f"{len(new)} clusters of {fleet.MEMBERS} members, {there} there before"
        return [
            Row(f"{what}: apply to all objects created", f"{created:.1f} s", "", f"applied within {applied:.1f} s"),
            Row(
                f"{what}: apply to all settled",
                f"{settled:.1f} s",
                "",
                f"{rounds:.0f} rounds and {writes:.0f} writes for each cluster",
            ),
        ]

    def _is_created(self, report: Report) -> bool:
        owned = dict.fromkeys(("statefulsets", "persistentvolumeclaims", "secrets"), fleet.MEMBERS) | fleet.SHARED
        return all(report.objects[kind] >= each * self._size for kind, each in owned.items())

    async def _idle(self, seconds: float, what: str, *, writes: bool = False) -> Row:
        # A moment for what the last step has left behind; what comes later than that is counted.
        await asyncio.sleep(5)
        before, used, machine, began = await self._report(), self._usage(), Ticks.now(), time.monotonic()
        await asyncio.sleep(seconds)
        took, after, now = time.monotonic() - began, await self._report(), self._usage()
        written = sum(_writes(after).values()) - sum(_writes(before).values())
        rounds = after.reconciliations - before.reconciliations
        core = (now.cpu - used.cpu) / took
        busy = Ticks.now().busy_since(machine)
        looks = f"{rounds} looks in {took:.0f} s"
        say(f"{self._size} {what}: {core:.2%} of a core, {now.resident / 1e6:.0f} MB, {written} writes, {looks}")
        if writes:
            note = difference(_writes(after), _writes(before)) or looks
            return Row(f"{self._size} settled clusters for {took:.0f} s: writes", str(written), "0", note)
        return Row(
            f"{self._size} clusters {what}: CPU and memory",
            f"{core * 100:.1f} % of a core, {now.resident / 1e6:.0f} MB",
            "5 %, 250 MB" if self._size >= 500 else "",
            f"{looks}, {(now.cpu - used.cpu) / max(rounds, 1) * 1000:.1f} ms each; peak {now.peak / 1e6:.0f} MB;"
            f" {written} writes; machine {busy:.0%} busy",
        )

    async def _reaction(self) -> Row:
        before, machine = len((await self._report()).reactions), Ticks.now()
        async with HttpApi(connect(kubeconfig=self._scene.kubeconfig)) as api:
            for number in range(self._extent.edits):
                index = number % self._size
                edit = f"e{number // self._size}-{before}"
                body = fleet.body(index, edit, secured=self._extent.mode.secured)
                await api.apply(CLUSTERS, fleet.key(index), body, _APPLY)
                await asyncio.sleep(0.2)
        expected = before + self._extent.edits
        await self._until("reacted", lambda r: len(r.reactions) >= expected and r.settled >= self._size)
        seconds = (await self._report()).reactions[before:]
        middle, high = statistics.median(seconds), percentile(seconds, 99)
        say(f"{self._size} reactions: p50 {middle * 1000:.0f} ms, p99 {high * 1000:.0f} ms")
        return Row(
            f"{self._size} clusters: watch event to first write, p50 / p99",
            f"{middle * 1000:.0f} / {high * 1000:.0f} ms",
            "p99 250 ms",
            f"{len(seconds)} edits, 5 a second; longest {max(seconds) * 1000:.0f} ms;"
            f" machine {Ticks.now().busy_since(machine):.0%} busy",
        )

    async def _until(self, what: str, holds: Callable[[Report], bool]) -> None:
        deadline = time.monotonic() + self._extent.patience
        while not holds(found := await self._report()):
            self._world.require()
            self._scene.process.require()
            if time.monotonic() > deadline:
                raise TimeoutError(f"not {what} after {self._extent.patience:.0f} s: {found}")
            await asyncio.sleep(0.5)

    async def _report(self) -> Report:
        async with aiohttp.ClientSession() as session:
            while True:
                self._scene.process.require()
                try:
                    async with session.get(self._scene.report_url) as answer:
                        return msgspec.json.decode(await answer.read(), type=Report)
                except aiohttp.ClientConnectorError:
                    # It has just been started.
                    await asyncio.sleep(0.2)

    def _usage(self) -> Usage:
        return usage(self._scene.process.pid)


def _writes(report: Report) -> dict[str, int]:
    """Return the writes for clusters. The leader's lease is renewed continuously, by design."""
    return {what: count for what, count in report.writes.items() if not what.endswith(" leases")}


def difference(after: Mapping[str, int], before: Mapping[str, int]) -> str:
    """Return what was written in between, in words; empty when nothing was."""
    grown = {what: count - before.get(what, 0) for what, count in sorted(after.items())}
    return ", ".join(f"{count} {what}" for what, count in grown.items() if count)


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the smallest value that `percent` of all values are not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def say(text: str) -> None:
    """Tell how far it is: the whole takes minutes."""
    print(f"  {text}", file=sys.stderr, flush=True)
