"""Forming a cluster, for the first time and after a loss: a user that does all that the operator says gets one."""

import pytest

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import DeleteOptions, Preconditions
from tests.simulation.membership.test_created_again import deleted
from tests.simulation.scenario import CLAIMS, PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation
CONSENT: dict[str, str | None] = {names.ANNOTATION_BOOTSTRAP_AGAIN: "accept-data-loss"}


def delete(scenario: Scenario, kind: str, *parts: str) -> None:
    """Delete the objects of members with one of these parts in their names."""
    for stored in scenario.world.store.all(kind):
        if any(part in stored.key.name for part in parts):
            scenario.world.server.delete(kind, stored.key, DeleteOptions(Preconditions(stored.uid)))


def formed(scenario: Scenario) -> int:
    return scenario.world.context.counts.get("cluster formed", 0)


async def given_up(scenario: Scenario) -> None:
    """Agree to a new cluster, and do what is said then: delete the claims and the pods that are named."""
    scenario.user.annotate(CONSENT)
    assert await scenario.until(lambda: "EarlierVolumes" in scenario.waits)
    assert not await scenario.until(lambda: formed(scenario) == 2, 1200.0)
    (message,) = (w["message"] for w in scenario.status["waiting"] if w["reason"] == "EarlierVolumes")
    named = [word.rstrip(";") for word in message.split()]
    delete(scenario, CLAIMS, *(word for word in named if word.startswith("data-logs")))
    delete(scenario, PODS, *(word for word in named if word.endswith("-0") and word.startswith("logs")))


async def test_the_message_about_too_few_managers_is_followed_and_a_new_cluster_is_formed() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin(indices=0)
        await deleted(scenario)
        scenario.user.spec["pools"] = [managers(1), hot(2)]
        scenario.user.create()
        assert await scenario.until(lambda: "bootstrap-again=accept-data-loss" in scenario.waits)
        await given_up(scenario)
        assert await scenario.until(lambda: formed(scenario) == 2, 7200.0), scenario.waits


async def test_a_new_cluster_is_formed_although_a_minority_of_the_earlier_managers_has_its_volume() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin(indices=0)
        await deleted(scenario)
        delete(scenario, CLAIMS, "managers-0", "managers-1")
        scenario.user.create()
        assert await scenario.until(lambda: "for more than 10 minutes" in scenario.waits)
        await given_up(scenario)
        assert await scenario.until(lambda: formed(scenario) == 2, 7200.0), scenario.waits


async def test_the_loss_of_the_claims_of_all_managers_is_told_and_a_person_may_accept_it() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin(indices=0)
        delete(scenario, CLAIMS, "managers")
        delete(scenario, PODS, "managers")
        assert await scenario.until(lambda: "ManagersLost" in scenario.waits), scenario.waits
        scenario.user.annotate(CONSENT)
        assert await scenario.until(lambda: formed(scenario) == 2), scenario.waits


async def test_consent_that_has_no_effect_does_not_stay() -> None:
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin(indices=0)
        delete(scenario, CLAIMS, "managers")
        delete(scenario, PODS, "managers")
        assert await scenario.until(lambda: "DatabaseUnknown" in scenario.waits)
        scenario.user.annotate(CONSENT)
        await scenario.until(lambda: formed(scenario) == 2)
        resource = scenario.world.resource()
        assert resource is not None
        assert names.ANNOTATION_BOOTSTRAP_AGAIN not in resource.meta.get("annotations", {}), scenario.waits


def in_pods(**more: Json) -> Json:
    """Return managers that keep their state in their pods."""
    return {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"ephemeral": True}, **more}


async def test_a_setting_of_new_managers_without_volumes_is_corrected_and_a_person_is_asked() -> None:
    """The operator cannot know that the pod whose setting is corrected has formed nothing."""
    with Scenario(in_pods(config={"bad.setting": "x"}), hot(2)).logged() as scenario:
        scenario.process.start()
        scenario.user.create()
        assert await scenario.until(lambda: "Bootstrapping" in scenario.waits)
        await scenario.until(lambda: False, 240.0)
        scenario.pools(in_pods(), hot(2))
        assert await scenario.until(lambda: "if no member has ever served, nothing is lost" in scenario.waits)
        scenario.user.annotate(CONSENT)
        assert await scenario.until(lambda: formed(scenario) == 1), scenario.waits


async def test_a_slow_first_start_of_a_manager_without_a_volume_calls_for_nobody() -> None:
    """It is the operator itself that deletes its pod after ten minutes."""
    with Scenario(in_pods(), hot(2)).logged() as scenario:
        scenario.world.databases.behavior.boot = (900.0, 960.0)
        scenario.process.start()
        scenario.user.create()
        assert await scenario.until(lambda: formed(scenario) == 1), scenario.waits
