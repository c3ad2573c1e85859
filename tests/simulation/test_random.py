"""Random runs: a swarm of faults and a user who edits, seed after seed, within a budget of time."""

import os

import pytest

from stateward.simulation.campaign import Report, simulate_many
from stateward.simulation.run import Plan

pytestmark = pytest.mark.simulation

BUDGET = float(os.environ.get("STATEWARD_SIMULATION_SECONDS", "60"))
"""Seconds of real time; `make bench` and a nightly run give more."""
FIRST = 1000


@pytest.fixture(scope="module")
def report() -> Report:
    return simulate_many("opensearch", range(FIRST, FIRST + 100_000), plan=Plan(chaos=2400.0), budget=BUDGET)


def test_nothing_that_must_hold_was_violated(report: Report) -> None:
    told = [f"seed {outcome.seed}: {violation}" for outcome in report.failed for violation in outcome.violations[:2]]
    assert not told, "\n".join(told)


def test_faults_edits_and_steps_were_really_met(report: Report) -> None:
    """Enough seeds meet everything; fewer, on a slow machine, the most of it."""
    met = set(report.counts)
    usual = {"fault: operator killed", "fault: user edit", "action: DeletePod", "action: Stage", "cluster formed"}
    assert report.seeds < 8 or usual <= met, sorted(usual - met)
