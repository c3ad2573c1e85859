"""The smallest cluster, one change, and a crash at every step of it: after each write and after each engine call.

Each crash is tried with a successor that sees everything, and with one whose watches begin in the past. `make test`
tries every third step, another third for each change; `make e2e` (STATEWARD_EXPLORE=1) tries every step.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from stateward.simulation.timing.loop import run_virtual
from stateward.simulation.world.world import Layout
from tests.simulation.scenario import Scenario, pool
from tests.simulation.steps import Steps

pytestmark = pytest.mark.simulation

ALL = pool("all", 3, ["cluster_manager", "data"])
SMALL = Layout(zones=1, nodes_per_zone=3)
CHANGES: dict[str, dict[str, Any]] = {
    "setting": {"config": {"indices.first": 1}},
    "version": {"version": "2.18.0"},
    "shrink": {"pools": [{**ALL, "replicas": 2}]},
    "storage class": {"pools": [{**ALL, "storage": {"size": "2Gi", "storageClass": "fast"}}]},
}


async def live(change: dict[str, Any], fatal: int = 0, stale: int = 0, *, agents: bool = False) -> int:
    """Make a change, with a crash after one step; return how many steps were taken."""
    with Scenario(ALL, layout=SMALL, agents=agents).logged() as scenario:
        await scenario.begin(2)
        steps = Steps(scenario, fatal)
        scenario.process.api_rates.stale = stale
        scenario.edit(**change)
        await scenario.settle(quiet=300.0)
        assert len(scenario.world.formed()) == 1
        assert scenario.most_down <= 1, f"{scenario.most_down} members were down at once"
        return steps.taken


def crashes(steps: int, first: int) -> range:
    """Return the steps after which the operator crashes, of the steps from 1 on."""
    return range(1, steps + 1) if os.environ.get("STATEWARD_EXPLORE") else range(1 + first % 3, steps + 1, 3)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("stale", [0, 300], ids=["seeing", "stale"])
def test_a_crash_at_any_step_changes_nothing_in_the_end(change: dict[str, Any], stale: int) -> None:
    steps = run_virtual(live(change))
    assert steps > 5
    for fatal in crashes(steps, list(CHANGES.values()).index(change) + bool(stale)):
        attempt(lambda fatal=fatal: run_virtual(live(change, fatal, stale)), fatal)


@pytest.mark.parametrize("stale", [0, 300], ids=["seeing", "stale"])
def test_a_crash_in_any_phase_of_a_restart_in_kept_pods_changes_nothing_in_the_end(stale: int) -> None:
    change = CHANGES["setting"]
    steps = run_virtual(live(change, agents=True))
    assert steps > 15
    for fatal in crashes(steps, bool(stale)):
        attempt(lambda fatal=fatal: run_virtual(live(change, fatal, stale, agents=True)), fatal)


def attempt(run: Callable[[], object], fatal: int) -> None:
    try:
        run()
    except AssertionError as error:
        raise AssertionError(f"with a crash after step {fatal}: {error}") from error
