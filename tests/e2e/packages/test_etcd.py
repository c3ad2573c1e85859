"""The example package on real nodes: etcd grows, changes, is saved, upgraded and shrinks while it is written to."""

import asyncio

import pytest

from stateward.kube.objects.metadata import Key
from stateward.packages.restarts.restarts import ANNOTATION_BECAUSE
from tests.e2e.packages.ground import EXAMPLES, STATEFUL_SETS, Ground, Writer, folder, plans

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("stateward.dev/etcd:3.4")]

ETCD = EXAMPLES / "etcd"
SMALL = {"MEMORY": "128Mi", "STORAGE": "256Mi", "BACKUP_STORAGE": "256Mi"}
NAME = "store"
CLIENT = f"http://{NAME}-client:2379"


def members(ground: Ground) -> int:
    """Return how many members the cluster has, all of them started."""
    said = ground.run(f"{NAME}-0", "etcdctl", f"--endpoints={CLIENT}", "member", "list").strip().splitlines()
    assert all(", started, " in line for line in said), said
    return len(said)


async def test_etcd_grows_changes_is_saved_upgraded_and_shrinks_under_writes(ground: Ground) -> None:
    package = await ground.package(folder(ETCD))
    await ground.install(package, NAME, **SMALL)
    await ground.ready(NAME)
    assert members(ground) == 3
    first = await ground.uids(NAME)

    writer, stop = Writer(ground, CLIENT), asyncio.Event()
    writing = asyncio.create_task(writer.write(stop))
    try:
        await ground.change(NAME, parameters={**SMALL, "REPLICAS": 5})
        await ground.ready(NAME)
        assert members(ground) == 5
        grown = await ground.uids(NAME)
        assert {name: grown[name] for name in first} == first

        await ground.change(NAME, parameters={**SMALL, "REPLICAS": 5, "HEARTBEAT": 150})
        await ground.ready(NAME)
        changed = await ground.uids(NAME)
        assert all(changed[name] != uid for name, uid in grown.items())
        assert "150" in ground.run(f"{NAME}-0", "sh", "-c", "echo $ETCD_HEARTBEAT_INTERVAL")
        live = await ground.api.get(STATEFUL_SETS, Key(ground.namespace, NAME))
        because = live["metadata"]["annotations"][ANNOTATION_BECAUSE]
        assert because == f"ConfigMap/{NAME}-settings:ETCD_HEARTBEAT_INTERVAL"

        await ground.trigger(NAME, "backup/1")
        assert await ground.uids(NAME) == changed

        newer = await ground.package(folder(ETCD, operator=('operatorVersion: "0.1.0"', 'operatorVersion: "0.2.0"')))
        await ground.change(NAME, package=newer)
        await ground.ready(NAME)
        assert await ground.uids(NAME) == changed

        await ground.change(NAME, parameters={**SMALL, "REPLICAS": 3, "HEARTBEAT": 150})
        body = await ground.ready(NAME)
        assert members(ground) == 3
        await ground.gone(NAME, set(changed) - set(first))
        assert await ground.uids(NAME) == {name: changed[name] for name in first}
    finally:
        stop.set()
        await writing

    assert plans(body) == [
        ("deploy", "Done"),
        ("scale", "Done"),
        ("deploy", "Done"),
        ("backup", "Done"),
        ("upgrade", "Done"),
        ("scale", "Done"),
    ]
    keys = ground.run(f"{NAME}-0", "etcdctl", f"--endpoints={CLIENT}", "get", "--prefix", "--keys-only", "/n/").split()
    assert {f"/n/{number}" for number in writer.written} <= set(keys)
    assert len(writer.written) > 20
    assert writer.gap < 120

    await ground.uninstall(NAME)
    await ground.gone(NAME, set(first))
