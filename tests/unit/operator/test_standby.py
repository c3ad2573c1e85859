"""A process that stands by answers previews as the one that works does, once its caches are filled."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search_object import SearchObject
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call
from stateward.engines.opensearch import driver
from stateward.kube.cache.reflector import ReflectorOptions
from stateward.kube.client.client import PatchKind
from stateward.kube.election.fence import LostLease
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.operator.assembly import Operator
from stateward.operator.controls import previews
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.runtime.options import OperatorOptions
from stateward.planning.model.database import Unknown
from tests.unit.operator.test_process import KEY, Written, api, stored

__all__ = ["api"]
TEMPLATE = {"index_patterns": ["logs-*"]}
OFFERED = msgspec.convert(
    {
        "metadata": {"name": "one", "namespace": "data"},
        "spec": {
            "cluster": {"kind": "OpenSearchCluster", "name": "logs"},
            "object": "indexTemplate/logs",
            "body": TEMPLATE,
        },
    },
    SearchObject,
)
LABELS = {"stateward.dev/cluster": "logs", "stateward.dev/engine": "opensearch", "stateward.dev/member": "logs-hot-0"}


class EmptyDatabase:
    """A database of one node that has no objects."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def within(self, access: Access) -> "EmptyDatabase":
        assert access
        return self

    async def send(self, call: Call) -> Answer:
        self.calls.append(call)
        answers: dict[str, Any] = {
            "/_cluster/state/master_node,blocks": {"cluster_name": "data.logs", "cluster_uuid": "uuid-1"}
            | {"master_node": "n0", "blocks": {}},
            "/_nodes/http": {"_nodes": {"failed": 0}, "nodes": {"n0": {"version": "2.19.5"}}},
        }
        found = answers.get(call.path)
        return Answer(404, b"{}") if found is None else Answer(200, msgspec.json.encode(found))


async def formed(api: Written) -> None:
    """Let the API server have a formed cluster with a pod."""
    await stored(api)
    status = [{"op": "add", "path": "/status", "value": {"clusterUUID": "uuid-1", "version": "2.19.5"}}]
    await api.patch(OPENSEARCH.resource, KEY, status, kind=PatchKind.JSON, subresource="status")
    pod = {"metadata": {"name": "logs-hot-0-0", "labels": LABELS}, "spec": {"containers": []}}
    await api.create(kinds.PODS, pod, namespace="data")
    address = [{"op": "add", "path": "/status", "value": {"podIP": "10.0.0.1"}}]
    await api.patch(kinds.PODS, Key("data", "logs-hot-0-0"), address, kind=PatchKind.JSON, subresource="status")


def process(api: Written, database: EmptyDatabase, identity: str) -> Operator:
    options = OperatorOptions(lease_namespace="stateward", identity=identity)
    return Operator(api, (OpenSearchFamily(driver(database)),), options)


@asynccontextmanager
async def running(work: Any) -> AsyncGenerator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_both_processes_preview_and_one_that_knows_nothing_yet_says_so(api: Written) -> None:
    await formed(api)
    database = EmptyDatabase()
    leader, standby = process(api, database, "a"), process(api, database, "b")
    async with AsyncExitStack() as stack:
        # Only its election: a leader at work would change the cluster, and this test counts writes.
        await stack.enter_async_context(running(leader.election.run(lambda: None)))
        await leader.election.wait_elected()
        starting = await previews(standby).preview("searchobjects", OFFERED)
        assert (starting.does, starting.reason) == ("wait", "NotKnown")
        assert isinstance(await standby.report("osclusters", KEY), Unknown)
        before = api.writes
        for each in (leader, standby):
            for controller in each.controllers.values():
                for reflector in (*each.objects.reflectors(api, ReflectorOptions()), *controller.reflectors):
                    await stack.enter_async_context(running(reflector.run()))
                await controller.caches.wait_synced()
        found = [await previews(each).preview("searchobjects", OFFERED) for each in (leader, standby)]
        with pytest.raises(LostLease):
            await standby.api.create(kinds.SECRETS.raw(), {"metadata": {"name": "x"}}, namespace="data")
    assert [each.does for each in found] == ["create", "create"]
    assert found[0] == found[1]
    assert api.writes == before
    assert {call.method for call in database.calls} == {"GET"}
