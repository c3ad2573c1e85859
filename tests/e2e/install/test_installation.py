"""The operator as users install it, by Helm, on real databases: upgraded, tried on a wave first, and uninstalled.

No process of a database restarts for any of it. A pod shows which version of the operator made it: that of its agent.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.api.values.names import ANNOTATION_AGENT, ANNOTATION_CLAIM, LABEL_WAVE
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.operator.detection.cronjob import ANNOTATION_CLUSTER, LABEL_DETECTS
from stateward.operator.objects.waves import HANDOVER
from tests.e2e.clusters import Clusters, Database, pool, settled
from tests.e2e.install.releases import CANARY, NEW, OLD, WAVE, Releases
from tests.e2e.operators import NAMESPACE, WEBHOOK, registered
from tests.e2e.secured import DirectDatabase, client, ready
from tests.e2e.witness import Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full]

VERSION = "2.19.3"
NODES = pool("nodes", 1, "cluster_manager", "data", "ingest")
MORE = pool("more", 1, "data")
PROGRAM = Path(sys.executable).with_name("stateward")
Member = tuple[Any, ...]


def spec(*pools: dict[str, Any], secured: bool, note: str = "") -> dict[str, Any]:
    """Return a spec; the note is an edit that is carried out without any pod: it stands on the Service of clients."""
    service = {"service": {"annotations": {"note": note}}} if note else {}
    return {"version": VERSION, "pools": list(pools), "security": {"enabled": secured}, **service}


async def program(sandbox: Sandbox, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line as a user does, from outside the sandbox."""
    environment = {"KUBECONFIG": str(sandbox.kubeconfig_path), "PATH": "/usr/bin:/bin"}
    return await asyncio.to_thread(
        subprocess.run, [PROGRAM, *words], env=environment, capture_output=True, text=True, check=False, timeout=240
    )


async def members(clusters: Clusters, name: str, database: Database) -> dict[str, Member]:
    """Return what changes with each start of a member: its pod, its containers, and its process in the database."""
    page = await clusters.api.list(
        kinds.PODS.raw(), Selection(clusters.namespace, labels=f"stateward.dev/cluster={name}")
    )
    answer = await database.ask("_nodes?filter_path=nodes.*.name,nodes.*.jvm.start_time_in_millis")
    started = {node["name"]: node["jvm"]["start_time_in_millis"] for node in answer["nodes"].values()}
    found = {
        pod["metadata"]["labels"]["stateward.dev/member"]: (
            pod["metadata"]["uid"],
            [(each["containerID"], each["restartCount"]) for each in pod["status"]["containerStatuses"]],
        )
        for pod in page.items
    }
    assert started.keys() == found.keys()
    return {member: (*parts, started[member]) for member, parts in found.items()}


async def templates(clusters: Clusters, name: str) -> dict[str, Any]:
    """Return the pod templates of a cluster."""
    selection = Selection(clusters.namespace, labels=f"stateward.dev/cluster={name}")
    page = await clusters.api.list(kinds.STATEFUL_SETS.raw(), selection)
    return {each["metadata"]["name"]: each["spec"]["template"] for each in page.items}


async def made_by(clusters: Clusters, name: str) -> dict[str, str]:
    """Return the version of Stateward that has made each pod."""
    return {member: pod.metadata.annotations[ANNOTATION_AGENT] for member, pod in (await clusters.pods(name)).items()}


async def noted(clusters: Clusters, name: str, note: str) -> None:
    """Wait until the Service of clients has a note of the spec."""
    async with asyncio.timeout(180):
        while (await clusters.api.get(kinds.SERVICES, Key(clusters.namespace, name))).metadata.annotations.get(
            "note"
        ) != note:
            await asyncio.sleep(0.5)


@asynccontextmanager
async def secured_database(sandbox: Sandbox, clusters: Clusters, name: str) -> AsyncGenerator[DirectDatabase]:
    """Give the database as its administrator sees it."""
    async with client(sandbox, clusters, name) as person:
        yield DirectDatabase(clusters.api, clusters.namespace, name, person)


def claimed(cluster: Cluster) -> bool:
    return cluster.metadata.annotations.get(ANNOTATION_CLAIM) == WAVE


def has_more(cluster: Cluster) -> bool:
    return settled(cluster) and cluster.status.members.desired == 2


