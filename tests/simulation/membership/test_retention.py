"""What becomes of volumes when their cluster is deleted follows the spec that it had last, and not its first one."""

import asyncio
from typing import Any

import pytest

from stateward.api.values import names
from stateward.kube.client.client import PatchKind
from stateward.simulation.apiserver.store import Event
from tests.simulation.story import CLAIMS, PODS, Story, hot, managers

pytestmark = pytest.mark.simulation
KEEP, GO = {"onClusterDelete": "Retain"}, {"onClusterDelete": "Delete"}


def owned(story: Story) -> set[bool]:
    """Return whether claims of the cluster have an owner."""
    claims = [s for s in story.world.store.all(CLAIMS) if names.LABEL_CLUSTER in s.labels]
    return {bool(s.meta.get("ownerReferences")) for s in claims}


def ready(story: Story) -> bool:
    """Return whether the status says that the newest spec is carried out."""
    resource = story.world.resource()
    assert resource is not None
    condition = next(c for c in story.status["conditions"] if c["type"] == "Ready")
    return condition["status"] == "True" and story.status["observedGeneration"] == resource.meta["generation"]


async def changed(story: Story, volumes: dict[str, Any]) -> None:
    """Change what becomes of the volumes, and wait until the operator says that it is done."""
    story.edit(volumes=volumes)
    assert await story.until(lambda: ready(story))


async def test_volumes_are_kept_when_that_was_asked_for_later_and_their_cluster_is_deleted() -> None:
    with Story(managers(1), hot(2), volumes=GO).told() as story:
        await story.begin()
        assert owned(story) == {True}
        claims, pods = story.uids(CLAIMS), story.uids(PODS)
        await changed(story, KEEP)
        assert owned(story) == {False}
        assert story.uids(PODS) == pods
        story.user.delete()
        await asyncio.sleep(120.0)
        assert story.uids(CLAIMS) == claims


async def test_volumes_are_deleted_when_that_was_asked_for_later_and_their_cluster_is_deleted() -> None:
    with Story(managers(1), hot(2)).told() as story:
        await story.begin()
        assert owned(story) == {False}
        await changed(story, GO)
        assert owned(story) == {True}
        story.user.delete()
        await asyncio.sleep(120.0)
        assert not story.uids(CLAIMS)


async def test_an_old_cache_does_not_undo_that_volumes_are_kept() -> None:
    """The operator still sees the old spec, and already sees claims that the cluster does not own any more."""
    with Story(managers(1), hot(2), volumes=GO).told() as story:
        await story.begin()
        story.process.lags["stateward.dev/opensearchclusters"] = 60.0
        story.edit(volumes=KEEP)
        for claim in story.world.store.all(CLAIMS):
            story.world.server.patch(CLAIMS, claim.key, {"metadata": {"ownerReferences": []}}, PatchKind.MERGE)
        seen: list[bool] = []

        def look(kind: str, _: Event) -> None:
            if kind == CLAIMS:
                seen.append(True in owned(story))

        story.world.store.subscribers.append(look)
        await story.settle()
        assert not any(seen)
