"""Volumes grow by themselves before the database's disks are full: on file systems that are as large as the claims."""

import asyncio
import base64
import io
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import DiskStatus
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.resource import Selection
from tests.e2e.clusters import Clusters, Database, pool, settled
from tests.e2e.operators import OperatorPods, kubectl
from tests.e2e.secured import Client
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5")]

NAME, VERSION = "filled", "2.19.5"
SIZE, GROWN, LARGEST = "512Mi", "768Mi", "1Gi"
MIB = 2**20
GROW = {"max": LARGEST, "when": "60%", "by": "50%"}
ONE_COPY = {
    "settings": {
        "index": {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            # Little of the disk is used twice, by the translog or by a merge.
            "translog.flush_threshold_size": "16mb",
            "merge.policy.max_merged_segment": "20mb",
        }
    },
    "mappings": {"enabled": False},
}
FLOOD = 95.0
"""The percentage of a disk at which the database refuses to write into the indices there."""


def pools(storage_class: str) -> list[dict[str, Any]]:
    storage = {"size": SIZE, "storageClass": storage_class, "grow": GROW}
    return [pool("managers", 1, "cluster_manager"), pool("hot", 2, "data", "ingest", storage=storage)]


def disk(cluster: Cluster) -> DiskStatus:
    return next((p.disk for p in cluster.status.pools if p.name == "hot" and p.disk is not None), DiskStatus())


@dataclass
class Filler:
    """Writes large documents, of which the database knows nothing but their bytes."""

    person: Client
    database: Database
    written: int = 0
    fullest: float = field(default=0.0)
    """The highest use of a disk so far, in percent, as the database reports it."""

    async def used(self) -> float:
        """Return the use of the fullest disk, in percent."""
        answer = await self.database.ask("_nodes/data:true/stats/fs")
        totals = [node["fs"]["total"] for node in answer["nodes"].values()]
        now = max(100 - 100 * each["available_in_bytes"] / each["total_in_bytes"] for each in totals)
        self.fullest = max(self.fullest, now)
        return now

    async def write(self, mebibytes: int) -> None:
        """Write so many mebibytes; fails if the database refuses a document."""
        for _ in range(mebibytes // 2):
            lines = ""
            for _ in range(8):
                text = base64.b64encode(os.urandom(MIB // 4 * 3 // 4)).decode()
                lines += json.dumps({"index": {"_id": f"b{self.written}"}}) + "\n" + json.dumps({"text": text}) + "\n"
                self.written += 1
            url, head = f"{self.person.url}/big/_bulk", {"Content-Type": "application/x-ndjson"}
            async with self.person.session.post(url, data=io.BytesIO(lines.encode()), headers=head) as answer:
                found = await answer.json()
            assert found["errors"] is False, found

    async def until(self, percent: float) -> None:
        """Write until a disk is so full."""
        while await self.used() < percent:
            await self.write(8)

    @asynccontextmanager
    async def kept_at(self, percent: float) -> AsyncGenerator[None]:
        """Write until a disk is so full, and again when merges have given back what was there twice."""

        async def write() -> None:
            while True:
                await self.until(percent)
                await asyncio.sleep(1)

        await self.until(percent)
        task = asyncio.create_task(write())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def count(self) -> int:
        await self.database.ask("big/_refresh", "POST")
        return (await self.database.ask("big/_count"))["count"]


def remember_hours(clusters: Clusters, sandbox: Sandbox, cluster: Cluster) -> None:
    """Give the operator the measurements of hours, in which a disk filled by 2 MiB an hour."""
    now, used = datetime.now(UTC), disk(cluster).samples[-1].used_bytes
    samples = [
        {"time": f"{now - timedelta(hours=ago):%Y-%m-%dT%H:%M:%SZ}", "usedBytes": used - ago * 2 * MIB}
        for ago in range(8, -1, -1)
    ]
    index = [p.name for p in cluster.status.pools].index("hot")
    patch = [{"op": "replace", "path": f"/status/pools/{index}/disk/samples", "value": samples}]
    words = ("-n", clusters.namespace, "patch", f"oscluster/{NAME}", "--subresource=status", "--type=json", "-p")
    kubectl(sandbox, *words, json.dumps(patch))


async def capacities(clusters: Clusters) -> list[str]:
    """Return the sizes that the volumes of the pool have."""
    labels = f"stateward.dev/cluster={NAME}"
    claims = (await clusters.api.list(kinds.CLAIMS.raw(), Selection(clusters.namespace, labels=labels))).items
    return [each["status"]["capacity"]["storage"] for each in claims if "hot" in each["metadata"]["name"]]


async def starts(clusters: Clusters) -> dict[str, tuple[str, int]]:
    """Return each pod, and when its process began."""
    answer = await clusters.database(NAME).ask("_nodes/jvm")
    begun = {node["name"]: node["jvm"]["start_time_in_millis"] for node in answer["nodes"].values()}
    return {name: (pod.metadata.uid, begun[name]) for name, pod in (await clusters.pods(NAME)).items()}


async def test_volumes_grow_before_a_disk_is_full_while_documents_are_written(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    storage_class = stateward.limit_volumes()
    await clusters.apply(NAME, version=VERSION, pools=pools(storage_class))
    await clusters.until(NAME, settled, seconds=600)
    measured = await clusters.until(NAME, lambda c: bool(disk(c).samples), seconds=180)
    assert disk(measured).volume_size == SIZE
    before, database = await starts(clusters), clusters.database(NAME)
    await database.create_index("docs")
    await database.ask("big", "PUT", ONE_COPY)
    remember_hours(clusters, stateward, measured)
    # A settled cluster is looked at once a minute, and nothing reports a changed status.
    told = await clusters.until(NAME, lambda c: bool(disk(c).full_time), seconds=180)
    days = (datetime.fromisoformat(disk(told).full_time) - datetime.now(UTC)) / timedelta(days=1)
    assert 15 < days < 22, disk(told)  # 1 GiB less what the file system takes, by 2 MiB an hour

    async with (
        Client.plain(stateward, f"{NAME}.{clusters.namespace}.svc") as person,
        Writer(database, "docs") as writer,
        Promises(clusters, NAME, most_down=0) as promises,
    ):
        filler = Filler(person, database)
        async with filler.kept_at(61):
            await operator.kill()
            await clusters.until(NAME, lambda c: settled(c) and disk(c).volume_size == GROWN, seconds=180)
        assert await capacities(clusters) == [GROWN, GROWN]
        await clusters.until(NAME, lambda c: disk(c).used_percent < 60, seconds=180)

        async with filler.kept_at(61):  # More than a volume had in the beginning, and too early for the next one.
            waiting = await clusters.until(NAME, lambda c: bool(c.status.waiting), seconds=180)
        assert [wait.reason for wait in waiting.status.waiting] == ["VolumeChangedRecently"]
        assert filler.fullest < FLOOD
    assert await starts(clusters) == before
    assert promises.broken == []
    assert await writer.missing() == set()
    assert await filler.count() == filler.written
