"""A write that the API server refuses is an event, a condition and a wait within seconds, and is tried again."""

import asyncio

import pytest

from stateward.kube.objects.errors import FieldCause
from stateward.simulation.apiserver.refusals import refusal
from stateward.simulation.properties.goal import unmet
from tests.simulation.scenario import SETS, Scenario, hot, managers
from tests.support.requests import refuse

pytestmark = pytest.mark.simulation
SAID = "spec.template.spec.containers[0].image: a policy refuses it"


async def test_a_cluster_whose_members_are_refused_says_so_and_is_created_once_they_are_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cause = FieldCause(field="spec.template.spec.containers[0].image", message="a policy refuses it")
    said = refusal(422, "Invalid", SAID, causes=[cause])
    refuse(monkeypatch, lambda kind, _: said if kind == SETS else None)
    with Scenario(managers(), hot(3)).logged() as scenario:
        scenario.process.start()
        scenario.user.create()
        await asyncio.sleep(10.0)
        stalled = next(each for each in scenario.status["conditions"] if each["type"] == "Stalled")
        assert (stalled["status"], stalled["reason"]) == ("True", "StepFailed")
        assert SAID in stalled["message"]
        told = [each.doc for each in scenario.world.store.all("events.k8s.io/events")]
        assert [each["reason"] for each in told if SAID in each["note"]] == ["StepFailed"]
        assert f"StepFailed: Invalid: {SAID}" in scenario.waits
        monkeypatch.undo()
        assert await scenario.until(lambda: not unmet(scenario.world), 1800.0)
