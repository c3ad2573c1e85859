"""The operator on a real API server: what it creates, what it leaves alone, and that settled means silent."""

import asyncio
from pathlib import Path

import pytest

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.caches import CLUSTERS
from tests.integration.ground import PATIENCE
from tests.integration.stage import POOLS, on_stage, settled

pytestmark = pytest.mark.integration


async def test_a_cluster_is_created_settles_and_then_nothing_is_written(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        cluster = await stage.until("logs", settled)
        assert cluster.status.version == "2.19.5"
        assert cluster.status.ready == "5/5"
        assert cluster.status.cluster_uuid == "puppet"
        before = cluster.status
        stage.counting.writes.clear()
        for _ in range(5):
            stage.operator.controllers["opensearch"].queue.add(Key(stage.namespace, "logs"))
            await asyncio.sleep(0.2)
        if stage.counting.writes:
            pytest.fail(f"{stage.counting.writes}\n{before}\n{(await stage.cluster('logs')).status}")


async def test_a_configuration_change_restarts_each_member_once_and_managers_last(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        await stage.until("logs", settled)
        stage.kubelet.stopped.clear()
        await stage.apply("logs", pools=POOLS, config={"action.auto_create_index": False})
        await stage.until("logs", settled)
        assert sorted(stage.kubelet.stopped) == ["logs-hot-0", "logs-hot-1", *(f"logs-managers-{i}" for i in range(3))]
        assert stage.kubelet.stopped[:2] == ["logs-hot-1", "logs-hot-0"]
        # The elected one is last.
        assert stage.kubelet.stopped[-1] == "logs-managers-0"


async def test_growing_and_shrinking_restarts_nobody_and_keeps_the_volume(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        await stage.until("logs", settled)
        stage.kubelet.stopped.clear()
        await stage.apply("logs", pools=[POOLS[0], POOLS[1] | {"replicas": 4}])
        await stage.until("logs", settled)
        assert stage.kubelet.stopped == []
        await stage.apply("logs", pools=POOLS)
        await stage.until("logs", settled)
        assert sorted(stage.kubelet.stopped) == ["logs-hot-2", "logs-hot-3"]
        kept = await stage.api.get(kinds.CLAIMS, Key(stage.namespace, names.claim("logs-hot-3")))
        assert not kept.metadata.terminating
        assert stage.database.draining == frozenset()


async def test_a_deleted_cluster_takes_its_objects_with_it_but_not_its_volumes(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        cluster = await stage.until("logs", settled)
        await stage.api.delete(
            CLUSTERS, Key(stage.namespace, "logs"), DeleteOptions(Preconditions(cluster.metadata.uid))
        )
        caches = stage.operator.controllers["opensearch"].caches
        left = asyncio.Event()
        sets, pods = caches.of(kinds.STATEFUL_SETS), caches.of(kinds.PODS)
        for store in (sets, pods):
            store.subscribe(lambda _: left.set())
        async with asyncio.timeout(PATIENCE):
            while len(sets) or len(pods):
                left.clear()
                await stage.while_running(left.wait())
        assert len(caches.of(kinds.CLAIMS)) == 5


async def test_secrets_that_people_copy_go_with_the_cluster_and_their_copies_stay(control_plane: Path) -> None:
    """The garbage collector of a real cluster deletes what names an owner that is not in its namespace."""
    names_of = ("logs-admin", "logs-ca")
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS, security={"enabled": True})
        secrets = stage.operator.controllers["opensearch"].caches.of(kinds.SECRETS)
        changed = asyncio.Event()
        secrets.subscribe(lambda _: changed.set())

        def there() -> set[str]:
            return {name for name in names_of if secrets.get(Key(stage.namespace, name)) is not None}

        async def until(wanted: set[str]) -> None:
            async with asyncio.timeout(PATIENCE):
                while there() != wanted:
                    changed.clear()
                    await stage.while_running(changed.wait())

        await until(set(names_of))
        other = f"{stage.namespace}-clients"
        await stage.api.create(kinds.NAMESPACES, {"metadata": {"name": other}})
        raw = kinds.SECRETS.raw()
        for name in names_of:
            found = await stage.api.get(raw, Key(stage.namespace, name))
            assert not found["metadata"].get("ownerReferences")
            kept = {key: found["metadata"][key] for key in ("name", "labels", "annotations")}
            await stage.api.create(raw, {"metadata": kept, "data": found["data"]}, namespace=other)
        cluster = await stage.cluster("logs")
        await stage.api.delete(
            CLUSTERS, Key(stage.namespace, "logs"), DeleteOptions(Preconditions(cluster.metadata.uid))
        )
        await until(set())
        sets = stage.operator.controllers["opensearch"].caches.of(kinds.STATEFUL_SETS)
        sets.subscribe(lambda _: changed.set())
        async with asyncio.timeout(PATIENCE):
            while len(sets):  # The collector has been here.
                changed.clear()
                await stage.while_running(changed.wait())
        for name in names_of:
            assert (await stage.api.get(raw, Key(other, name)))["data"]


async def test_a_second_edit_while_the_first_rolls_ends_in_the_newest_state(control_plane: Path) -> None:
    async with on_stage(control_plane) as stage:
        await stage.apply("logs", pools=POOLS)
        await stage.until("logs", settled)
        await stage.apply("logs", pools=POOLS, config={"action.auto_create_index": False})
        await stage.until("logs", lambda c: any(m.state == "Restarting" for m in c.status.member_states))
        await stage.apply("logs", pools=POOLS, config={"action.auto_create_index": True})
        await stage.until("logs", settled)
        secret = await stage.api.get(kinds.SECRETS.raw(), Key(stage.namespace, "logs-hot-0"))
        assert "inputs" in str(secret["metadata"]["annotations"])
        pods = stage.operator.controllers["opensearch"].caches.of(kinds.PODS).all()
        assert (
            len({pod.metadata.annotations[names.ANNOTATION_INPUTS] for pod in pods if "hot" in pod.metadata.name}) == 1
        )
