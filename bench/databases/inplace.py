"""A change of configuration over all members of a real cluster: in kept pods, and with new ones.

Three members in a sandbox of its own, the same data, the same setting, each way twice and the second time in the other
order, since a busy machine is not as busy all the time. The members in the
database are sampled several times a second through the API server. A database starts in the same time both ways, so
the time before its start is shown too.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from bench.clusters.scale import say
from bench.databases.absence import Absences, Change, Recoveries, milliseconds
from bench.databases.steps import Diary, medians, told
from bench.table import Row
from demo.install import fresh_namespace, install, until_known
from demo.story import settled
from sandbox import Sandbox
from stateward.kube.access.config import connect
from stateward.kube.client.client import Api, ApplyOptions, RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import PODS
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.runtime import logs

SANDBOX = "stateward-bench-inplace"
NAMESPACE, NAME = "bench-inplace", "kept"
VERSION = "2.19.5"
MEMBERS = 3
PATIENCE = 900.0
"""Seconds for one change, on a busy machine too."""
SAMPLE = 0.2
DOCUMENTS, WORDS = 400, 10_000
"""Documents, and words in each: 70 kB of text, 28 MB in all."""
VOCABULARY = 100_000
READS = 300
KEPT, ANEW = "in kept pods", "with new pods"
TURNS = (KEPT, ANEW, ANEW, KEPT)
SMALL = {"limits": {"memory": "640Mi"}, "requests": {"cpu": "250m", "memory": "640Mi"}}


def measure() -> list[Row]:
    """Bring a sandbox up, change the cluster both ways, take the sandbox down, and return the figures."""
    logs.configure("error")
    sandbox = Sandbox(SANDBOX).up(nodes=MEMBERS)
    try:
        image = sandbox.load_image("stateward")
        sandbox.load_image(f"opensearch:{VERSION}")
        return rows(*asyncio.run(changes(str(sandbox.kubeconfig_path), image)))
    finally:
        sandbox.down()


def rows(kept: Change, anew: Change) -> list[Row]:
    """Return both ways as rows."""
    found: list[Row] = []
    for each in (kept, anew):
        longest = max(absence.seconds for absence in each.away)
        times = len(each.total)
        found += [
            Row(f"`inplace`, {each.way}: change over {MEMBERS} members", f"{sum(each.total) / times:.0f} s"),
            Row(f"`inplace`, {each.way}: a member is away, p50 / max", f"{each.per_member:.1f} / {longest:.1f} s"),
            Row(f"`inplace`, {each.way}: until its next process is started, p50", f"{each.without:.1f} s"),
            Row(f"`inplace`, {each.way}: the parts of it, p50 of each", told(medians(each.parts))),
            Row(
                f"`inplace`, {each.way}: recoveries of shard copies, each change",
                f"{each.recoveries / times:.0f}",
                note=f"{each.copied / times / 1e6:.1f} MB copied between members",
            ),
            Row(f"`inplace`, {each.way}: read before, p50 / p99", milliseconds(each.reads_before)),
            Row(f"`inplace`, {each.way}: read after, p50 / p99", milliseconds(each.reads_after)),
        ]
    whole, without = anew.per_member / kept.per_member, anew.without / kept.without
    return [
        *found,
        Row("`inplace`: a member is away, new pod to kept pod", f"{whole:.1f} times", "2 times"),
        Row("`inplace`: the same until its next process is started", f"{without:.1f} times"),
    ]


async def changes(kubeconfig: str, image: str) -> tuple[Change, Change]:
    """Make the cluster and its data, and change it in kept pods and then with new ones."""
    async with HttpApi(connect(kubeconfig=kubeconfig)) as api:
        await install(api, image)
        await until_known(api, CLUSTERS, "default")
        await fresh_namespace(api, NAMESPACE)
        cluster = Measured(api)
        say("the cluster …")
        await cluster.apply("90mb")
        await cluster.until_settled()
        await cluster.fill()
        made = [await cluster.change(f"{90 + turn}mb", way) for turn, way in enumerate(TURNS, 1)]
        return made[0] + made[3], made[1] + made[2]


class Measured:
    """The cluster that is measured."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._made = "0"

    async def apply(self, value: str, way: str = KEPT) -> None:
        """Make the spec so; new pods by their template, as with `update.inPlace: Never` they come without agents."""
        self._made = value if way == ANEW else self._made
        roles = ["cluster_manager", "data", "ingest"]
        pool = {"name": "all", "replicas": MEMBERS, "roles": roles, "resources": SMALL, "storage": {"size": "2Gi"}}
        spec = {
            "version": VERSION,
            "pools": [pool],
            "podTemplate": {"metadata": {"annotations": {"bench.stateward.dev/made": self._made}}},
            "config": {"http.max_content_length": value},
        }
        meta = {"name": NAME, "namespace": NAMESPACE}
        body = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "metadata": meta, "spec": spec}
        await self._api.apply(CLUSTERS, Key(NAMESPACE, NAME), body, ApplyOptions("bench", force=True))

    async def until_settled(self) -> None:
        """Wait until nothing is left to do; raises TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if settled(await self._api.get(CLUSTERS, Key(NAMESPACE, NAME))):
                    return
                await asyncio.sleep(SAMPLE)

    async def fill(self) -> None:
        """Write the data, and wait until every copy is there."""
        shape = {"settings": {"index.number_of_shards": 6, "index.number_of_replicas": 1}}
        await self._ask("docs", "PUT", shape)
        rng = random.Random(1)  # noqa: S311 - the same words in every run
        for number in range(DOCUMENTS):
            words = " ".join(f"word{rng.randrange(VOCABULARY)}" for _ in range(WORDS))
            await self._ask(f"docs/_doc/{number}", "PUT", {"number": number, "text": words})
        await self._ask("_flush", "POST")
        await self._ask("_cluster/health?wait_for_status=green&timeout=60s")
        await self.until_settled()

    async def change(self, value: str, way: str) -> Change:
        """Change the setting, watch what happens, and return it."""
        say(f"{way} …")
        pods = await self._pods()
        before = await self.reads()
        recoveries = Recoveries()
        recoveries.seen(await self._ask("_recovery"))
        recoveries = Recoveries(frozenset(recoveries.found))
        absences, diary = Absences(frozenset(f"{NAME}-all-{n}" for n in range(MEMBERS))), Diary()
        begin = time.monotonic()
        async with self._watched(self._watch(absences), self._recoveries(recoveries), self._listen(diary)):
            await self.apply(value, way)
            await self.until_settled()
            total = time.monotonic() - begin
        away, copied = absences.explained(await self._processes()), sum(recoveries.found.values())
        kept = pods & await self._pods()
        if len(kept) != (MEMBERS if way == KEPT else 0):
            raise RuntimeError(f"{way}, {len(kept)} of {MEMBERS} pods were kept")
        if len(away) < MEMBERS:
            raise RuntimeError(f"{len(away)} of {MEMBERS} members were seen to be away")
        for each in away:
            parts = diary.parts(each)
            say(f"  {each.member} away {each.seconds:.1f} s: {told(parts) if parts else 'its agent was not heard'}")
        parts = tuple(found for each in away if (found := diary.parts(each)) is not None)
        return Change(way, (total,), away, parts, len(recoveries.found), copied, before, await self.reads())

    async def _pods(self) -> frozenset[str]:
        """Return which pods there are: that they are kept, or not, is what is measured."""
        page = await self._api.list(PODS, Selection(NAMESPACE))
        return frozenset(pod.metadata.uid for pod in page.items)

    async def _processes(self) -> dict[str, float]:
        """Return since when each member's process runs; nodes share the machine's clock."""
        path = "_nodes/jvm?filter_path=nodes.*.name,nodes.*.jvm.start_time_in_millis"
        nodes = (await self._ask(path))["nodes"].values()
        return {node["name"]: node["jvm"]["start_time_in_millis"] / 1000 for node in nodes}

    async def reads(self) -> tuple[float, ...]:
        """Search for one word after the other, past the cache of requests; return the seconds that each took."""
        found: list[float] = []
        for number in range(READS):
            word = f"word{number * 7919 % VOCABULARY}"
            query = {"size": 10, "_source": ["number"], "query": {"match": {"text": word}}}
            begin = time.perf_counter()
            await self._ask("docs/_search?request_cache=false", "POST", query)
            found.append(time.perf_counter() - begin)
        return tuple(found)

    @asynccontextmanager
    async def _watched(self, *watches: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(each) for each in watches]
            yield
            for task in watching:
                task.cancel()

    async def _watch(self, absences: Absences) -> None:
        while True:
            with suppress(ApiError):
                nodes = (await self._ask("_nodes/_all/none?filter_path=nodes.*.name"))["nodes"].values()
                absences.seen(time.time(), {node["name"] for node in nodes})
            await asyncio.sleep(SAMPLE)

    async def _recoveries(self, recoveries: Recoveries) -> None:
        while True:
            with suppress(ApiError):
                recoveries.seen(await self._ask("_recovery"))
            await asyncio.sleep(1)

    async def _listen(self, diary: Diary) -> None:
        """Read what the agents say, often enough to hear the last words of one whose pod goes."""
        query = {"container": "opensearch", "timestamps": "true", "sinceSeconds": "5"}
        while True:
            for member in (f"{NAME}-all-{n}" for n in range(MEMBERS)):
                with suppress(ApiError):
                    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{member}-0/log"
                    diary.read(member, (await self._api.request(RawRequest(path, "GET", query))).decode())
            await asyncio.sleep(SAMPLE)

    async def _ask(self, path: str, method: str = "GET", body: dict[str, Any] | None = None) -> Any:
        path, _, query = path.partition("?")
        pairs = {key: value for key, _, value in (pair.partition("=") for pair in query.split("&") if pair)}
        full = f"/api/v1/namespaces/{NAMESPACE}/services/{NAME}:http/proxy/{path}"
        return msgspec.json.decode(await self._api.request(RawRequest(full, method, pairs, body)))
