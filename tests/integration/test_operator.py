"""The operator on a real API server: what it creates, what it leaves alone, and that settled means silent."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from stateward.api import names
from stateward.api.cluster import Cluster
from stateward.kube import resources as kinds
from stateward.kube.client import Api, ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.config import connect
from stateward.kube.errors import UnknownResource
from stateward.kube.http_client import HttpApi
from stateward.kube.metadata import Key, PartialObject
from stateward.kube.resource import Resource, Selection
from stateward.operator.caches import CLUSTERS
from stateward.operator.engine import OpenSearchFamily
from stateward.operator.options import OperatorOptions
from stateward.operator.process import Operator
from tests.support.puppet import PuppetDatabase, PuppetKubelet

pytestmark = pytest.mark.integration

CRD = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    PartialObject,
    namespaced=False,
)
DEFINITION = Path(__file__).parents[2] / "charts/stateward/crds/stateward.dev_opensearchclusters.yaml"
PATIENCE = 180.0


class CountingApi:
    """The real API, with a list of the writes that went through it."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api
        self.writes: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._api, name)
        if name not in {"create", "apply", "patch", "delete"}:
            return method

        async def counted(resource: Resource[Any], *args: Any, **options: Any) -> Any:
            if resource.plural not in {"leases", "events"}:
                self.writes.append(f"{name} {resource.plural} {' '.join(map(str, args))}")
            return await method(resource, *args, **options)

        return counted


