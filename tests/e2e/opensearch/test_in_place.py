"""Restarts of real OpenSearch processes in kept pods: rolling, coordinated, interrupted, reverted and requested."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.api.values import names
from stateward.kube.client.client import PatchKind
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import Unavailable
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.caches import CLUSTERS
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.operators import OperatorPods, kubectl
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.images("opensearch:2.19.5")]

VERSION = "2.19.5"
SETTING = "http.max_content_length"
POOLS = [pool("all", 3, "cluster_manager", "data", "ingest")]
NAME = "kept"


async def made(clusters: Clusters, **spec: Any) -> None:
    await clusters.apply(NAME, version=VERSION, pools=POOLS, **spec)
    await clusters.until(NAME, settled, seconds=900)
    await clusters.database(NAME).create_index("docs")
    await clusters.until(NAME, settled)


async def places(clusters: Clusters) -> dict[str, tuple[str, str, str]]:
    """Return where each member is: what a kept pod keeps."""
    pods = await clusters.pods(NAME)
    return {name: (p.metadata.uid, p.status.pod_ip, p.spec.node_name) for name, p in pods.items()}


async def effective(clusters: Clusters, setting: str = SETTING) -> dict[str, str]:
    """Return what the setting is in each running process."""
    answer = await clusters.database(NAME).ask("_nodes/settings?flat_settings=true")
    return {node["name"]: node["settings"].get(setting, "") for node in answer["nodes"].values()}


async def started(clusters: Clusters) -> dict[str, int]:
    """Return since when each process runs, in milliseconds."""
    answer = await clusters.database(NAME).ask("_nodes/jvm?filter_path=nodes.*.name,nodes.*.jvm.start_time_in_millis")
    return {node["name"]: node["jvm"]["start_time_in_millis"] for node in answer["nodes"].values()}


async def change(clusters: Clusters, value: str | None) -> None:
    chosen = {"config": {SETTING: value}} if value else {}
    await clusters.apply(NAME, version=VERSION, pools=POOLS, **chosen)


async def annotate(clusters: Clusters, **annotations: str | None) -> None:
    """Annotate the cluster as a user does."""
    patch = {"metadata": {"annotations": {f"stateward.dev/{k.replace('_', '-')}": v for k, v in annotations.items()}}}
    await clusters.api.patch(CLUSTERS, Key(clusters.namespace, NAME), patch, kind=PatchKind.MERGE)


async def phase(clusters: Clusters, wanted: str) -> str:
    """Wait until a pod is in a phase, and return its member."""
    async with asyncio.timeout(300):
        while True:
            pods = await clusters.pods(NAME)
            found = [n for n, p in pods.items() if p.metadata.annotations.get(names.ANNOTATION_PHASE) == wanted]
            if found:
                return found[0]
            await asyncio.sleep(0.1)


async def nothing_left(clusters: Clusters) -> None:
    assert not (left := await clusters.database(NAME).left_behind()), left
    assert not [p for p in (await clusters.pods(NAME)).values() if names.ANNOTATION_PHASE in p.metadata.annotations]


async def test_a_setting_is_changed_in_kept_pods(clusters: Clusters) -> None:
    """The same pods at the same addresses, the new setting in every process, and no acknowledged write lost."""
    await made(clusters)
    before = await places(clusters)
    async with Writer(clusters.database(NAME), "docs") as writer, Promises(clusters, NAME) as promises:
        await change(clusters, "90mb")
        await clusters.until(NAME, settled, seconds=600)
    assert set((await effective(clusters)).values()) == {"90mb"}
    assert await places(clusters) == before
    assert promises.broken == []
    assert await writer.missing() == set()
    assert writer.acknowledged
    await nothing_left(clusters)


@pytest.mark.full
async def test_a_setting_that_is_reverted_half_way_ends_like_the_beginning(clusters: Clusters) -> None:
    await made(clusters)
    before = await places(clusters)
    async with Writer(clusters.database(NAME), "docs") as writer:
        await change(clusters, "80mb")
        await phase(clusters, "stop")
        await change(clusters, None)
        await clusters.until(NAME, settled, seconds=600)
    assert set((await effective(clusters)).values()) == {""}
    assert await places(clusters) == before
    assert await writer.missing() == set()
    assert writer.acknowledged
    await nothing_left(clusters)


@pytest.mark.full
async def test_users_restart_one_member_a_pool_and_all_together(clusters: Clusters) -> None:
    await made(clusters)
    before, since = await places(clusters), await started(clusters)
    async with Writer(clusters.database(NAME), "docs") as writer:
        key = Key(clusters.namespace, names.pod("kept-all-1"))
        patch = {"metadata": {"annotations": {names.ANNOTATION_PHASE: "schedule"}}}
        await clusters.api.patch(kinds.PODS, key, patch, kind=PatchKind.MERGE)
        await phase(clusters, "stop")
        await clusters.until(NAME, settled, seconds=300)
        one = await started(clusters)
        assert {name for name in since if since[name] != one[name]} == {"kept-all-1"}
        await annotate(clusters, restart_phase="schedule-rolling", restart_pools="all")
        await phase(clusters, "stop")
        await clusters.until(NAME, settled, seconds=600)
        rolled = await started(clusters)
        assert all(one[name] != rolled[name] for name in one)
        await annotate(clusters, restart_phase="schedule-coordinated")
        await phase(clusters, "start-coordinated")
        await clusters.until(NAME, settled, seconds=600)
        together = await started(clusters)
        assert all(rolled[name] != together[name] for name in one)
    assert await places(clusters) == before
    assert await writer.missing() == set()
    await nothing_left(clusters)


@pytest.mark.full
@pytest.mark.parametrize("at", ["stop", "start"])
async def test_an_operator_that_dies_in_a_phase_is_followed_by_one_that_continues(
    clusters: Clusters, operator: OperatorPods, at: str
) -> None:
    await made(clusters)
    before = await places(clusters)
    async with Writer(clusters.database(NAME), "docs") as writer, Promises(clusters, NAME) as promises:
        await change(clusters, "90mb")
        await phase(clusters, at)
        await operator.kill()
        await clusters.until(NAME, settled, seconds=600)
    assert set((await effective(clusters)).values()) == {"90mb"}
    assert await places(clusters) == before
    assert promises.broken == []
    assert await writer.missing() == set()
    await nothing_left(clusters)


@pytest.mark.full
async def test_members_that_lose_their_data_role_keep_it_in_a_restart_of_all(clusters: Clusters) -> None:
    """One edit takes the role from a pool, and all members restart before its members are replaced."""
    manager = pool("managers", 1, "cluster_manager")
    await clusters.apply(NAME, version=VERSION, pools=[manager, pool("hot", 2, "data", "ingest")])
    await clusters.until(NAME, settled, seconds=900)
    await clusters.database(NAME).create_index("docs")
    await clusters.until(NAME, settled)
    async with Writer(clusters.database(NAME), "docs") as writer:
        pools = [manager, pool("hot", 2, "ingest"), pool("cold", 2, "data", "ingest")]
        await clusters.apply(NAME, version=VERSION, pools=pools)
        await annotate(clusters, restart_phase="schedule-coordinated")
        await phase(clusters, "start-coordinated")
        await clusters.until(NAME, settled, seconds=900)
    assert sorted(await clusters.pods(NAME)) == [
        *(f"{NAME}-cold-{number}" for number in range(2)),
        *(f"{NAME}-hot-{number}" for number in range(2, 4)),
        f"{NAME}-managers-0",
    ]
    assert await writer.missing() == set()
    assert writer.acknowledged
    await nothing_left(clusters)


@pytest.mark.full
@pytest.mark.parametrize("at", ["stop-coordinated", "start-coordinated"])
async def test_a_restart_of_all_continues_after_the_operator_died(
    clusters: Clusters, operator: OperatorPods, at: str
) -> None:
    await made(clusters)
    before, since = await places(clusters), await started(clusters)
    await annotate(clusters, restart_phase="schedule-coordinated")
    await phase(clusters, at)
    await operator.kill()
    await clusters.until(NAME, settled, seconds=600)
    after = await started(clusters)
    assert all(since[name] != after[name] for name in since)
    assert await places(clusters) == before
    await nothing_left(clusters)


@pytest.mark.full
async def test_a_container_that_dies_in_the_middle_comes_back_as_the_phase_says(
    clusters: Clusters, stateward: Sandbox
) -> None:
    """Process 1 is killed from inside: the container is started again, in the same pod."""
    await made(clusters)
    before = await places(clusters)
    await change(clusters, "90mb")
    member = await phase(clusters, "start")
    words = ("exec", "-n", clusters.namespace, names.pod(member), "-c", "opensearch", "--", "kill", "-TERM", "1")
    kubectl(stateward, *words)
    await clusters.until(NAME, settled, seconds=900)
    assert set((await effective(clusters)).values()) == {"90mb"}
    assert await places(clusters) == before
    await nothing_left(clusters)


@pytest.mark.full
@pytest.mark.parametrize("at", ["stop", "start"])
async def test_an_agent_that_is_killed_in_a_phase_costs_no_pod(clusters: Clusters, at: str) -> None:
    """Without a word, from outside: the kernel ends the database with it, and the container starts again."""
    await made(clusters)
    before = await places(clusters)
    async with Writer(clusters.database(NAME), "docs") as writer:
        await change(clusters, "90mb")
        member = await phase(clusters, at)
        os.kill(agent_of(before[member][0]), signal.SIGKILL)
        await clusters.until(NAME, settled, seconds=600)
    assert set((await effective(clusters)).values()) == {"90mb"}
    assert await places(clusters) == before
    assert await writer.missing() == set()
    await nothing_left(clusters)


def agent_of(pod: str) -> int:
    """Return the process id of the agent in a pod, by the UID in its control group; nodes share this machine."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            groups, words = (process / "cgroup").read_text(), (process / "cmdline").read_bytes()
            if b"stateward.agent" in words and pod in groups.replace("_", "-"):
                return int(process.name)
    raise AssertionError(f"no agent runs in the pod {pod}")


