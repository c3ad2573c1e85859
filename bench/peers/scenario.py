"""What each operator is measured with: clusters are made, left alone, and changed, on a sandbox of their own.

The API server, the scheduler and the controllers are real; kwok stands in for nodes and pods. CPU time and memory are
the kernel's figures of the operator's process alone, its requests are counted by the API server.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.children import Child
from bench.clusters import fleet
from bench.clusters.scale import AT_ONCE, PRETEND_NODES, SANDBOX, install, say
from bench.peers import calls
from bench.peers.account import USER, account_token, kubeconfig_for
from bench.peers.sides import CHANGED, ECK_NAMESPACE, MEMORY, PEER_FOLDER, Eck, Side, Stateward, Whole, peer
from bench.process import Usage, usage
from bench.table import Row
from sandbox import Sandbox
from stateward.kube.access.config import connect
from stateward.kube.cache.reflector import Reflector
from stateward.kube.cache.store import Store
from stateward.kube.client.client import ApplyOptions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import PODS

_APPLY = ApplyOptions("bench", force=True)
_PODS = PODS.viewed_as(Whole)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured; times in seconds."""

    clusters: int = 20
    idle: float = 180.0
    patience: float = 1800.0
    """How long a part may take before the measurement is given up."""


QUICK = Extent(clusters=5, idle=60.0)


@dataclass(frozen=True, slots=True)
class Used:
    """What one part took: seconds, CPU seconds, requests by verb, bytes and the machine's load at its end."""

    seconds: float
    cpu: float
    calls: Counter[str]
    resident: int
    load: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What one operator took for each part."""

    made: Used
    idle: Used
    changed: Used


def measure(extent: Extent) -> list[Row]:
    """Measure Stateward, and ECK if it is there, each alone; return the rows of both."""
    other = peer()
    rows = [row for side in (Stateward(), other) if side for row in rows_of(side.name, extent, _measured(side, extent))]
    if other is None:
        why = f"{PEER_FOLDER} does not name a folder with its program and its CRDs"
        rows.append(Row(f"{Eck.name}, the same", "not measured", "", why))
    return rows


def rows_of(name: str, extent: Extent, figures: Figures) -> list[Row]:
    """Return the table's rows for one operator."""
    parts = (
        (f"{extent.clusters} clusters of {fleet.MEMBERS} members, apply to all Ready", figures.made),
        (f"settled for {extent.idle:.0f} s", figures.idle),
        (f"memory of {CHANGED} changed in all, until all are Ready again", figures.changed),
    )
    return [Row(f"{name}: {what}", _value(used), "", _note(used)) for what, used in parts]


def _value(used: Used) -> str:
    took = f"{used.seconds:.1f} s, {used.cpu:.1f} s CPU"
    return f"{took}, {used.calls.total()} API calls, {used.resident / 1e6:.0f} MB"


def _note(used: Used) -> str:
    verbs = calls.words(used.calls)
    return f"{verbs}; load {used.load:.0f}" if verbs else f"load {used.load:.0f}"


def _measured(side: Side, extent: Extent) -> Figures:
    sandbox = Sandbox(SANDBOX)
    sandbox.down()
    try:
        sandbox.up(nodes=0, pretend_nodes=PRETEND_NODES, audited=USER)
        admin = sandbox.kubeconfig_path
        account = kubeconfig_for(asyncio.run(_prepare(side, admin)), admin)
        with side.world(admin) as world:
            world.wait_for("ready", 60)
            with side.operator(account) as process:
                return asyncio.run(_Run(side, extent, admin, sandbox.layout.audit_log, (process, world)).all())
    finally:
        sandbox.down()


async def _prepare(side: Side, admin: Path) -> str:
    """Install the CRDs and the namespaces, and return a token for the operator once its kind is served."""
    async with HttpApi(connect(kubeconfig=str(admin))) as api:
        await install(api, side.definitions.read_text(), side.clusters, (fleet.NAMESPACE, ECK_NAMESPACE))
        return await account_token(api)


