"""Failures of OpenSearch members on real nodes: each is replaced, kept or waited for, and no document is lost."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, pool
from tests.e2e.failing import ready
from tests.e2e.failures import a_broken_volume, no_room_no_end_and_an_upgrade
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "2.17.1", "2.19.5"


def nodes() -> dict[str, Any]:
    return {"pools": [pool("nodes", 3, "cluster_manager", "data", "ingest")]}


@dataclass
class OpenSearch:
    """Three members that do everything, and a writer that knows what was acknowledged."""

    clusters: Clusters
    name: str
    old: str = OLD
    new: str = NEW
    spec: Mapping[str, Any] = field(default_factory=nodes)
    members: int = 3

    async def fill(self) -> None:
        await self.clusters.database(self.name).create_index("docs")
        await self.clusters.database(self.name).ask("_cluster/health?wait_for_status=green&timeout=30s")

    @asynccontextmanager
    async def watched(self) -> AsyncGenerator[None]:
        database = self.clusters.database(self.name)
        async with Writer(database, "docs") as writer, Promises(self.clusters, self.name) as promises:
            yield
        assert promises.broken == []
        assert promises.looks > 5
        assert await writer.missing() == set()

    async def versions(self) -> Mapping[str, str]:
        return await self.clusters.database(self.name).versions()

    async def outside(self, member: str) -> None:
        assert member not in await self.versions()

    async def clean(self) -> None:
        assert not (left := await self.clusters.database(self.name).left_behind()), left


@pytest.mark.images(f"opensearch:{NEW}")
async def test_a_member_whose_volume_is_broken_is_replaced(clusters: Clusters, stateward: Sandbox) -> None:
    done = await a_broken_volume(OpenSearch(clusters, "broken"), stateward, "broken-nodes-1")
    assert ready(done) == {"broken-nodes-0", "broken-nodes-2", "broken-nodes-3"}
    assert done.status.health == "green"


@pytest.mark.images(f"opensearch:{OLD}", f"opensearch:{NEW}")
async def test_a_full_quota_a_pod_that_does_not_end_and_an_upgrade_each_let_a_replacement_finish(
    clusters: Clusters, stateward: Sandbox
) -> None:
    members = ("room-nodes-0", "room-nodes-1", "room-nodes-2")
    await no_room_no_end_and_an_upgrade(OpenSearch(clusters, "room"), stateward, members)