@pytest.mark.images("opensearch:2.19.3")
async def test_an_upgrade_restarts_no_database_and_a_wave_has_it_first(
    release: Releases, clusters: Clusters, stateward: Sandbox
) -> None:
    """The newer operator takes over one cluster while the older one serves the other, then that one, then both."""
    await clusters.apply("first", **spec(NODES, secured=True))
    await clusters.apply("later", **spec(NODES, secured=False))
    await release.try_newer((await program(stateward, "manifests", "--crds-only")).stdout)
    await clusters.until("first", ready, seconds=600)
    await clusters.until("later", settled, seconds=600)
    later = clusters.database("later")
    async with secured_database(stateward, clusters, "first") as first:
        await first.create_index("of-first", replicas=0)
        await later.create_index("of-later", replicas=0)
        born = await members(clusters, "first", first) | await members(clusters, "later", later)
        async with Writer(first, "of-first") as to_first, Writer(later, "of-later") as to_later:
            await take_over_the_first(release, clusters, stateward)
            await upgrade_the_others(release, clusters, stateward)
            await return_the_first(release, clusters)
            now = await members(clusters, "first", first) | await members(clusters, "later", later)
        assert born.items() <= now.items()
        assert len(now) == 4
        for writer in (to_first, to_later):
            assert writer.acknowledged
            assert await writer.missing() == set()


async def take_over_the_first(release: Releases, clusters: Clusters, stateward: Sandbox) -> None:
    """Both clusters get a member more: the pod shows who has made it."""
    namespace = clusters.namespace
    await release.kubectl("-n", namespace, "label", "oscluster", "first", f"{LABEL_WAVE}={WAVE}")
    await clusters.until("first", claimed, seconds=60)
    assert WAVE in (await program(stateward, "status", "first", "-n", namespace)).stdout
    await clusters.apply("first", **spec(NODES, MORE, secured=True))
    await clusters.apply("later", **spec(NODES, MORE, secured=False))
    await clusters.until("later", has_more, seconds=300)
    assert await made_by(clusters, "later") == {"later-nodes-0": OLD, "later-more-0": OLD}
    await clusters.until("first", has_more, seconds=HANDOVER + 240)
    assert await made_by(clusters, "first") == {"first-nodes-0": OLD, "first-more-0": NEW}
    assert not claimed(await clusters.get("later"))


async def upgrade_the_others(release: Releases, clusters: Clusters, stateward: Sandbox) -> None:
    """The newer operator judges edits, says that pods are outdated, leaves them as they are, and applies an edit."""
    before = await templates(clusters, "later")
    assert (await clusters.get("later")).status.outdated_pods == 0
    await release.upgrade()
    await asyncio.to_thread(registered, stateward)
    await clusters.until("later", lambda c: settled(c) and c.status.outdated_pods == 2)
    await clusters.apply("later", **spec(NODES, MORE, secured=False, note="upgraded"))
    await noted(clusters, "later", "upgraded")
    assert await templates(clusters, "later") == before


async def return_the_first(release: Releases, clusters: Clusters) -> None:
    """Without its label, the cluster belongs to the first release again, which needs no second one beside it."""
    before = await templates(clusters, "first")
    await release.kubectl("-n", clusters.namespace, "label", "oscluster", "first", f"{LABEL_WAVE}-")
    await clusters.until("first", lambda c: ANNOTATION_CLAIM not in c.metadata.annotations, seconds=60)
    await release.uninstall(CANARY, CANARY)
    await clusters.apply("first", **spec(NODES, MORE, secured=True, note="returned"))
    await noted(clusters, "first", "returned")
    await clusters.until("first", lambda c: settled(c) and c.status.outdated_pods == 1)
    assert await templates(clusters, "first") == before


