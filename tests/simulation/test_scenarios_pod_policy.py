"""Pods that the policy does not allow: nothing is made of them, what runs goes on, and a correction is obeyed."""

import asyncio

import pytest

from stateward.api.base import Json
from stateward.kube.client import DeleteOptions, Preconditions
from stateward.kube.metadata import Key
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
