"""What members of FoundationDB fail by, in real pods: each is replaced, held or waited for, and no data is lost."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters
from tests.e2e.failures import a_broken_volume, a_machine_that_stays_away, no_room_no_end_and_an_upgrade
from tests.e2e.foundationdb.database import Fdb, Watch, pools
from tests.e2e.operators import OperatorPods

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "7.1.57", "7.1.67"


def eight() -> dict[str, Any]:
    return {"pools": pools()}


def crowded() -> dict[str, Any]:
    """Return members that are fault domains by themselves: on three machines, one of which is away, two are left."""
    return {"pools": pools(), "faultDomain": "Member"}


@dataclass
class FoundationDB:
    """Eight members, looked at every second: no data without a replica, no generation of logs lost."""

    clusters: Clusters
    fdb: Fdb
    name: str
    old: str = OLD
    new: str = NEW
    spec: Mapping[str, Any] = field(default_factory=eight)
    members: int = 8

    async def fill(self) -> None:
        """Do nothing: the stand-in has data from its beginning."""

    @asynccontextmanager
    async def watched(self) -> AsyncGenerator[None]:
        async with Watch(self.fdb, self.name) as watch:
            yield
        assert watch.broken == []
        assert watch.looks > 5

    async def versions(self) -> Mapping[str, str]:
        found = await self.fdb.processes(self.name)
        return {name: process["version"] for name, process in found.items()}

    async def outside(self, member: str) -> None:
        """It stays excluded: its process may return from an unreachable node."""
        assert await self.fdb.excluded(self.name) == [f"locality_instance_id:{member}"]

    async def clean(self) -> None:
        assert await self.fdb.excluded(self.name) == []


@pytest.mark.images(f"foundationdb:{NEW}")
async def test_members_of_a_machine_that_stays_away_are_replaced_and_do_no_harm_when_it_comes_back(
    clusters: Clusters, operator: OperatorPods, stateward: Sandbox, fdb: Fdb
) -> None:
    subject = FoundationDB(clusters, fdb, "failed", spec=crowded())
    lost = await a_machine_that_stays_away(subject, stateward, operator)
    coordinators = await fdb.coordinators("failed")
    assert lost.isdisjoint(coordinators)
    assert len(coordinators) == 3


@pytest.mark.images(f"foundationdb:{NEW}")
async def test_a_member_whose_volume_is_broken_is_replaced(clusters: Clusters, stateward: Sandbox, fdb: Fdb) -> None:
    await a_broken_volume(FoundationDB(clusters, fdb, "broken"), stateward, "broken-storage-1")
    assert "broken-storage-1" not in await fdb.coordinators("broken")


@pytest.mark.images(f"foundationdb:{OLD}", f"foundationdb:{NEW}")
async def test_a_full_quota_a_pod_that_does_not_end_and_an_upgrade_each_let_a_replacement_finish(
    clusters: Clusters, stateward: Sandbox, fdb: Fdb
) -> None:
    members = ("room-storage-0", "room-storage-1", "room-log-1")
    await no_room_no_end_and_an_upgrade(FoundationDB(clusters, fdb, "room"), stateward, members)
