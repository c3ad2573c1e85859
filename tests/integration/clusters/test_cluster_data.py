"""Secrets that members use, on a real API server: a watch sees them change, and the ordinary plan rolls that out."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.kube.client.client import ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import PODS, SECRETS
from stateward.operator.objects.caches import CLUSTERS
from tests.integration.clusters.operator_at_work import POOLS, OperatorAtWork, operator_at_work, settled

pytestmark = pytest.mark.integration

ENV: dict[str, Any] = {
    "spec": {
        "schedulerName": "fake",
        "containers": [{"name": "opensearch", "envFrom": [{"secretRef": {"name": "words", "optional": True}}]}],
    }
}
USING: list[dict[str, Any]] = [POOLS[0], {**POOLS[1], "podTemplate": ENV}]
HOT = ["logs-hot-1", "logs-hot-0"]


async def put(work: OperatorAtWork, name: str, skip: str = "", **values: str) -> None:
    notes = {"stateward.dev/skip-restart": skip} if skip else {}
    meta = {"name": name, "annotations": notes}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": values}
    await work.api.apply(SECRETS.raw(), Key(work.namespace, name), body, ApplyOptions("person", force=True))


async def remove(work: OperatorAtWork, name: str) -> None:
    key = Key(work.namespace, name)
    found = await work.api.get(SECRETS, key)
    await work.api.delete(SECRETS, key, DeleteOptions(Preconditions.of(found)))


def digest(cluster: Cluster, name: str) -> str:
    return (cluster.status.data_digests or {}).get(name, "")


async def known(work: OperatorAtWork, name: str, other: str = "") -> str:
    """Wait until the cluster is settled and knows a key, as another one than it was; return its digest."""
    found = await work.until("logs", lambda c: settled(c) and digest(c, name) not in ("", other))
    return digest(found, name)


async def test_a_changed_variable_recreates_the_pods_that_have_it_and_nothing_else_does(control_plane: Path) -> None:
    async with operator_at_work(control_plane) as work:
        await work.apply("logs", pools=USING)
        await work.until("logs", settled)

        await put(work, "words", WORD="hush")
        first = await known(work, "Secret/words:WORD")
        assert work.kubelet.stopped == []

        await put(work, "words", WORD="other")
        second = await known(work, "Secret/words:WORD", first)
        assert work.kubelet.stopped == HOT

        await remove(work, "words")
        await work.until("logs", lambda c: settled(c) and not digest(c, "Secret/words:WORD"))
        await put(work, "words", WORD="other")
        assert await known(work, "Secret/words:WORD") == second
        await put(work, "words", skip="WORD", WORD="third")
        await known(work, "Secret/words:WORD", second)
        assert work.kubelet.stopped == HOT

        pod = await work.api.get(PODS.raw(), Key(work.namespace, "logs-hot-0-0"))
        cluster = await work.api.get(CLUSTERS.raw(), Key(work.namespace, "logs"))
        shown = f"{pod['metadata']}{cluster}"
        assert not [word for word in ("hush", "aHVzaA", "b3RoZXI") if word in shown]


async def test_a_secret_of_the_keystore_is_waited_for_and_its_change_reaches_every_member(control_plane: Path) -> None:
    async with operator_at_work(control_plane) as work:
        await work.apply("logs", pools=POOLS, secureSettings=[{"secretName": "store"}])
        await work.until("logs", lambda c: any(w.reason == "SecretMissing" for w in c.status.waiting))
        assert "secrets logs" not in f"{work.counting.writes}"

        await put(work, "store", word="one")
        first = await known(work, "keystore/Secret/store:word")
        assert work.kubelet.stopped == []

        await put(work, "store", word="two")
        await known(work, "keystore/Secret/store:word", first)
        assert len(work.kubelet.stopped) == 5
        before = await configuration(work)

        await remove(work, "store")
        work.operator.controllers["opensearch"].queue.add(Key(work.namespace, "logs"))
        await asyncio.sleep(1.0)
        await work.until("logs", settled)
        assert await configuration(work) == before
        assert len(work.kubelet.stopped) == 5


async def configuration(work: OperatorAtWork) -> dict[str, str]:
    """Return what the configuration of a member has for its keystore, and the checksum that its pod waits for."""
    raw = await work.api.get(SECRETS.raw(), Key(work.namespace, "logs-hot-0"))
    checksum = {"checksum": raw["metadata"]["annotations"][names.ANNOTATION_CHECKSUM]}
    return {name: value for name, value in raw["data"].items() if "keystore" in name} | checksum