@pytest.mark.full
async def test_a_configuration_that_takes_its_time_is_waited_for_with_every_process_up(
    clusters: Clusters, stateward: Sandbox
) -> None:
    """Kubelets do not update pods for a while: no member is stopped before its files have arrived."""
    await made(clusters)
    before = await places(clusters)
    async with Writer(clusters.database(NAME), "docs") as writer, Promises(clusters, NAME, most_down=0) as waiting:
        for node in stateward.nodes:
            await asyncio.to_thread(stateward.node_stop, node)
        await change(clusters, "90mb")
        await clusters.until(NAME, lambda c: any(w.reason == "ConfigurationNotMounted" for w in c.status.waiting))
        await asyncio.sleep(10)
        assert len(await clusters.database(NAME).versions()) == 3
    for node in stateward.nodes:
        await asyncio.to_thread(stateward.node_start, node)
    async with Writer(clusters.database(NAME), "late") as later:
        await clusters.until(NAME, settled, seconds=600)
    assert waiting.broken == []
    assert set((await effective(clusters)).values()) == {"90mb"}
    assert await places(clusters) == before
    assert await writer.missing() | await later.missing() == set()
    await nothing_left(clusters)


async def left(clusters: Clusters, stopped: str) -> dict[str, str]:
    """Return the versions of the serving members, once no request reaches a stopping one."""
    async with asyncio.timeout(30):
        while True:
            if (await clusters.pods(NAME))[stopped].ready:
                await asyncio.sleep(0.1)
                continue
            with suppress(Unavailable):
                return await clusters.database(NAME).versions()
            await asyncio.sleep(0.1)


@pytest.mark.full
async def test_a_member_that_misbehaves_is_kept_stopped(clusters: Clusters) -> None:
    await made(clusters)
    before = await places(clusters)
    async with Writer(clusters.database(NAME), "docs") as writer:
        await annotate(clusters, stopped="kept-all-2")
        await clusters.until(NAME, lambda c: any(w.reason == "MemberStopped" for w in c.status.waiting))
        assert "kept-all-2" not in await left(clusters, "kept-all-2")
        await annotate(clusters, stopped=None)
        await clusters.until(NAME, settled, seconds=300)
    assert await places(clusters) == before
    assert await writer.missing() == set()
    await nothing_left(clusters)
