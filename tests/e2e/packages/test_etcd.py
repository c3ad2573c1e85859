"""The example package on real nodes: etcd grows, changes, is saved, upgraded and shrinks while it is written to."""

import asyncio

import pytest

from stateward.kube.objects.metadata import Key
from stateward.packages.restarts.restarts import ANNOTATION_BECAUSE
from tests.e2e.packages.package_namespace import EXAMPLES, STATEFUL_SETS, PackageNamespace, Writer, folder, plans

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("stateward.dev/etcd:3.4")]

ETCD = EXAMPLES / "etcd"
SMALL = {"MEMORY": "128Mi", "STORAGE": "256Mi", "BACKUP_STORAGE": "256Mi"}
NAME = "store"
CLIENT = f"http://{NAME}-client:2379"


def members(place: PackageNamespace) -> int:
    """Return how many members the cluster has, all of them started."""
    said = place.run(f"{NAME}-0", "etcdctl", f"--endpoints={CLIENT}", "member", "list").strip().splitlines()
    assert all(", started, " in line for line in said), said
    return len(said)


async def test_etcd_grows_changes_is_saved_upgraded_and_shrinks_under_writes(place: PackageNamespace) -> None:
    package = await place.package(folder(ETCD))
    await place.install(package, NAME, **SMALL)
    await place.ready(NAME)
    assert members(place) == 3
    first = await place.uids(NAME)

    writer, stop = Writer(place, CLIENT), asyncio.Event()
    writing = asyncio.create_task(writer.write(stop))
    try:
        await place.change(NAME, parameters={**SMALL, "REPLICAS": 5})
        await place.ready(NAME)
        assert members(place) == 5
        grown = await place.uids(NAME)
        assert {name: grown[name] for name in first} == first

        await place.change(NAME, parameters={**SMALL, "REPLICAS": 5, "HEARTBEAT": 150})
        await place.ready(NAME)
        changed = await place.uids(NAME)
        assert all(changed[name] != uid for name, uid in grown.items())
        assert "150" in place.run(f"{NAME}-0", "sh", "-c", "echo $ETCD_HEARTBEAT_INTERVAL")
        live = await place.api.get(STATEFUL_SETS, Key(place.namespace, NAME))
        because = live["metadata"]["annotations"][ANNOTATION_BECAUSE]
        assert because == f"ConfigMap/{NAME}-settings:ETCD_HEARTBEAT_INTERVAL"

        await place.trigger(NAME, "backup/1")
        assert await place.uids(NAME) == changed

        newer = await place.package(folder(ETCD, operator=('operatorVersion: "0.1.0"', 'operatorVersion: "0.2.0"')))
        await place.change(NAME, package=newer)
        await place.ready(NAME)
        assert await place.uids(NAME) == changed

        await place.change(NAME, parameters={**SMALL, "REPLICAS": 3, "HEARTBEAT": 150})
        body = await place.ready(NAME)
        assert members(place) == 3
        await place.gone(NAME, set(changed) - set(first))
        assert await place.uids(NAME) == {name: changed[name] for name in first}
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
    keys = place.run(f"{NAME}-0", "etcdctl", f"--endpoints={CLIENT}", "get", "--prefix", "--keys-only", "/n/").split()
    assert {f"/n/{number}" for number in writer.written} <= set(keys)
    assert len(writer.written) > 20
    assert writer.gap < 120

    await place.uninstall(NAME)
    await place.gone(NAME, set(first))