class _Meter:
    """Reads what the operator's process has used, from one part to the next."""

    def __init__(self, process: Child, log: Path) -> None:
        self._process, self._log = process, log
        self._began = time.monotonic()
        self._usage, self._calls = self._read()

    def _read(self) -> tuple[Usage, Counter[str]]:
        return usage(self._process.pid), calls.read(self._log)

    def used(self) -> Used:
        """Return what was used since the meter was made."""
        seconds = time.monotonic() - self._began
        now, counted = self._read()
        return Used(seconds, now.cpu - self._usage.cpu, counted - self._calls, now.resident, os.getloadavg()[0])


class _Run:
    """One operator at work."""

    def __init__(self, side: Side, extent: Extent, admin: Path, log: Path, processes: tuple[Child, Child]) -> None:
        self._side, self._extent, self._admin, self._log = side, extent, admin, log
        self._processes = processes
        self._pods, self._clusters = Store[Whole]("pods"), Store[Whole]("clusters")

    async def all(self) -> Figures:
        """Measure all parts."""
        async with HttpApi(connect(kubeconfig=str(self._admin))) as api:
            watching = [
                asyncio.create_task(Reflector(api, _PODS, Selection(fleet.NAMESPACE), self._pods).run()),
                asyncio.create_task(
                    Reflector(api, self._side.clusters, Selection(fleet.NAMESPACE), self._clusters).run()
                ),
            ]
            try:
                await self._quiet()
                made = await self._applied(api, MEMORY[0])
                await self._quiet()
                meter = self._meter()
                await asyncio.sleep(self._extent.idle)
                idle = self._told(meter, "settled")
                return Figures(made, idle, await self._applied(api, MEMORY[1]))
            finally:
                for task in watching:
                    task.cancel()
                await asyncio.gather(*watching, return_exceptions=True)

    async def _applied(self, api: HttpApi, memory: str) -> Used:
        meter, slots = self._meter(), asyncio.Semaphore(AT_ONCE)

        async def apply(index: int) -> None:
            async with slots:
                await api.apply(self._side.clusters, fleet.key(index), self._side.body(index, memory), _APPLY)

        await asyncio.gather(*(apply(index) for index in range(self._extent.clusters)))
        await self._until(f"Ready with {memory}", lambda: self._is_ready(memory))
        return self._told(meter, f"Ready with {memory}")

    def _is_ready(self, memory: str) -> bool:
        pods, clusters = self._pods.all(), self._clusters.all()
        changed = [pod for pod in pods if f"-{CHANGED}-" in pod.metadata.name]
        return (
            len(clusters) == self._extent.clusters
            and len(pods) == fleet.MEMBERS * len(clusters)
            and all(is_up(pod) for pod in pods)
            and all(memory_of(pod) == memory for pod in changed)
            and all(self._side.is_ready(cluster) for cluster in clusters)
        )

    async def _quiet(self) -> None:
        """Wait until the operator has asked the API server, and nothing new for ten seconds; at most two minutes."""
        last, since, began = calls.read(self._log), time.monotonic(), time.monotonic()
        while (not last or time.monotonic() - since < 10) and time.monotonic() - began < 120:
            await asyncio.sleep(1)
            self._require()
            if (now := calls.read(self._log)) != last:
                last, since = now, time.monotonic()

    async def _until(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self._extent.patience
        while not holds():
            self._require()
            if time.monotonic() > deadline:
                ready = sum(map(self._side.is_ready, self._clusters.all()))
                raise TimeoutError(f"{self._side.name}: {ready} clusters {what} after {self._extent.patience:.0f} s")
            await asyncio.sleep(0.2)

    def _meter(self) -> _Meter:
        return _Meter(self._processes[0], self._log)

    def _told(self, meter: _Meter, what: str) -> Used:
        used = meter.used()
        say(f"{self._side.name} {what}: {_value(used)}; {_note(used)}")
        return used

    def _require(self) -> None:
        for process in self._processes:
            process.require()


def is_up(pod: Whole) -> bool:
    """Whether a pod is Ready and stays."""
    conditions = pod.status.get("conditions", [])
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not pod.metadata.deletion_timestamp


def memory_of(pod: Whole) -> str:
    """Return the largest limit of memory of a pod's containers, which is the database's; empty if it has none."""
    limits = [str(each.get("resources", {}).get("limits", {}).get("memory", "")) for each in pod.spec["containers"]]
    return next((limit for limit in limits if limit in MEMORY), "")
