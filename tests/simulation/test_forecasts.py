"""The operator compares its changes with forecasts, also those that outlive one of its processes."""

import pytest

from stateward.operator.clusters.forecast_worker import Begun, Outcome, outcome_of
from tests.simulation.scenario import Scenario, hot, managers


async def forecast(begun: Begun) -> Outcome:
    return outcome_of(begun)


def sample(scenario: Scenario, part: str, kind: str) -> float:
    assert scenario.process.metrics is not None
    labels = {"engine": "opensearch", "kind": kind}
    found = scenario.process.metrics.registry.get_sample_value(f"stateward_forecast_ratio_{part}", labels)
    return found or 0.0


async def settled(scenario: Scenario) -> None:
    """Wait for the begin and the end of a change."""
    assert await scenario.until(lambda: "forecast" in scenario.status)
    assert await scenario.until(lambda: "forecast" not in scenario.status)


async def test_creation_upgrade_and_scaling_are_compared_with_their_forecasts() -> None:
    scenario = Scenario(agents=True)
    scenario.process.forecast = forecast
    with scenario.logged():
        await scenario.begin()
        scenario.edit(version="2.19.5")
        await settled(scenario)
        scenario.pools(managers(), hot(4))
        await settled(scenario)
    for kind in ("create", "upgrade", "scale"):
        assert sample(scenario, "count", kind) == 1
        assert 0.25 < sample(scenario, "sum", kind) < 4, kind


async def test_an_upgrade_that_outlives_its_process_is_compared_once() -> None:
    scenario = Scenario()
    scenario.process.forecast = forecast
    with scenario.logged():
        await scenario.begin()
        scenario.edit(version="2.19.5")
        assert await scenario.until(lambda: scenario.status.get("forecast", {}).get("durationSeconds"))
        known = scenario.status["forecast"]
        scenario.process.kill()
        assert await scenario.until(lambda: scenario.process.running)
        assert await scenario.until(lambda: scenario.status["version"] == "2.19.5")
        assert scenario.status.get("forecast", known) == known
        assert await scenario.until(lambda: "forecast" not in scenario.status)
    assert sample(scenario, "count", "upgrade") == 1
    assert sample(scenario, "sum", "upgrade") == pytest.approx(1.0, abs=1.0)
