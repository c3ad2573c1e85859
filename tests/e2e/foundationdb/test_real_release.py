"""Real FoundationDB processes of one version become those of another: no acknowledged key is lost."""

import pytest

from sandbox.foundationdb import real
from tests.e2e.clusters import Clusters, settled
from tests.e2e.foundationdb.database import Fdb
from tests.e2e.foundationdb.real_clusters import CHANGED, apply, written

VERSION, LATER = real.versions()
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.full,
    pytest.mark.images(f"foundationdb-real:{VERSION}", f"foundationdb-real:{LATER}"),
]


async def test_a_real_patch_release(clusters: Clusters, fdb: Fdb) -> None:
    async with written(clusters, fdb, "patched", VERSION):
        await apply(clusters, "patched", LATER)
        await clusters.until("patched", lambda c: settled(c) and c.status.version == LATER, seconds=CHANGED * 2)
        assert {p["version"] for p in (await fdb.processes("patched")).values()} == {LATER}