@dataclass
class Stage:
    """An operator at work in a namespace of its own, with its puppets."""

    api: HttpApi
    counting: CountingApi
    operator: Operator
    kubelet: PuppetKubelet
    database: PuppetDatabase
    namespace: str
    running: asyncio.Task[None]
    generation: int = 0

    async def cluster(self, name: str) -> Cluster:
        return await self.api.get(CLUSTERS, Key(self.namespace, name))

    async def apply(self, name: str, **spec: Any) -> None:
        body = {
            "apiVersion": "stateward.dev/v1alpha1",
            "kind": "OpenSearchCluster",
            "metadata": {"name": name, "namespace": self.namespace},
            # The scheduler would call pods unschedulable here, at moments of its own, that the puppet has made Ready.
            "spec": {"version": "2.19.5", "podTemplate": {"spec": {"schedulerName": "puppet"}}, **spec},
        }
        applied = await self.api.apply(CLUSTERS, Key(self.namespace, name), body, ApplyOptions("test", force=True))
        self.generation = applied.metadata.generation

    async def until(self, name: str, holds: Callable[[Cluster], bool]) -> Cluster:
        """Wait for the watch to show a cluster of which something holds."""
        key = Key(self.namespace, name)
        changed = asyncio.Event()
        self.operator.controllers["opensearch"].caches.clusters.subscribe(lambda _: changed.set())
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    found = self.operator.controllers["opensearch"].caches.clusters.get(key)
                    # The cache may not have heard of the newest edit yet, and the state before it may well fit.
                    if found is not None and found.metadata.generation >= self.generation and holds(found):
                        return found
                    changed.clear()
                    await self.while_running(changed.wait())
        except TimeoutError:
            caches = self.operator.controllers["opensearch"].caches
            unmet = ", ".join(map(str, caches.expectations(key).unmet()))
            pytest.fail(f"after {PATIENCE} s: {unmet} {caches.clusters.get(key)}")

    async def while_running(self, work: Coroutine[Any, Any, Any]) -> None:
        """Wait for something that the operator brings about; an operator that ended says why."""
        waiting = asyncio.ensure_future(work)
        try:
            await asyncio.wait({waiting, self.running}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self.running.done():
            self.running.result()
            pytest.fail("the operator has ended")


def settled(cluster: Cluster) -> bool:
    ready = next((c for c in cluster.status.conditions if c.type == "Ready"), None)
    return (
        ready is not None
        and ready.status == "True"
        and cluster.status.observed_generation == cluster.metadata.generation
    )


async def served(api: HttpApi) -> None:
    """Wait until the API server serves the clusters: it does a moment after it has taken the definition."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await api.list(CLUSTERS, Selection("default"))
            except UnknownResource:
                await asyncio.sleep(0.1)
            else:
                return


@asynccontextmanager
async def on_stage(kubeconfig: Path) -> AsyncGenerator[Stage]:
    async with HttpApi(connect(kubeconfig=str(kubeconfig))) as api:
        await api.apply(
            CRD,
            Key("", "opensearchclusters.stateward.dev"),
            yaml.safe_load(DEFINITION.read_text()),
            ApplyOptions("test", force=True),
        )
        await served(api)
        namespace = f"op-{uuid4().hex[:8]}"
        await api.create(kinds.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        counting = CountingApi(api)
        shown: Api = counting  # type: ignore[assignment]
        database = PuppetDatabase()
        # Nobody starts an operator again here that ends because a busy machine kept it from renewing its lease.
        options = OperatorOptions(namespaces=(namespace,), leader_elect=False, identity="test")
        operator = Operator(shown, (OpenSearchFamily(database),), options)
        kubelet = PuppetKubelet(api, operator.controllers["opensearch"].caches.of(kinds.PODS), database)
        running = asyncio.create_task(operator.run())
        try:
            yield Stage(api, counting, operator, kubelet, database, namespace, running)
        finally:
            await operator.stop()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


POOLS: list[dict[str, Any]] = [
    {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"size": "1Gi"}},
    {"name": "hot", "replicas": 2, "roles": ["data", "ingest"], "storage": {"size": "1Gi"}},
]


async def test_a_cluster_is_created_settles_and_then_nothing_is_written(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        cluster = await stage.until("logs", settled)
        assert cluster.status.version == "2.19.5"
        assert cluster.status.ready == "5/5"
        assert cluster.status.cluster_uuid == "puppet"
        before = cluster.status
        stage.counting.writes.clear()
        for _ in range(5):
            stage.operator.controllers["opensearch"].queue.add(Key(stage.namespace, "logs"))
            await asyncio.sleep(0.2)
        if stage.counting.writes:
            pytest.fail(f"{stage.counting.writes}\n{before}\n{(await stage.cluster('logs')).status}")


async def test_a_configuration_change_restarts_each_member_once_and_managers_last(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        await stage.until("logs", settled)
        stage.kubelet.stopped.clear()
        await stage.apply("logs", pools=POOLS, config={"action.auto_create_index": False})
        await stage.until("logs", settled)
        assert sorted(stage.kubelet.stopped) == ["logs-hot-0", "logs-hot-1", *(f"logs-managers-{i}" for i in range(3))]
        assert stage.kubelet.stopped[:2] == ["logs-hot-1", "logs-hot-0"]
        # The elected one is last.
        assert stage.kubelet.stopped[-1] == "logs-managers-0"


async def test_growing_and_shrinking_restarts_nobody_and_keeps_the_volume(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        await stage.until("logs", settled)
        stage.kubelet.stopped.clear()
        await stage.apply("logs", pools=[POOLS[0], POOLS[1] | {"replicas": 4}])
        await stage.until("logs", settled)
        assert stage.kubelet.stopped == []
        await stage.apply("logs", pools=POOLS)
        await stage.until("logs", settled)
        assert sorted(stage.kubelet.stopped) == ["logs-hot-2", "logs-hot-3"]
        kept = await stage.api.get(kinds.CLAIMS, Key(stage.namespace, names.claim("logs-hot-3")))
        assert not kept.metadata.terminating
        assert stage.database.draining == frozenset()


async def test_a_deleted_cluster_takes_its_objects_with_it_but_not_its_volumes(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        cluster = await stage.until("logs", settled)
        await stage.api.delete(
            CLUSTERS, Key(stage.namespace, "logs"), DeleteOptions(Preconditions(cluster.metadata.uid))
        )
        caches = stage.operator.controllers["opensearch"].caches
        left = asyncio.Event()
        sets, pods = caches.of(kinds.STATEFUL_SETS), caches.of(kinds.PODS)
        for store in (sets, pods):
            store.subscribe(lambda _: left.set())
        async with asyncio.timeout(PATIENCE):
            while len(sets) or len(pods):
                left.clear()
                await stage.while_running(left.wait())
        assert len(caches.of(kinds.CLAIMS)) == 5


async def test_a_second_edit_while_the_first_rolls_ends_in_the_newest_state(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        await stage.until("logs", settled)
        await stage.apply("logs", pools=POOLS, config={"action.auto_create_index": False})
        await stage.until("logs", lambda c: any(m.state == "Restarting" for m in c.status.member_states))
        await stage.apply("logs", pools=POOLS, config={"action.auto_create_index": True})
        await stage.until("logs", settled)
        secret = await stage.api.get(kinds.SECRETS.raw(), Key(stage.namespace, "logs-hot-0"))
        assert "inputs" in str(secret["metadata"]["annotations"])
        pods = stage.operator.controllers["opensearch"].caches.of(kinds.PODS).all()
        assert (
            len({pod.metadata.annotations[names.ANNOTATION_INPUTS] for pod in pods if "hot" in pod.metadata.name}) == 1
        )
