"""Secrets that real members use: in the keystore a restart in place, in a variable new pods, and once for a burst."""

import asyncio
import base64
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.api.values import names
from stateward.kube.client.client import ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.operators import OperatorPods, kubectl
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full]

VERSION = "2.19.3"
NAME = "kept"
FIRST = "plugins.security.ssl.http.truststore_password_secure"
SECOND = "plugins.security.ssl.http.keystore_password_secure"
"""Secure settings that this image knows; a process ends at once when it finds one in its keystore that it does not."""
WORDS = {"envFrom": [{"secretRef": {"name": "words"}}]}
POOLS = [
    pool(
        "all",
        3,
        "cluster_manager",
        "data",
        "ingest",
        podTemplate={"spec": {"containers": [{"name": "opensearch", **WORDS}]}},
    )
]
SPEC: dict[str, Any] = {"version": VERSION, "pools": POOLS, "secureSettings": [{"secretName": "store"}]}


async def put(clusters: Clusters, name: str, values: dict[str, str]) -> None:
    """Write a user's Secret."""
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {"stateward.dev/allowed-for-pods": "true"}},
        "data": data,
    }
    await clusters.api.apply(kinds.SECRETS, Key(clusters.namespace, name), body, ApplyOptions("person", force=True))


async def remove(clusters: Clusters, name: str) -> None:
    key = Key(clusters.namespace, name)
    found = await clusters.api.get(kinds.SECRETS, key)
    await clusters.api.delete(kinds.SECRETS, key, DeleteOptions(Preconditions.of(found)))


async def digests(clusters: Clusters) -> dict[str, str]:
    """Return what the cluster knows of the data that it uses."""
    return (await clusters.get(NAME)).status.data_digests or {}


async def known(clusters: Clusters, before: dict[str, str], *keys: str) -> None:
    """Wait until the cluster knows other data under these keys, and has done all that it asks for."""

    def new(data: dict[str, str] | None) -> bool:
        return all((data or {}).get(key, "") not in {"", before.get(key, "")} for key in keys)

    await clusters.until(NAME, lambda c: new(c.status.data_digests) and settled(c), seconds=600)


async def uids(clusters: Clusters) -> dict[str, str]:
    return {name: pod.metadata.uid for name, pod in (await clusters.pods(NAME)).items()}


async def started(clusters: Clusters) -> dict[str, int]:
    """Return since when each process runs, in milliseconds."""
    answer = await clusters.database(NAME).ask("_nodes/jvm?filter_path=nodes.*.name,nodes.*.jvm.start_time_in_millis")
    return {node["name"]: node["jvm"]["start_time_in_millis"] for node in answer["nodes"].values()}


def inside(sandbox: Sandbox, clusters: Clusters, member: str, *words: str) -> str:
    """Run something in a member's container."""
    return kubectl(
        sandbox, "exec", "-n", clusters.namespace, names.pod(member), "-c", "opensearch", "--", *words
    ).strip()


def keystore(sandbox: Sandbox, clusters: Clusters, member: str) -> set[str]:
    """Return the names of the settings in the keystore of a member, by the database's own tool."""
    tool = ("env", "-u", "OPENSEARCH_JAVA_OPTS", "bin/opensearch-keystore", "list")
    return set(inside(sandbox, clusters, member, *tool).split()) - {"keystore.seed"}


@pytest.mark.images("opensearch:2.19.3")
async def test_a_secret_of_the_keystore_restarts_processes_and_one_in_a_variable_recreates_pods(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    """Every process has read what it has; in kept pods where that is enough; and not one acknowledged write is lost."""
    await put(clusters, "store", {FIRST: "one"})
    await put(clusters, "words", {"WORD": "hush"})
    await clusters.apply(NAME, **SPEC)
    await clusters.until(NAME, settled, seconds=600)
    await clusters.database(NAME).create_index("docs")
    await clusters.until(NAME, settled)
    members = sorted(await clusters.pods(NAME))
    assert [keystore(stateward, clusters, member) for member in members] == [{FIRST}] * 3

    pods, since, data = await uids(clusters), await started(clusters), await digests(clusters)
    async with Writer(clusters.database(NAME), "docs") as writer, Promises(clusters, NAME) as promises:
        # Three writes within the time that changes have to settle: one restart of each process, with all of them.
        await put(clusters, "store", {FIRST: "two"})
        await asyncio.sleep(1.0)
        await put(clusters, "store", {FIRST: "three"})
        await asyncio.sleep(1.0)
        await put(clusters, "store", {FIRST: "three", SECOND: "more"})
        await known(clusters, data, f"keystore/Secret/store:{FIRST}", f"keystore/Secret/store:{SECOND}")
    assert await uids(clusters) == pods
    after = await started(clusters)
    assert all(since[name] != after[name] for name in members)
    assert [keystore(stateward, clusters, member) for member in members] == [{FIRST, SECOND}] * 3
    assert promises.broken == []
    assert await writer.missing() == set()
    assert writer.acknowledged

    # A removed key causes no restart, nor does the death of the operator.
    await remove(clusters, "store")
    await operator.kill()
    await asyncio.sleep(20.0)
    await clusters.until(NAME, settled)
    assert await started(clusters) == after

    data = await digests(clusters)
    async with Writer(clusters.database(NAME), "docs") as last, Promises(clusters, NAME) as kept:
        await put(clusters, "words", {"WORD": "other"})
        await known(clusters, data, "Secret/words:WORD")
    now = await uids(clusters)
    assert all(now[name] != pods[name] for name in members)
    assert [inside(stateward, clusters, member, "printenv", "WORD") for member in members] == ["other"] * 3
    # Recreated while the Secret of the keystore is missing: they have the settings of before.
    assert [keystore(stateward, clusters, member) for member in members] == [{FIRST, SECOND}] * 3
    assert kept.broken == []
    assert await last.missing() == set()
    cluster = await clusters.api.get(clusters.kind.resource.raw(), Key(clusters.namespace, NAME))
    assert not [word for word in ("hush", "aHVzaA", "three", "dGhyZWU") if word in str(cluster["status"])]
