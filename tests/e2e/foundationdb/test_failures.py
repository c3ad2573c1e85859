"""What members of FoundationDB fail by, in real pods: each is replaced, held or waited for, and no data is lost."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, settled
from tests.e2e.failing import away, break_volume, held, no_room, phase, ready
from tests.e2e.foundationdb.database import Fdb, Watch, pools
from tests.e2e.operators import OperatorPods

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "7.1.57", "7.1.67"
AFTER = {"enabled": True, "after": "60s"}


@pytest.mark.images(f"foundationdb:{NEW}")
async def test_members_of_a_machine_that_stays_away_are_replaced_and_do_no_harm_when_it_comes_back(
    clusters: Clusters, operator: OperatorPods, stateward: Sandbox, fdb: Fdb
) -> None:
    await clusters.apply("failed", version=NEW, pools=pools(), faultDomain="Member", replacement=AFTER)
    await clusters.until("failed", settled, seconds=300)
    spared = {pod.spec.node_name for pod in await operator.pods()}
    pods = await clusters.pods("failed")
    machine = next(pod.spec.node_name for _, pod in sorted(pods.items()) if pod.spec.node_name not in spared)
    lost = {name for name, pod in pods.items() if pod.spec.node_name == machine}
    with away(stateward, machine):
        await clusters.until("failed", lambda c: lost.isdisjoint(ready(c)) and settled(c), seconds=600)
        assert lost.isdisjoint(await fdb.coordinators("failed"))
    await clusters.until(
        "failed",
        lambda c: settled(c) and not {r.phase for r in c.status.pending_removals} - {"VolumeKept"},
        seconds=300,
    )
    assert lost.isdisjoint(await fdb.processes("failed"))
    assert await fdb.excluded("failed") == []


@pytest.mark.images(f"foundationdb:{NEW}")
async def test_a_member_whose_volume_is_broken_is_replaced(clusters: Clusters, stateward: Sandbox, fdb: Fdb) -> None:
    await clusters.apply("broken", version=NEW, pools=pools(), replacement=AFTER)
    await clusters.until("broken", settled, seconds=300)
    member = "broken-storage-1"
    async with Watch(fdb, "broken") as watch:
        await break_volume(stateward, clusters, member)
        await clusters.until("broken", lambda c: phase(c, member) != "", seconds=240)
        done = await clusters.until("broken", lambda c: settled(c) and member not in ready(c), seconds=420)
    assert watch.broken == []
    assert len(ready(done)) == 8
    assert member not in await fdb.coordinators("broken")
    assert await fdb.excluded("broken") == []


@pytest.mark.images(f"foundationdb:{OLD}", f"foundationdb:{NEW}")
async def test_a_full_quota_a_pod_that_does_not_end_and_an_upgrade_each_let_a_replacement_finish(
    clusters: Clusters, stateward: Sandbox, fdb: Fdb
) -> None:
    await clusters.apply("room", version=OLD, pools=pools())
    await clusters.until("room", settled, seconds=300)
    async with Watch(fdb, "room") as watch:
        await without_room(clusters, stateward)
        await without_an_end(clusters, fdb)
        await during_an_upgrade(clusters, fdb)
    assert watch.broken == []
    assert await fdb.excluded("room") == []


async def without_room(clusters: Clusters, sandbox: Sandbox) -> None:
    """Nobody leaves while no pod can come in its place, and the status says why; then it goes on by itself."""
    name = "room-storage-0"
    with no_room(sandbox, clusters.namespace, len(await clusters.pods("room"))):
        await clusters.apply("room", version=OLD, pools=pools(), members={"replace": [name]})
        full = await clusters.until("room", lambda c: phase(c, name) == "NoRoom", seconds=180)
        assert name in ready(full) | {m.name for m in full.status.member_states if m.state == "Leaving"}
    await clusters.until("room", lambda c: settled(c) and name not in ready(c), seconds=300)


async def without_an_end(clusters: Clusters, fdb: Fdb) -> None:
    """A member whose pod does not end stays excluded, and holds nothing else up."""
    name = "room-storage-1"
    async with held(clusters, name):
        await clusters.apply("room", version=OLD, pools=pools(), members={"replace": [name]})
        stuck = await clusters.until("room", lambda c: phase(c, name) == "Terminating" and settled(c), seconds=300)
        assert len(ready(stuck)) == 8
        assert await fdb.excluded("room") == [f"locality_instance_id:{name}"]
    await clusters.until("room", lambda c: settled(c) and phase(c, name) == "VolumeKept", seconds=180)
    assert await fdb.excluded("room") == []


async def during_an_upgrade(clusters: Clusters, fdb: Fdb) -> None:
    """A member is replaced while others are made anew: data is never on its way from two of them at once."""
    name = "room-log-1"
    await clusters.apply("room", version=NEW, pools=pools())
    await clusters.until("room", lambda c: any(m.version == NEW for m in c.status.member_states), seconds=240)
    await clusters.apply("room", version=NEW, pools=pools(), members={"replace": [name]})
    done = await clusters.until(
        "room", lambda c: settled(c) and c.status.version == NEW and name not in ready(c), seconds=600
    )
    assert len(ready(done)) == 8
    assert {p["version"] for p in (await fdb.processes("room")).values()} == {NEW}
