"""Pods that the policy does not allow: nothing is made of them, what runs goes on, and a correction is obeyed."""

import asyncio
from typing import Any

import pytest

from stateward.api.values.base import Json
from stateward.api.values.names import LABEL_ALLOWED
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.store import Stored
from tests.simulation.story import PODS, SETS, Story, hot, managers

pytestmark = pytest.mark.simulation

POWER: Json = {"spec": {"hostPID": True, "nodeSelector": {}}}
FOREIGN: Json = {"spec": {"serviceAccountName": "builder"}}


def powerful(stored: Stored) -> bool:
    """Return whether a pod or a template asks for what it may not have."""
    spec = stored.doc["spec"].get("template", stored.doc)["spec"]
    return bool(spec.get("hostPID") or spec.get("serviceAccountName"))


@pytest.mark.parametrize("template", [POWER, FOREIGN])
async def test_a_cluster_goes_on_as_it_is_and_nothing_new_is_made_of_the_template(template: Json) -> None:
    with Story(managers(1), hot(2), agents=True).told() as story:
        await story.begin()
        before = story.uids(PODS)
        story.pools(managers(1), hot(4, podTemplate=template))
        assert await story.until(lambda: "PodNotAllowed" in story.waits)
        await asyncio.sleep(900.0)
        assert story.uids(PODS) == before
        assert story.disrupted() == []
        assert not any(powerful(s) for kind in (PODS, SETS) for s in story.world.store.all(kind))
        assert {c["type"]: c["status"] for c in story.status["conditions"]}["Stalled"] == "True"
        story.pools(managers(1), hot(3))
        await story.settle()
        assert before.items() <= story.uids(PODS).items()
        assert story.disrupted() == []
        assert "PodNotAllowed" not in story.waits


async def test_a_pod_that_is_lost_meanwhile_comes_back_as_it_was() -> None:
    with Story(managers(1), hot(3), agents=True).told() as story:
        await story.begin()
        story.pools(managers(1), hot(3, podTemplate=POWER))
        assert await story.until(lambda: "PodNotAllowed" in story.waits)
        lost = story.object(PODS, "logs-hot-1-0")
        assert lost is not None
        story.world.server.delete(PODS, Key("data", "logs-hot-1-0"), DeleteOptions(Preconditions(lost.uid)))
        assert await story.until(lambda: story.uids(PODS).get("logs-hot-1-0") not in {None, lost.uid})
        back = story.object(PODS, "logs-hot-1-0")
        assert back is not None
        assert not powerful(back)
        assert await story.until(lambda: story.most_down == 1 and story.database.health == "green")
        story.pools(managers(1), hot(3))
        await story.settle()


async def test_a_rollout_that_is_under_way_ends_what_it_has_begun() -> None:
    setting: Json = {"config": {"indices.query.bool.max_clause_count": "2048"}}
    with Story(managers(1), hot(3), agents=True).told() as story:
        await story.begin()
        story.edit(**setting)
        assert await story.until(lambda: bool(story.disrupted()))
        story.pools(managers(1), hot(3, podTemplate=POWER))
        assert await story.until(lambda: "PodNotAllowed" in story.waits)
        await asyncio.sleep(600.0)
        assert story.database.health == "green"
        assert not any(powerful(s) for kind in (PODS, SETS) for s in story.world.store.all(kind))
        story.pools(managers(1), hot(3))
        await story.settle()
        assert story.most_down == 1


def lose(story: Story, pod: str) -> str:
    """Have a pod go as on a node that is drained by force; return its UID."""
    lost = story.object(PODS, pod)
    assert lost is not None
    story.world.server.delete(PODS, lost.key, DeleteOptions(Preconditions(lost.uid)))
    return lost.uid


async def stricter(story: Story, **options: Any) -> None:
    """Have the next operator come with other options, as after an upgrade."""
    for name, value in options.items():
        setattr(story.process, name, value)
    story.process.kill()
    assert await story.until(lambda: not story.process.running)
    assert await story.until(lambda: story.process.running)


async def test_a_policy_that_is_new_takes_nothing_from_a_cluster_that_runs_and_a_correction_heals_it() -> None:
    with Story(managers(1), hot(3, podTemplate=POWER), agents=True).told() as story:
        story.process.pod_policy = "privileged"
        await story.begin()
        before = story.uids(PODS)
        assert any(powerful(s) for s in story.world.store.all(PODS))
        await stricter(story, pod_policy="baseline")
        assert await story.until(lambda: "PodNotAllowed" in story.waits)
        assert "spec.pools[1].podTemplate.spec.hostPID" in story.waits
        assert "the pod policy is baseline" in story.waits
        # What people ask for meanwhile waits, and says for what.
        story.edit(config={"indices.query.bool.max_clause_count": "2048"})
        await asyncio.sleep(1200.0)
        assert (story.uids(PODS), story.disrupted(), story.database.health) == (before, [], "green")
        assert {c["type"]: c["status"] for c in story.status["conditions"]}["Stalled"] == "True"
        # A pod that is lost comes back from the StatefulSet that is there, and the cluster is whole again.
        gone = lose(story, "logs-hot-1-0")
        assert await story.until(lambda: story.uids(PODS).get("logs-hot-1-0") not in {None, gone})
        assert await story.until(lambda: len(story.nodes()) == 4 and story.database.health == "green")
        assert len(story.uids(SETS)) == 4
        story.pools(managers(1), hot(3))
        await story.settle()
        assert not any(powerful(s) for kind in (PODS, SETS) for s in story.world.store.all(kind))
        assert story.most_down == 1
        assert story.red == 0.0


async def test_labels_that_are_asked_for_from_now_on_hold_changes_and_nothing_else() -> None:
    keys = "/secrets"
    with Story(managers(1), hot(3), agents=True, secureSettings=[{"secretName": "keys"}]).told() as story:
        body: Json = {
            "metadata": {"name": "keys", "namespace": "data"},
            "data": {"s3.client.default.access_key": "YQ=="},
        }
        story.world.server.create(keys, "data", body)
        await story.begin()
        before = story.uids(PODS)
        await stricter(story, pod_references="labelled")
        assert await story.until(lambda: "PodNotAllowed" in story.waits)
        assert "kubectl label secret keys -n data stateward.dev/allowed-for-pods=logs" in story.waits
        story.pools(managers(1), hot(4))
        await asyncio.sleep(1200.0)
        assert (story.uids(PODS), story.disrupted(), story.database.health) == (before, [], "green")
        labels: Json = {"metadata": {"labels": {LABEL_ALLOWED: "logs"}}}
        story.world.server.patch(keys, Key("data", "keys"), labels, PatchKind.MERGE)
        await story.settle()
        assert len(story.nodes()) == 5
        assert story.disrupted() == []