@pytest.mark.images("opensearch:2.19.3")
async def test_databases_run_on_without_an_operator_and_a_new_release_restarts_none(
    release: Releases, clusters: Clusters, stateward: Sandbox
) -> None:
    """Meanwhile users can edit and delete whatever they could, and a deleted pod comes back by itself."""
    await clusters.apply("kept", **spec(NODES, secured=True))
    # What looks for its missing members is in the operator's namespace, and does not go with it.
    await clusters.apply("leaving", **spec(NODES, secured=False), replacement={"enabled": True})
    await clusters.until("kept", ready, seconds=600)
    await clusters.until("leaving", settled, seconds=600)
    async with secured_database(stateward, clusters, "kept") as database:
        await database.create_index("docs", replicas=0)
        born = await members(clusters, "kept", database)
        async with Writer(database, "docs") as writer:
            await looked_for(clusters, ["leaving"])
            said = await release.uninstall("stateward", NAMESPACE)
            assert "kept due to the resource policy" in said
            await nothing_judges(release)
            await looked_for(clusters, ["leaving"])
            written = len(writer.acknowledged)
            await edit_and_delete(release, clusters)
            assert len(writer.acknowledged) > written
            assert await members(clusters, "kept", database) == born
            await delete_the_pod(release, clusters)
            await the_database_answers(database)
            alone = await members(clusters, "kept", database)
            await said_of_silence(stateward, clusters)
            await release.install()
            await asyncio.to_thread(registered, stateward)
            await clusters.until("kept", has_more, seconds=300)
            await looked_for(clusters, [])
            now = await members(clusters, "kept", database)
        assert alone.items() <= now.items()
        assert len(now) == 2
        assert await writer.missing() == set()


async def nothing_judges(release: Releases) -> None:
    """No webhook of the operator is left that would be asked in vain."""
    kinds_of_webhooks = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
    found = json.loads(await release.kubectl("get", kinds_of_webhooks, "-o", "json"))["items"]
    services = [hook["clientConfig"].get("service", {}) for each in found for hook in each["webhooks"]]
    assert [each for each in services if each.get("namespace") == NAMESPACE] == []


async def looked_for(clusters: Clusters, wanted: list[str]) -> None:
    """Wait until these clusters of the case have a CronJob that looks for missing members."""
    async with asyncio.timeout(90):
        while True:
            page = await clusters.api.list(kinds.CRON_JOBS, Selection(NAMESPACE, labels=LABEL_DETECTS))
            found = [job.metadata.annotations[ANNOTATION_CLUSTER].split("/") for job in page.items]
            if [name for namespace, name in found if namespace == clusters.namespace] == wanted:
                return
            await asyncio.sleep(0.5)


async def edit_and_delete(release: Releases, clusters: Clusters) -> None:
    """An edit is stored, and a cluster goes: also with a webhook that was left behind, whose operator is gone."""
    await release.kubectl("apply", "-f", "-", stdin=WEBHOOK.read_text())
    before = await templates(clusters, "kept")
    await clusters.apply("kept", **spec(NODES, MORE, secured=True))
    await release.kubectl("-n", clusters.namespace, "delete", "oscluster", "leaving", "--timeout=60s")
    of_it = "stateward.dev/cluster=leaving"
    await release.kubectl("-n", clusters.namespace, "wait", "--for=delete", "pods", "-l", of_it, "--timeout=120s")
    await clusters.api.get(kinds.CLAIMS, Key(clusters.namespace, "data-leaving-nodes-0"))
    with pytest.raises(NotFound):
        await clusters.get("leaving")
    assert await templates(clusters, "kept") == before
    await release.kubectl("delete", "-f", "-", stdin=WEBHOOK.read_text())


async def delete_the_pod(release: Releases, clusters: Clusters) -> None:
    """A deleted pod comes back by its StatefulSet, and starts without an operator."""
    (old,) = (await clusters.pods("kept")).values()
    await release.kubectl("-n", clusters.namespace, "delete", "pod", old.metadata.name, "--timeout=120s")
    async with asyncio.timeout(180):
        while not any(
            pod.ready and pod.metadata.uid != old.metadata.uid for pod in (await clusters.pods("kept")).values()
        ):
            await asyncio.sleep(0.5)


async def the_database_answers(database: Database) -> None:
    """The Service leads to the new pod a moment after it is ready."""
    async with asyncio.timeout(60):
        while True:
            with suppress(ApiError):
                if (await database.health())["status"] == "green":
                    break
            await asyncio.sleep(0.5)
    await database.ask("docs/_doc/alone", "PUT", {"number": 0})
    assert (await database.ask("docs/_doc/alone"))["found"]


async def said_of_silence(stateward: Sandbox, clusters: Clusters) -> None:
    """The command line says that what is shown is the last report: a minute after the end of the lease."""
    async with asyncio.timeout(120):
        while True:
            shown = await program(stateward, "status", "kept", "-n", clusters.namespace)
            if "no operator has held the lease" in shown.stderr:
                return
            await asyncio.sleep(1)
