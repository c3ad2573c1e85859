"""Changes of a real cluster, and what `plan` and `rehearse` said before them.

Three managers and three data members with data, in a sandbox of its own. Each change is rehearsed by the command,
from a file and without faults. Then it is applied, and timed until nothing is left to do. A forecast is right if the
real duration is between its p10 and p90, which is expected of four changes in five. The operator works in rounds of a
second, so a second more or less counts as between.
"""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs

from bench.clusters.scale import say
from bench.table import Row
from demo.install import fresh_namespace, install, until_known
from demo.story import settled
from sandbox import Sandbox
from stateward.api.values import names
from stateward.cli.steering.restart import phase_of
from stateward.forecast.durations import STEP
from stateward.kube.access.config import connect
from stateward.kube.client.client import Api, ApplyOptions, RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import CONFIG_MAPS
from stateward.operator.clusters.history import content
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.runtime import logs

SANDBOX = "stateward-bench-forecasts"
NAMESPACE, NAME = "bench-forecasts", "logs"
VERSIONS = ("2.17.1", "2.19.3")
"""The second one has the security plugin."""
PATIENCE = 1_200.0
"""Seconds for one change, on a busy machine too."""
INTERVAL = 0.2
"""Seconds between two looks: a change may have ended so much before it was seen."""
RECORDED = 3.0
"""Seconds between the last round that is in a stored history and the time at which its status was read, at most."""
RUNS = 100
"""Runs of each rehearsal: p10 and p90 are then those of ten runs at each end."""
DOCUMENTS, WORDS, VOCABULARY = 200, 5_000, 100_000


class Quantiles(Struct):
    """Durations of all runs of a rehearsal, in seconds."""

    p10: float
    p50: float
    p90: float


class Rehearsed(Struct, rename="camel"):
    """The part of the document of `rehearse` that is compared; durations in seconds."""

    planned_seconds: float | None
    seconds: Quantiles | None


class Measured(NamedTuple):
    """One change: what it is, what was forecast, and how long it took, in seconds."""

    what: str
    planned: float
    forecast: Quantiles
    took: float

    @property
    def within(self) -> bool:
        """Whether the real duration is between p10 and p90, to one round of the operator."""
        return self.forecast.p10 - STEP <= self.took <= self.forecast.p90 + STEP


def measure() -> list[Row]:
    """Bring a sandbox up, make all changes, take the sandbox down, and return the figures."""
    logs.configure("error")
    sandbox = Sandbox(SANDBOX).up(nodes=3)
    try:
        image = sandbox.load_image("stateward")
        for version in VERSIONS:
            sandbox.load_image(f"opensearch:{version}")
        return list(rows(asyncio.run(changes(str(sandbox.kubeconfig_path), image))))
    finally:
        sandbox.down()


def rows(measured: list[Measured]) -> Iterator[Row]:
    """Yield a row for each change, and one for all."""
    for each in measured:
        p10, p50, p90 = structs.astuple(each.forecast)
        said = f"plan {seconds(each.planned)}; p10 {seconds(p10)}, p50 {seconds(p50)}, p90 {seconds(p90)}"
        where = "within" if each.within else "shorter" if each.took < p10 else "longer"
        yield Row(f"`forecasts`: {each.what}", seconds(each.took), note=f"{where}: {said}")
    right = sum(each.within for each in measured)
    yield Row("`forecasts`: between p10 and p90", f"{right} of {len(measured)}", "4 of 5")


def seconds(value: float) -> str:
    """Return a duration in seconds, with tenths below ten."""
    return f"{value:.0f} s" if value >= 10.0 else f"{value:.1f} s"


async def changes(kubeconfig: str, image: str) -> list[Measured]:
    """Make the cluster and its data, and then each change: twice, except the last two."""
    async with HttpApi(connect(kubeconfig=kubeconfig)) as api:
        await install(api, image)
        await until_known(api, CLUSTERS, "default")
        await fresh_namespace(api, NAMESPACE)
        cluster = RealCluster(api, kubeconfig)
        say("the cluster …")
        await cluster.apply()
        await cluster.until_settled()
        await cluster.until_recorded()
        await cluster.fill()
        return [await cluster.change(what, spec) for what, spec in edits()]


def edits() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each change, and what it changes of `Wanted`."""
    for turn in (1, 2):
        yield "a setting of all six members, in kept pods", {"limit": f"{90 + turn}mb"}
        yield "memory of three data members, with new pods", {"memory": f"{640 + 32 * turn}Mi"}
        yield "one data member more", {"members": 4}
        yield "one data member fewer", {"members": 3}
        yield "a data member replaced", {"replace": True}
        yield "larger volumes of three data members", {"size": f"{1 + turn}Gi"}
        yield "all six members restarted together, in kept pods", {"together": True}
    yield f"upgrade of six members, {' → '.join(VERSIONS)}", {"version": VERSIONS[1]}
    yield "security switched on, with new pods", {"secured": True}


class Wanted(Struct, frozen=True):
    """What differs between the manifests."""

    version: str = VERSIONS[0]
    limit: str = "90mb"
    """The limit of a request's size: a setting that needs a restart of the process."""
    memory: str = "640Mi"
    """Of each data member."""
    members: int = 3
    replace: bool = False
    """Whether the first data member is to be replaced."""
    size: str = "1Gi"
    """Of the volume of each data member."""
    together: bool = False
    """Whether a coordinated restart is requested."""
    secured: bool = False


