"""The model of the database against the database itself: the same steps, the same picture after each.

`STATEWARD_RECORD=1` writes what was seen to tests/simulation/world/recordings, where the model is compared with it in
every run of the fast tests.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from sandbox import Sandbox
from stateward.engines import opensearch
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, UnreachableError
from stateward.engines.search.spec.flavor import HTTP_PORT
from stateward.kube.client.client import RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import PODS
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.operators import NAMESPACE, kubectl
from tests.simulation.world.replaying import differences
from tests.support.recorded import Ground, Scene, play
from tests.support.sequence import OLD, SEQUENCE

pytestmark = [pytest.mark.e2e, pytest.mark.full]

RECORDINGS = Path(__file__).parents[2] / "simulation/world/recordings"


class Proxied:
    """A driver's transport through the API server's proxy, commands included."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api

    def within(self, access: Access) -> "Proxied":
        return self

    async def send(self, call: Call) -> Answer:
        try:
            raw = RawRequest(call.endpoint + call.path, call.method, call.params, call.body)
            return Answer(200, await self._api.request(raw))
        except ApiError as error:
            if not error.status:
                raise UnreachableError(str(error)) from error
            return Answer(error.status, msgspec.json.encode({"error": error.message}))


@dataclass(frozen=True)
class Behind:
    """The pods of a cluster, behind the API server's proxy."""

    clusters: Clusters
    name: str

    async def endpoints(self) -> tuple[str, ...]:
        pods = sorted((await self.clusters.pods(self.name)).values(), key=lambda p: (not p.ready, p.metadata.name))
        names = [pod.metadata.name for pod in pods if not pod.metadata.terminating]
        return tuple(PODS.path(self.clusters.namespace, f"{name}:{HTTP_PORT}", "proxy") for name in names)


@asynccontextmanager
async def nobody_operates(sandbox: Sandbox) -> AsyncGenerator[None]:
    """Stop the operator while the block runs."""

    def scale(replicas: int) -> None:
        kubectl(sandbox, "-n", NAMESPACE, "scale", "deployment/stateward", f"--replicas={replicas}")
        kubectl(sandbox, "-n", NAMESPACE, "rollout", "status", "deployment/stateward", "--timeout=120s")

    scale(0)
    try:
        yield
    finally:
        scale(1)


@pytest.mark.images("opensearch:2.17.1", "opensearch:2.19.5")
async def test_the_model_does_what_the_database_does(clusters: Clusters, api: HttpApi, stateward: Sandbox) -> None:
    pools = [pool("managers", 3, "cluster_manager"), pool("hot", 3, "data", "ingest")]
    await clusters.apply("model", version=OLD, pools=pools)
    await clusters.until("model", settled, seconds=600)
    transport, key = Proxied(api), Key(clusters.namespace, "model")
    ground = Ground(api, opensearch.driver(transport), transport, Behind(clusters, "model"), key)
    scenes: list[Scene] = []
    try:
        async with nobody_operates(stateward):
            async for scene in play(ground, SEQUENCE):
                scenes.append(scene)  # noqa: PERF401 - what was seen before a failure is kept too
    finally:
        if os.environ.get("STATEWARD_RECORD"):
            write(scenes)
    assert await asyncio.to_thread(differences, scenes) == []


def write(scenes: list[Scene]) -> None:
    lines = b",\n".join(msgspec.json.encode(scene) for scene in scenes)
    (RECORDINGS / f"opensearch-{OLD}.json").write_bytes(b"[\n" + lines + b"\n]\n")
