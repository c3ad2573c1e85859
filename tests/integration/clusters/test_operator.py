"""The operator on a real API server: what it creates, what it leaves alone, and that settled means silent."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.conditions import stalled
from stateward.kube.client.client import Api, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.timing.checked_clock import TOLERANCE, CheckedClock
from stateward.operator.assembly import Operator
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.pod_rights.server_validation import NOT_ACCEPTED
from stateward.operator.process import run_operator
from stateward.operator.runtime.options import OperatorOptions
from tests.integration.api_server import PATIENCE, define, own_namespace
from tests.integration.clusters.operator_at_work import POOLS, operator_at_work, settled

pytestmark = pytest.mark.integration


async def test_a_cluster_is_created_settles_and_then_nothing_is_written(control_plane: Path) -> None:
    async with operator_at_work(control_plane) as work:
        await work.apply("logs", pools=POOLS)
        cluster = await work.until("logs", settled)
        assert cluster.status.version == "2.19.5"
        assert cluster.status.ready == "5/5"
        assert cluster.status.cluster_uuid == "fake"
        before = cluster.status
        work.counting.writes.clear()
        for _ in range(5):
            work.operator.controllers["opensearch"].queue.add(Key(work.namespace, "logs"))
            await asyncio.sleep(0.2)
        if work.counting.writes:
            pytest.fail(f"{work.counting.writes}\n{before}\n{(await work.cluster('logs')).status}")


async def test_a_configuration_change_restarts_each_member_once_and_managers_last(control_plane: Path) -> None:
    async with operator_at_work(control_plane) as work:
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        work.kubelet.stopped.clear()
        await work.apply("logs", pools=POOLS, config={"action.auto_create_index": False})
        await work.until("logs", settled)
        assert sorted(work.kubelet.stopped) == [
            "logs-hot-0",
            "logs-hot-1",
            *(f"logs-managers-{i}" for i in range(3)),
        ]
        assert work.kubelet.stopped[:2] == ["logs-hot-1", "logs-hot-0"]
        # The elected one is last.
        assert work.kubelet.stopped[-1] == "logs-managers-0"


async def test_growing_and_shrinking_restarts_no_member_and_keeps_the_volume(control_plane: Path) -> None:
    async with operator_at_work(control_plane) as work:
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        work.kubelet.stopped.clear()
        await work.apply("logs", pools=[POOLS[0], POOLS[1] | {"replicas": 4}])
        await work.until("logs", settled)
        assert work.kubelet.stopped == []
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        assert sorted(work.kubelet.stopped) == ["logs-hot-2", "logs-hot-3"]
        kept = await work.api.get(kinds.CLAIMS, Key(work.namespace, names.claim("logs-hot-3")))
        assert not kept.metadata.terminating
        assert work.database.draining == frozenset()


async def test_fields_that_the_server_does_not_know_are_reported_by_their_name_and_change_nothing(
    control_plane: Path,
) -> None:
    """The CRD accepts any field of pods and Services; a dry run of the server judges them, in its version."""

    def refused(cluster: Cluster) -> bool:
        stuck = stalled(cluster.status.conditions)
        current = cluster.status.observed_generation == cluster.metadata.generation
        return current and stuck is not None and stuck.reason == NOT_ACCEPTED

    async with operator_at_work(control_plane) as work:
        wrong = {"containers": [{"name": "opensearch", "imagePullPolicy": "Sometimes"}]}
        template = {"spec": {"bogus": 1, **wrong}}
        await work.apply("logs", pools=POOLS, podTemplate=template, service={"spec": {"portz": []}})
        cluster = await work.until("logs", refused)
        waits = {wait.subject: wait.message for wait in cluster.status.waiting if wait.reason == NOT_ACCEPTED}
        assert waits.keys() == {"spec.podTemplate.spec.bogus", "spec.service.spec.portz"}
        assert all(text.endswith("the API server says: unknown field") for text in waits.values())
        caches = work.operator.controllers["opensearch"].caches
        assert not len(caches.of(kinds.STATEFUL_SETS))
        await work.apply("logs", pools=POOLS, podTemplate={"spec": wrong})
        cluster = await work.until("logs", refused)
        wait = cluster.status.waiting[0]
        assert wait.subject == "spec.podTemplate.spec.containers[opensearch].imagePullPolicy"
        assert '"Always", "IfNotPresent", "Never"' in wait.message
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        work.kubelet.stopped.clear()
        await work.apply("logs", pools=POOLS, podTemplate={"spec": {"containers": [{"name": "opensearch", "x": 1}]}})
        await work.until("logs", refused)
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        assert work.kubelet.stopped == []


async def test_the_webhook_asks_the_server_about_the_pods_beside_a_cluster(control_plane: Path) -> None:
    async with operator_at_work(control_plane) as work:
        await work.apply("logs", pools=POOLS)
        cluster = await work.until("logs", settled)
        for block, container in (("dashboards", "dashboards"), ("metrics", "exporter")):
            wrong = {"containers": [{"name": container, "imagePullPolicy": "Sometimes"}]}
            body = structs.asdict(cluster.spec)
            for template, said in (
                ({"spec": {"bogus": 1}}, "spec.bogus: the API server says: unknown field"),
                ({"spec": wrong}, f"spec.containers[{container}].imagePullPolicy: the API server says: "),
                ({"spec": {"priorityClassName": "high"}}, ""),
            ):
                spec = msgspec.convert({**body, block: {"podTemplate": template}}, type(cluster.spec))
                verdict = await work.operator.judge(structs.replace(cluster, spec=spec), cluster)
                assert len(verdict.refused) == bool(said), verdict
                assert said in "".join(verdict.refused)
                assert all(text.startswith(f"spec.{block}.podTemplate.") for text in verdict.refused)
            with pytest.raises(NotFound):
                await work.api.get(kinds.DEPLOYMENTS, Key(work.namespace, f"logs-{block}"))


async def test_a_deleted_cluster_takes_its_objects_with_it_but_not_its_volumes(control_plane: Path) -> None:
    async with operator_at_work(control_plane) as work:
        await work.apply("logs", pools=POOLS)
        cluster = await work.until("logs", settled)
        await work.api.delete(CLUSTERS, Key(work.namespace, "logs"), DeleteOptions(Preconditions(cluster.metadata.uid)))
        caches = work.operator.controllers["opensearch"].caches
        left = asyncio.Event()
        sets, pods = caches.of(kinds.STATEFUL_SETS), caches.of(kinds.PODS)
        for store in (sets, pods):
            store.subscribe(lambda _: left.set())
        async with asyncio.timeout(PATIENCE):
            while len(sets) or len(pods):
                left.clear()
                await work.while_running(left.wait())
        assert len(caches.of(kinds.CLAIMS)) == 5


async def test_secrets_that_users_copy_go_with_the_cluster_and_their_copies_stay(control_plane: Path) -> None:
    """The garbage collector of a real cluster deletes what names an owner that is not in its namespace."""
    names_of = ("logs-admin", "logs-ca")
    async with operator_at_work(control_plane) as work:
        await work.apply("logs", pools=POOLS, security={"enabled": True})
        secrets = work.operator.controllers["opensearch"].caches.of(kinds.SECRETS)
        changed = asyncio.Event()
        secrets.subscribe(lambda _: changed.set())

        def there() -> set[str]:
            return {name for name in names_of if secrets.get(Key(work.namespace, name)) is not None}

        async def until(wanted: set[str]) -> None:
            async with asyncio.timeout(PATIENCE):
                while there() != wanted:
                    changed.clear()
                    await work.while_running(changed.wait())

        await until(set(names_of))
        other = f"{work.namespace}-clients"
        await work.api.create(kinds.NAMESPACES, {"metadata": {"name": other}})
        raw = kinds.SECRETS.raw()
        for name in names_of:
            found = await work.api.get(raw, Key(work.namespace, name))
            assert not found["metadata"].get("ownerReferences")
            kept = {key: found["metadata"][key] for key in ("name", "labels", "annotations")}
            await work.api.create(raw, {"metadata": kept, "data": found["data"]}, namespace=other)
        cluster = await work.cluster("logs")
        await work.api.delete(CLUSTERS, Key(work.namespace, "logs"), DeleteOptions(Preconditions(cluster.metadata.uid)))
        await until(set())
        sets = work.operator.controllers["opensearch"].caches.of(kinds.STATEFUL_SETS)
        sets.subscribe(lambda _: changed.set())
        async with asyncio.timeout(PATIENCE):
            while len(sets):  # The collector has been here.
                changed.clear()
                await work.while_running(changed.wait())
        for name in names_of:
            assert (await work.api.get(raw, Key(other, name)))["data"]


async def test_a_second_edit_while_the_first_rolls_ends_in_the_newest_state(control_plane: Path) -> None:
    async with operator_at_work(control_plane) as work:
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        await work.apply("logs", pools=POOLS, config={"action.auto_create_index": False})
        await work.until("logs", lambda c: any(m.state == "Restarting" for m in c.status.member_states))
        await work.apply("logs", pools=POOLS, config={"action.auto_create_index": True})
        await work.until("logs", settled)
        secret = await work.api.get(kinds.SECRETS.raw(), Key(work.namespace, "logs-hot-0"))
        assert "inputs" in str(secret["metadata"]["annotations"])
        pods = work.operator.controllers["opensearch"].caches.of(kinds.PODS).all()
        assert (
            len({pod.metadata.annotations[names.ANNOTATION_INPUTS] for pod in pods if "hot" in pod.metadata.name}) == 1
        )


async def test_the_process_follows_the_api_servers_time_and_tells_how_wrong_its_machine_is(control_plane: Path) -> None:
    looked, ahead = asyncio.Event(), list[float | None]()

    @asynccontextmanager
    async def look(api: Api, _options: OperatorOptions, operator: Operator) -> AsyncGenerator[None]:
        await api.list(kinds.NAMESPACES, Selection())
        assert isinstance(operator.clock, CheckedClock)
        ahead.append(operator.metrics.registry.get_sample_value("stateward_clock_ahead_seconds"))
        looked.set()
        yield

    async with own_namespace(control_plane, "clock") as (api, namespace):
        await define(api)
        options = OperatorOptions(
            kubeconfig=str(control_plane),
            namespaces=(namespace,),
            lease_namespace=namespace,
            health_host="127.0.0.1",
            health_port=0,
            metrics_host="127.0.0.1",
            metrics_port=0,
        )
        running = asyncio.create_task(run_operator(options, look))
        try:
            await asyncio.wait_for(looked.wait(), PATIENCE)
        finally:
            if not running.done():
                os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(running, PATIENCE)
    # Before the first answer it is exactly 0; the dates of answers are whole seconds.
    assert 0.0 < abs(ahead[0] or 0.0) < TOLERANCE
