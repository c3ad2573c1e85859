"""Rounds that fail unexpectedly: the status shows the reason, and the operator retries."""

import asyncio
from typing import Any

import pytest

from tests.simulation.scenario import PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation


def condition(scenario: Scenario, kind: str) -> dict[str, Any]:
    return next(c for c in scenario.status["conditions"] if c["type"] == kind)


async def test_a_cluster_whose_rounds_fail_reports_it_and_is_itself_again_after_the_first_that_succeeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        pods, observed = scenario.uids(PODS), scenario.status["observedGeneration"]

        def broken(*_: Any, **__: Any) -> Any:
            raise ValueError("hunter2 is no number")

        with monkeypatch.context() as patched:
            patched.setattr("stateward.operator.clusters.reconcile.observation", broken)
            scenario.edit(config={"indices.first": 1})
            assert await scenario.until(
                lambda: condition(scenario, "Stalled")["reason"] == "ReconciliationFailing", 60.0
            )
            await asyncio.sleep(600.0)
            ready = condition(scenario, "Ready")
            assert (ready["status"], ready["reason"]) == ("False", "ReconciliationFailing")
            assert condition(scenario, "Stalled")["status"] == "True"
            assert scenario.status["observedGeneration"] == observed
            assert "ValueError" in scenario.waits
            assert "hunter2" not in str(scenario.status)
            events = [s.doc for s in scenario.world.store.all("events.k8s.io/events")]
            assert any(event["reason"] == "ReconciliationFailing" for event in events)
            assert "hunter2" not in str(events)
            assert scenario.uids(PODS) == pods
        assert {violation.property for violation in scenario.run.violations} == {"crash"}
        scenario.run.violations.clear()
        await scenario.settle()
        assert "ReconciliationFailing" not in str(scenario.status)
        assert all(n.config.get("indices.first") == 1 for n in scenario.nodes())
