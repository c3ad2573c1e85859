"""Pods that the policy forbids: they are not created, running ones continue, and a correction is applied."""

import asyncio
from typing import Any

import pytest

from stateward.api.values.base import Json
from stateward.api.values.names import LABEL_ALLOWED
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.store import Stored
from tests.simulation.scenario import PODS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

POWER: Json = {"spec": {"hostPID": True, "nodeSelector": {}}}
FOREIGN: Json = {"spec": {"serviceAccountName": "builder"}}


def powerful(stored: Stored) -> bool:
    """Return whether a pod or a template asks for what it may not have."""
    spec = stored.doc["spec"].get("template", stored.doc)["spec"]
    return bool(spec.get("hostPID") or spec.get("serviceAccountName"))


@pytest.mark.parametrize("template", [POWER, FOREIGN])
async def test_a_cluster_continues_as_it_is_and_nothing_new_is_made_of_the_template(template: Json) -> None:
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        before = scenario.uids(PODS)
        scenario.pools(managers(1), hot(4, podTemplate=template))
        assert await scenario.until(lambda: "PodNotAllowed" in scenario.waits)
        await asyncio.sleep(900.0)
        assert scenario.uids(PODS) == before
        assert scenario.disrupted() == []
        assert not any(powerful(s) for kind in (PODS, SETS) for s in scenario.world.store.all(kind))
        assert {c["type"]: c["status"] for c in scenario.status["conditions"]}["Stalled"] == "True"
        scenario.pools(managers(1), hot(3))
        await scenario.settle()
        assert before.items() <= scenario.uids(PODS).items()
        assert scenario.disrupted() == []
        assert "PodNotAllowed" not in scenario.waits


async def test_a_pod_that_is_lost_meanwhile_comes_back_as_it_was() -> None:
    with Scenario(managers(1), hot(3), agents=True).logged() as scenario:
        await scenario.begin()
        scenario.pools(managers(1), hot(3, podTemplate=POWER))
        assert await scenario.until(lambda: "PodNotAllowed" in scenario.waits)
        lost = scenario.object(PODS, "logs-hot-1-0")
        assert lost is not None
        scenario.world.server.delete(PODS, Key("data", "logs-hot-1-0"), DeleteOptions(Preconditions(lost.uid)))
        assert await scenario.until(lambda: scenario.uids(PODS).get("logs-hot-1-0") not in {None, lost.uid})
        back = scenario.object(PODS, "logs-hot-1-0")
        assert back is not None
        assert not powerful(back)
        assert await scenario.until(lambda: scenario.most_down == 1 and scenario.database.health == "green")
        scenario.pools(managers(1), hot(3))
        await scenario.settle()


async def test_a_rollout_that_is_under_way_ends_what_it_has_begun() -> None:
    setting: Json = {"config": {"indices.query.bool.max_clause_count": "2048"}}
    with Scenario(managers(1), hot(3), agents=True).logged() as scenario:
        await scenario.begin()
        scenario.edit(**setting)
        assert await scenario.until(lambda: bool(scenario.disrupted()))
        scenario.pools(managers(1), hot(3, podTemplate=POWER))
        assert await scenario.until(lambda: "PodNotAllowed" in scenario.waits)
        await asyncio.sleep(600.0)
        assert scenario.database.health == "green"
        assert not any(powerful(s) for kind in (PODS, SETS) for s in scenario.world.store.all(kind))
        scenario.pools(managers(1), hot(3))
        await scenario.settle()
        assert scenario.most_down == 1


def lose(scenario: Scenario, pod: str) -> str:
    """Have a pod go as on a node that is drained by force; return its UID."""
    lost = scenario.object(PODS, pod)
    assert lost is not None
    scenario.world.server.delete(PODS, lost.key, DeleteOptions(Preconditions(lost.uid)))
    return lost.uid


async def stricter(scenario: Scenario, **options: Any) -> None:
    """Have the next operator come with other options, as after an upgrade."""
    for name, value in options.items():
        setattr(scenario.process, name, value)
    scenario.process.kill()
    assert await scenario.until(lambda: not scenario.process.running)
    assert await scenario.until(lambda: scenario.process.running)


async def test_a_policy_that_is_new_takes_nothing_from_a_cluster_that_runs_and_a_correction_heals_it() -> None:
    with Scenario(managers(1), hot(3, podTemplate=POWER), agents=True).logged() as scenario:
        scenario.process.pod_policy = "privileged"
        await scenario.begin()
        before = scenario.uids(PODS)
        assert any(powerful(s) for s in scenario.world.store.all(PODS))
        await stricter(scenario, pod_policy="baseline")
        assert await scenario.until(lambda: "PodNotAllowed" in scenario.waits)
        assert "spec.pools[1].podTemplate.spec.hostPID" in scenario.waits
        assert "the pod policy is baseline" in scenario.waits
        # Other edits wait meanwhile, and the status says why.
        scenario.edit(config={"indices.query.bool.max_clause_count": "2048"})
        await asyncio.sleep(1200.0)
        assert (scenario.uids(PODS), scenario.disrupted(), scenario.database.health) == (before, [], "green")
        assert {c["type"]: c["status"] for c in scenario.status["conditions"]}["Stalled"] == "True"
        # The existing StatefulSet recreates a lost pod, and the cluster is healthy again.
        gone = lose(scenario, "logs-hot-1-0")
        assert await scenario.until(lambda: scenario.uids(PODS).get("logs-hot-1-0") not in {None, gone})
        assert await scenario.until(lambda: len(scenario.nodes()) == 4 and scenario.database.health == "green")
        assert len(scenario.uids(SETS)) == 4
        scenario.pools(managers(1), hot(3))
        await scenario.settle()
        assert not any(powerful(s) for kind in (PODS, SETS) for s in scenario.world.store.all(kind))
        assert scenario.most_down == 1
        assert scenario.red == 0.0


async def test_labels_that_are_requested_from_now_on_hold_changes_and_nothing_else() -> None:
    keys = "/secrets"
    with Scenario(managers(1), hot(3), agents=True, secureSettings=[{"secretName": "keys"}]).logged() as scenario:
        body: Json = {
            "metadata": {"name": "keys", "namespace": "data"},
            "data": {"s3.client.default.access_key": "YQ=="},
        }
        scenario.world.server.create(keys, "data", body)
        await scenario.begin()
        before = scenario.uids(PODS)
        await stricter(scenario, pod_references="labelled")
        assert await scenario.until(lambda: "PodNotAllowed" in scenario.waits)
        assert "kubectl label secret keys -n data stateward.dev/allowed-for-pods=logs" in scenario.waits
        scenario.pools(managers(1), hot(4))
        await asyncio.sleep(1200.0)
        assert (scenario.uids(PODS), scenario.disrupted(), scenario.database.health) == (before, [], "green")
        labels: Json = {"metadata": {"labels": {LABEL_ALLOWED: "logs"}}}
        scenario.world.server.patch(keys, Key("data", "keys"), labels, PatchKind.MERGE)
        await scenario.settle()
        assert len(scenario.nodes()) == 5
        assert scenario.disrupted() == []
