"""A status whose times lie ahead, because an operator's clock was: each wait begins again once, and then ends."""

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.model.past_times import AHEAD
from stateward.planning.model.times import parse_time
from stateward.planning.report.past_times import with_past_times
from tests.simulation.failures.test_empty_status import POLICY, machine_of
from tests.simulation.scenario import Scenario, hot, managers
from tests.simulation.test_api_calls import STATUS
from tests.support.requests import counted_requests

pytestmark = pytest.mark.simulation

YEAR = 365 * 86400.0
LATER = 3600.0


def move(scenario: Scenario, seconds: float) -> None:
    """Let the status have the times of a clock that was ahead."""
    resource = scenario.world.resource()
    assert resource is not None
    status = msgspec.convert(resource.doc["status"], ClusterStatus)
    moved = with_past_times(status, lambda when: when + seconds)
    scenario.world.context.change(resource, ("status",), msgspec.to_builtins(moved))


def latest(part: Any) -> float:
    """Return the latest time in a part of a status."""
    if isinstance(part, str):
        return parse_time(part) or 0.0
    parts: Any = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return max(map(latest, parts), default=0.0)


def wall(scenario: Scenario) -> float:
    return scenario.world.context.clock.now().timestamp()


@pytest.mark.parametrize("seconds", [LATER, 5 * YEAR])
async def test_a_lost_member_is_replaced_after_its_time_although_its_loss_is_recorded_ahead(seconds: float) -> None:
    with Scenario(managers(), hot(4), replacement=POLICY).logged() as scenario:
        await scenario.begin()
        scenario.world.nodes.lose(machine_of(scenario, "logs-hot-1"), power=True)
        assert await scenario.until(lambda: "logs-hot-1 Missing" in scenario.waits, 300.0)
        move(scenario, seconds)
        await asyncio.sleep(580.0)
        assert not scenario.status.get("pendingRemovals")
        assert await scenario.until(lambda: scenario.status.get("pendingRemovals"), 120.0)


async def test_times_ahead_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted_requests(monkeypatch, "stateward")
    with Scenario(managers(), hot(2)).logged() as scenario:
        await scenario.begin(indices=1)
        move(scenario, 5 * YEAR)
        assert latest(scenario.status) > wall(scenario) + 4 * YEAR
        before = Counter(calls)
        await asyncio.sleep(600.0)
        assert calls[f"patch {STATUS}"] - before[f"patch {STATUS}"] == 1
        assert latest(scenario.status) <= wall(scenario)
        scenario.check()


async def test_clocks_that_differ_by_two_minutes_cause_no_write(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted_requests(monkeypatch, "stateward")
    with Scenario(managers(), hot(2)).logged() as scenario:
        await scenario.begin(indices=1)
        late = wall(scenario) - latest(scenario.status)
        move(scenario, late + AHEAD - 1)
        before = Counter(calls)
        await asyncio.sleep(600.0)
        assert calls[f"patch {STATUS}"] == before[f"patch {STATUS}"]
