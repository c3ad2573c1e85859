"""A running operator on a real API server without nodes, with a fake database and a fake kubelet."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.kube.access.config import connect
from stateward.kube.client.client import Api, ApplyOptions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.assembly import Operator
from stateward.operator.controls import restart_control
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.runtime.options import OperatorOptions
from tests.integration.api_server import PATIENCE, define
from tests.support.fakes import FakeDatabase, FakeKubelet


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
class OperatorAtWork:
    """An operator at work in a namespace of its own, with its puppets."""

    api: HttpApi
    counting: CountingApi
    operator: Operator
    kubelet: FakeKubelet
    database: FakeDatabase
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
            # The scheduler would call pods unschedulable here, at moments of its own, when they are Ready already.
            "spec": {"version": "2.19.5", "podTemplate": {"spec": {"schedulerName": "fake"}}, **spec},
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
                    # The cache may not have the newest edit yet, and the earlier state may match.
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


@asynccontextmanager
async def operator_at_work(kubeconfig: Path) -> AsyncGenerator[OperatorAtWork]:
    """Run an operator with a fake database and a fake kubelet."""
    async with HttpApi(connect(kubeconfig=str(kubeconfig))) as api:
        await define(api, CLUSTERS)
        namespace = f"op-{uuid4().hex[:8]}"
        await api.create(kinds.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        counting = CountingApi(api)
        shown: Api = counting  # type: ignore[assignment]
        database = FakeDatabase()
        # Here no process manager restarts an operator that loses its lease on a busy machine.
        options = OperatorOptions(
            namespaces=(namespace,), leader_elect=False, identity="test", lease_namespace=namespace
        )
        operator = Operator(shown, (OpenSearchFamily(database),), options)
        restarts = restart_control(operator)
        operator.follow(restarts.sources)
        operator.companions.append(restarts)
        kubelet = FakeKubelet(api, operator.controllers["opensearch"].caches.of(kinds.PODS), database)
        running = asyncio.create_task(operator.run())
        try:
            yield OperatorAtWork(api, counting, operator, kubelet, database, namespace, running)
        finally:
            await operator.stop()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


POOLS: list[dict[str, Any]] = [
    {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"size": "1Gi"}},
    {"name": "hot", "replicas": 2, "roles": ["data", "ingest"], "storage": {"size": "1Gi"}},
]