class RealCluster:
    """The cluster that is changed."""

    def __init__(self, api: Api, kubeconfig: str) -> None:
        self._api, self._kubeconfig = api, kubeconfig
        self._wanted = Wanted()

    async def apply(self) -> None:
        """Create the cluster, or take a request for a replacement back."""
        await self._api.apply(CLUSTERS, Key(NAMESPACE, NAME), self._manifest(()), ApplyOptions("bench", force=True))

    async def until_settled(self) -> None:
        """Wait until nothing is left to do, and no request is open. Raise TimeoutError after `PATIENCE`."""
        async with asyncio.timeout(PATIENCE):
            while True:
                cluster = await self._api.get(CLUSTERS, Key(NAMESPACE, NAME))
                if settled(cluster) and names.ANNOTATION_PHASE not in cluster.metadata.annotations:
                    return
                await asyncio.sleep(INTERVAL)

    async def fill(self) -> None:
        """Write the data, and wait until every copy is there."""
        await self._ask("docs", "PUT", {"settings": {"index.number_of_shards": 6, "index.number_of_replicas": 1}})
        rng = random.Random(1)  # noqa: S311 - the same words in every run
        for number in range(DOCUMENTS):
            words = " ".join(f"word{rng.randrange(VOCABULARY)}" for _ in range(WORDS))
            await self._ask(f"docs/_doc/{number}", "PUT", {"text": words})
        await self._ask("_flush", "POST")
        await self._ask("_cluster/health?wait_for_status=green&timeout=60s")
        await self.until_settled()

    async def change(self, what: str, changed: dict[str, Any]) -> Measured:
        """Rehearse a change, make it, and return both durations. Raise RuntimeError if it cannot be rehearsed."""
        self._wanted = structs.replace(self._wanted, **changed)
        manifest = self._manifest(await self._data_members())
        rehearsed = await self._rehearse(manifest)
        if rehearsed.seconds is None or rehearsed.planned_seconds is None:
            raise RuntimeError(f"{what}: no run of its rehearsal completes")
        begin = time.monotonic()
        await self._api.apply(CLUSTERS, Key(NAMESPACE, NAME), manifest, ApplyOptions("bench", force=True))
        await self.until_settled()
        found = Measured(what, rehearsed.planned_seconds, rehearsed.seconds, time.monotonic() - begin)
        await self.until_recorded()
        say(f"  {what}: {seconds(found.took)}, p10 {seconds(found.forecast.p10)}, p90 {seconds(found.forecast.p90)}")
        if self._wanted.replace or self._wanted.together:
            self._wanted = structs.replace(self._wanted, replace=False, together=False)
            await self.apply()
            await self.until_settled()
        return found

    async def until_recorded(self) -> None:
        """Wait until the operator has stored how long the change took that has just ended: a minute at most."""
        settled_at = time.time()
        async with asyncio.timeout(PATIENCE):
            while True:
                stored = await self._api.get(CONFIG_MAPS.raw(), Key(NAMESPACE, names.history(NAME)))
                if content(stored).until >= settled_at - RECORDED:
                    return
                await asyncio.sleep(INTERVAL)

    async def _data_members(self) -> tuple[str, ...]:
        cluster = await self._api.get(CLUSTERS, Key(NAMESPACE, NAME))
        return tuple(sorted(member.name for member in cluster.status.member_states if member.pool == "data"))

    def _manifest(self, data_members: tuple[str, ...]) -> dict[str, Any]:
        """Return the cluster as its user would write it."""
        wanted = self._wanted
        asked = {names.ANNOTATION_PHASE: phase_of(coordinated=True)} if wanted.together else {}
        return {
            "apiVersion": "stateward.dev/v1alpha1",
            "kind": "OpenSearchCluster",
            "metadata": {"name": NAME, "namespace": NAMESPACE, "annotations": asked},
            "spec": {
                "version": wanted.version,
                "config": {"http.max_content_length": wanted.limit},
                "security": {"enabled": wanted.secured},
                "members": {"replace": list(data_members[: int(wanted.replace)])},
                "pools": [
                    pool("managers", 3, ["cluster_manager"], "640Mi", "1Gi"),
                    pool("data", wanted.members, ["data", "ingest"], wanted.memory, wanted.size),
                ],
            },
        }

    async def _rehearse(self, manifest: dict[str, Any]) -> Rehearsed:
        """Return what the command says of a change; it reads with the rights of the sandbox's user."""
        words = ("rehearse", "-f", "-", "--faults", "none", "--runs", str(RUNS), "-o", "json", "--kubeconfig")
        command = Path(sys.executable).with_name("stateward")
        process = await asyncio.create_subprocess_exec(
            command,
            *words,
            self._kubeconfig,
            "-n",
            NAMESPACE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        said, problem = await process.communicate(msgspec.json.encode(manifest))
        if process.returncode != 0:
            raise RuntimeError(f"rehearse ended with {process.returncode}: {problem.decode()}")
        return msgspec.json.decode(said, type=Rehearsed)

    async def _ask(self, path: str, method: str = "GET", body: dict[str, Any] | None = None) -> Any:
        path, _, query = path.partition("?")
        pairs = dict(pair.split("=", 1) for pair in query.split("&") if pair)
        full = f"/api/v1/namespaces/{NAMESPACE}/services/{NAME}:http/proxy/{path}"
        return msgspec.json.decode(await self._api.request(RawRequest(full, method, pairs, body)))


def pool(name: str, members: int, roles: list[str], memory: str, size: str) -> dict[str, Any]:
    """Return a pool of small members."""
    resources = {"limits": {"memory": memory}, "requests": {"cpu": "250m", "memory": memory}}
    return {"name": name, "replicas": members, "roles": roles, "resources": resources, "storage": {"size": size}}
