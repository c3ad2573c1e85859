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
from tests.integration.stage import POOLS, Stage, on_stage, settled

pytestmark = pytest.mark.integration

ENV: dict[str, Any] = {
    "spec": {
        "schedulerName": "puppet",
        "containers": [{"name": "opensearch", "envFrom": [{"secretRef": {"name": "words", "optional": True}}]}],
    }
}
USING: list[dict[str, Any]] = [POOLS[0], {**POOLS[1], "podTemplate": ENV}]
HOT = ["logs-hot-1", "logs-hot-0"]


async def put(stage: Stage, name: str, skip: str = "", **values: str) -> None:
    notes = {"stateward.dev/skip-restart": skip} if skip else {}
    meta = {"name": name, "annotations": notes}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": values}
    await stage.api.apply(SECRETS.raw(), Key(stage.namespace, name), body, ApplyOptions("person", force=True))


async def remove(stage: Stage, name: str) -> None:
    key = Key(stage.namespace, name)
    found = await stage.api.get(SECRETS, key)
    await stage.api.delete(SECRETS, key, DeleteOptions(Preconditions.of(found)))


def digest(cluster: Cluster, name: str) -> str:
    return (cluster.status.data or {}).get(name, "")


async def known(stage: Stage, name: str, other: str = "") -> str:
    """Wait until the cluster is settled and knows a key, as another one than it was; return its digest."""
    found = await stage.until("logs", lambda c: settled(c) and digest(c, name) not in ("", other))
    return digest(found, name)


async def test_a_changed_variable_makes_the_pods_that_have_it_anew_and_nothing_else_does(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=USING)
        await stage.until("logs", settled)

        await put(stage, "words", WORD="hush")
        first = await known(stage, "Secret/words:WORD")
        assert stage.kubelet.stopped == []

        await put(stage, "words", WORD="other")
        second = await known(stage, "Secret/words:WORD", first)
        assert stage.kubelet.stopped == HOT

        await remove(stage, "words")
        await stage.until("logs", lambda c: settled(c) and not digest(c, "Secret/words:WORD"))
        await put(stage, "words", WORD="other")
        assert await known(stage, "Secret/words:WORD") == second
        await put(stage, "words", skip="WORD", WORD="third")
        await known(stage, "Secret/words:WORD", second)
        assert stage.kubelet.stopped == HOT

        pod = await stage.api.get(PODS.raw(), Key(stage.namespace, "logs-hot-0-0"))
        cluster = await stage.api.get(CLUSTERS.raw(), Key(stage.namespace, "logs"))
        shown = f"{pod['metadata']}{cluster}"
        assert not [word for word in ("hush", "aHVzaA", "b3RoZXI") if word in shown]


async def test_a_secret_of_the_keystore_is_waited_for_and_its_change_reaches_every_member(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS, secureSettings=[{"secretName": "store"}])
        await stage.until("logs", lambda c: any(w.reason == "SecretMissing" for w in c.status.waiting))
        assert "secrets logs" not in f"{stage.counting.writes}"

        await put(stage, "store", word="one")
        first = await known(stage, "keystore/Secret/store:word")
        assert stage.kubelet.stopped == []

        await put(stage, "store", word="two")
        await known(stage, "keystore/Secret/store:word", first)
        assert len(stage.kubelet.stopped) == 5
        before = await configuration(stage)

        await remove(stage, "store")
        stage.operator.controllers["opensearch"].queue.add(Key(stage.namespace, "logs"))
        await asyncio.sleep(1.0)
        await stage.until("logs", settled)
        assert await configuration(stage) == before
        assert len(stage.kubelet.stopped) == 5


async def configuration(stage: Stage) -> dict[str, str]:
    """Return what the configuration of a member has for its keystore, and the checksum that its pod waits for."""
    raw = await stage.api.get(SECRETS.raw(), Key(stage.namespace, "logs-hot-0"))
    checksum = {"checksum": raw["metadata"]["annotations"][names.ANNOTATION_CHECKSUM]}
    return {name: value for name, value in raw["data"].items() if "keystore" in name} | checksum
