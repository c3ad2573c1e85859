"""The Secrets that people copy: copies stay, and the Secrets themselves go when their cluster is certainly gone."""

import asyncio

import pytest

from stateward.api.values import names
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.store import Stored
from tests.simulation.story import SECRETS, SETS, Story, hot, managers

pytestmark = pytest.mark.simulation
COPIED = ("logs-admin", "logs-ca")
ON = {"enabled": True}
CLUSTERS = "stateward.dev/opensearchclusters"


def stored(story: Story, name: str) -> Stored:
    found = story.object(SECRETS, name)
    assert found is not None
    return found


def uids(story: Story) -> dict[str, str]:
    return {s.key.name: s.uid for s in story.world.store.all(SECRETS) if s.key in {("data", name) for name in COPIED}}


def secured() -> Story:
    return Story(managers(1), hot(2), security=ON)


async def test_they_have_no_owner_and_go_with_their_cluster_while_copies_stay() -> None:
    with secured().told() as story:
        await story.begin()
        story.world.server.create("/namespaces", "", {"metadata": {"name": "clients"}})
        for name in COPIED:
            assert not stored(story, name).meta.get("ownerReferences")
            live = stored(story, name)
            kept = {key: live.meta[key] for key in ("name", "labels", "annotations")}
            for namespace, copy in (("clients", name), ("data", f"{name}-copy")):
                body = {**live.doc, "metadata": {**kept, "name": copy, "namespace": namespace}}
                story.world.server.create(SECRETS, namespace, body)
        story.user.delete()
        assert await story.until(lambda: not uids(story), 60.0)
        await asyncio.sleep(300.0)
        for name in COPIED:
            assert story.object(SECRETS, name, "clients") is not None
            assert story.object(SECRETS, f"{name}-copy") is not None


async def test_they_go_when_the_cluster_was_deleted_while_no_operator_ran() -> None:
    with secured().told() as story:
        await story.begin()
        story.process.kill()
        story.user.delete()
        assert await story.until(lambda: not story.uids(SETS) and not uids(story), 300.0)


async def test_a_cluster_of_the_same_name_does_not_take_those_of_the_one_before() -> None:
    with secured().told() as story:
        await story.begin()
        before = uids(story)
        story.process.kill()
        story.user.delete()
        story.user.create()
        assert await story.until(lambda: len(uids(story)) == 2 and not set(before.values()) & set(uids(story).values()))
        await story.settle()


async def test_those_of_a_living_cluster_stay_whatever_old_caches_show() -> None:
    with secured().told() as story:
        await story.begin()
        before = uids(story)
        story.process.stales[CLUSTERS] = 100_000
        story.process.lags[CLUSTERS] = 60.0
        story.process.kill()
        await asyncio.sleep(120.0)
        story.process.stales.clear()
        story.process.lags.clear()
        await story.settle()
        assert uids(story) == before


async def test_those_that_were_made_with_an_owner_lose_it_and_keep_everything_else() -> None:
    with secured().told() as story:
        await story.begin()
        cluster = story.world.resource()
        assert cluster is not None
        owner = {
            "apiVersion": "stateward.dev/v1alpha1",
            "kind": "OpenSearchCluster",
            "name": "logs",
            "controller": True,
        }
        for name in COPIED:
            given = {
                "ownerReferences": [{**owner, "uid": cluster.uid}],
                "annotations": {names.ANNOTATION_MADE_FOR: None},
            }
            story.world.server.patch(SECRETS, Key("data", name), {"metadata": given}, PatchKind.MERGE)
        data = {name: stored(story, name).doc["data"] for name in COPIED}
        before = uids(story)
        healed = lambda: not any(stored(story, name).meta.get("ownerReferences") for name in COPIED)  # noqa: E731
        assert await story.until(healed, 120.0)
        assert {name: stored(story, name).doc["data"] for name in COPIED} == data
        assert uids(story) == before
        story.user.delete()
        assert await story.until(lambda: not uids(story), 60.0)
