"""The cluster file in its Secret, all through the life of a FoundationDB cluster."""

import asyncio
import base64
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from stateward.api.values.base import Json
from stateward.engines.foundationdb.objects import pod
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.story import KIND, NAME, Story

pytestmark = pytest.mark.simulation

WHERE = Key(NAMESPACE, f"{NAME}-cluster-file")


def shown(story: Story, kind: str = "/secrets") -> str:
    """Return what a Secret or ConfigMap says; empty where there is none."""
    found = story.world.store.get(kind, WHERE)
    text = found.doc["data"]["fdb.cluster"] if found is not None else ""
    return base64.b64decode(text).decode().strip() if kind == "/secrets" else text.strip()


def right(story: Story) -> str:
    assert story.database.cluster is not None
    return str(story.database.cluster.state.connection)


async def test_it_follows_the_coordinators_and_is_in_no_status() -> None:
    with Story().told() as story:
        await story.begin()
        story.edit(members={"replace": [min(story.coordinators())]})
        assert await story.until(lambda: story.database.past), story.doing
        assert await story.settled(), story.doing
        assert shown(story) == right(story)
        assert shown(story, "/configmaps") == ""
        assert story.status["connectionSecretName"] == WHERE.name
        key = right(story).partition("@")[0].partition(":")[2]
        assert key not in str(story.status)
        story.check()


async def test_pods_of_before_go_on_by_their_config_map_until_the_last_of_them_is_made_anew() -> None:
    with Story().told() as story:
        with by_config_map():
            await story.begin()
        before(story)
        uids = story.pods()
        story.process.start()
        assert await story.settled(), story.doing
        assert story.pods() == uids, "nothing restarts because the cluster file is kept elsewhere"
        assert "connection" not in story.status
        story.edit(members={"replace": [min(story.coordinators())]})
        assert await story.until(lambda: story.database.past), story.doing
        assert await story.settled(), story.doing
        assert shown(story) == shown(story, "/configmaps") == right(story)
        story.edit(podTemplate={"metadata": {"labels": {"made": "anew"}}})
        assert await story.settled(7200.0), story.doing
        assert shown(story) == right(story)
        assert shown(story, "/configmaps") == ""
        story.check()


async def test_one_that_is_deleted_comes_back_from_the_database_and_never_as_it_was_at_first() -> None:
    with Story().told() as story:
        await story.begin()
        first = right(story)
        story.edit(members={"replace": [min(story.coordinators())]})
        assert await story.until(lambda: story.database.past), story.doing
        assert await story.settled(), story.doing
        assert right(story) != first
        for node in {run.container.node for run in story.world.foundations.pods.values() if run.alive}:
            story.world.foundations.isolate(node, on=True)
        story.process.kill()
        delete(story)
        story.process.start()
        assert await story.until(lambda: "ClusterFileLost" in story.doing, 600.0), story.doing
        await asyncio.sleep(300.0)
        assert shown(story) == ""
        for node in {run.container.node for run in story.world.foundations.pods.values() if run.alive}:
            story.world.foundations.isolate(node, on=False)
        assert await story.settled(), story.doing
        assert shown(story) == right(story)
        story.check()


def delete(story: Story) -> None:
    """Delete the Secret."""
    found = story.world.store.get("/secrets", WHERE)
    assert found is not None
    story.world.server.delete("/secrets", WHERE, DeleteOptions(Preconditions(found.uid)))


def before(story: Story) -> None:
    """Let the operator be one of before, which keeps no Secret, and the file in the status."""
    story.process.kill()
    text = shown(story, "/configmaps")
    assert text == right(story)
    delete(story)
    story.world.server.patch(KIND, Key(NAMESPACE, NAME), {"status": {"connection": text}}, PatchKind.MERGE, "status")


@contextmanager
def by_config_map() -> Generator[None]:
    """Let pods be made while the block runs that mount the ConfigMap, as operators of before made them."""

    def volumes(*args: Any) -> list[Json]:
        older = {"name": "cluster", "configMap": {"name": WHERE.name}}
        return [older if volume["name"] == "cluster" else volume for volume in newer(*args)]

    newer = vars(pod)["_volumes"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pod, "_volumes", volumes)
        yield
