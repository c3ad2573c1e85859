"""One secured cluster searches another: once both have written it, across restarts, and until it is taken back."""

import asyncio
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.kinds import OPENSEARCH, ClusterKind
from tests.e2e.clusters import Clusters, Condition, pool, settled
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import Client, client, on_both_engines, places, reached, ready, secret

pytestmark = [pytest.mark.e2e, pytest.mark.full]

DOCUMENTS = 25
SEARCH = "east:orders/_search?size=0&track_total_hits=true"
PATIENCE = 300.0
"""Seconds for a changed CA to reach all pods, and for members to connect."""


def waits_for(reason: str) -> Condition:
    def holds(cluster: Cluster) -> bool:
        return [each.reason for each in cluster.status.remote_clusters or ()] == [reason]

    return holds


def connected(cluster: Cluster) -> bool:
    return [each.state for each in cluster.status.remote_clusters or ()] == ["Connected"]


async def found(person: Client) -> int:
    """Return the documents that a search in the other cluster finds; -1 if it fails or leaves the cluster out."""
    status, answer = await person.ask(SEARCH)
    if status != 200 or answer["_clusters"]["successful"] != 1:
        return -1
    return int(answer["hits"]["total"]["value"])


async def finds(person: Client, number: int) -> None:
    last = -2
    async with asyncio.timeout(PATIENCE):
        while last != number:
            last = await found(person)
            await asyncio.sleep(1)


async def trust(clusters: Clusters, name: str) -> str:
    return (await secret(clusters.api, clusters.namespace, f"{name}-tls"))["ca.crt"]


async def authority(clusters: Clusters, name: str) -> str:
    return (await secret(clusters.api, clusters.namespace, f"{name}-ca"))["ca.crt"]


async def remote_settings(person: Client) -> dict[str, str]:
    status, answer = await person.ask("_cluster/settings?flat_settings=true")
    assert status == 200
    return {key: value for key, value in answer["persistent"].items() if key.startswith("cluster.remote.")}


@on_both_engines
async def test_one_secured_cluster_searches_another_across_restarts_until_it_is_taken_back(
    clusters: Clusters,
    stateward: Sandbox,
    operator: OperatorPods,
    cluster_kind: ClusterKind,
    version: str,
    manager: str,
) -> None:
    """Searches find all documents of the other cluster when they may, and none before and after."""
    assert clusters.kind is cluster_kind
    roles = (manager, "data", "ingest", "remote_cluster_client")
    logs: dict[str, Any] = {"version": version, "pools": [pool("nodes", 1, *roles)], "security": {"enabled": True}}
    events: dict[str, Any] = {**logs, "pools": [pool("nodes", 2, *roles)]}
    asked = {"remoteClusters": [{"name": "east", "cluster": {"name": "events"}}]}
    lets = {"remoteAccess": {"from": [{"name": "logs"}]}}
    await clusters.apply("logs", **logs)
    await clusters.apply("events", **events)
    for name in ("logs", "events"):
        await clusters.until(name, ready, seconds=600)
    async with client(stateward, clusters, "events") as person:
        for number in range(DOCUMENTS):
            assert (await person.ask(f"orders/_doc/{number}", "PUT", {"n": number}))[0] == 201
        assert (await person.ask("orders/_refresh", "POST"))[0] == 200
    before = await places(clusters, "events")
    searching = await places(clusters, "logs")

    await clusters.apply("logs", **logs, **asked)
    await clusters.until("logs", waits_for("RemoteClusterNotAllowed"), seconds=60)
    assert await trust(clusters, "logs") == await authority(clusters, "logs")

    await clusters.apply("events", **events, **lets)
    if cluster_kind is OPENSEARCH:  # Consent restarts the members of the one that is searched.
        await reached(clusters, "events", "stop")
    await operator.kill()
    await clusters.until("events", settled, seconds=600)
    await clusters.until("logs", connected, seconds=PATIENCE)
    assert await places(clusters, "events") == before, "its processes restarted in their pods"
    assert await places(clusters, "logs") == searching, "nothing of the one that searches has restarted"
    assert await authority(clusters, "events") in await trust(clusters, "logs")
    assert await authority(clusters, "logs") in await trust(clusters, "events")

    async with client(stateward, clusters, "logs") as person:
        await finds(person, DOCUMENTS)
        assert {key.rpartition(".")[2] for key in await remote_settings(person)} == {
            "mode",
            "proxy_address",
            "skip_unavailable",
        }
        for name, pod in (await clusters.pods("events")).items():
            place = Key(clusters.namespace, pod.metadata.name)
            await clusters.api.delete(kinds.PODS, place, DeleteOptions(Preconditions(pod.metadata.uid)))
            await clusters.until("events", lambda c: not settled(c), seconds=120)
            await clusters.until("events", settled, seconds=600)
            assert (await clusters.pods("events"))[name].metadata.uid != pod.metadata.uid
        await finds(person, DOCUMENTS)

        await clusters.apply("logs", **logs)
        await operator.kill()
        await clusters.until("logs", lambda c: not c.status.remote_clusters, seconds=PATIENCE)
        assert await remote_settings(person) == {}
        assert await found(person) == -1

    await clusters.apply("events", **events)
    await clusters.until("events", lambda c: settled(c) and c.status.remote_access is None, seconds=600)
    for name in ("logs", "events"):
        assert await trust(clusters, name) == await authority(clusters, name)
    with pytest.raises(NotFound):
        await clusters.api.get(kinds.SERVICES, Key(clusters.namespace, "events-remote"))
