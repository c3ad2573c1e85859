"""Random runs: a swarm of faults and a user who edits, seed after seed.

Always the same seeds, so that the result says something about the code and not about the machine's speed.
"""

import os

import pytest

from stateward.simulation.campaign import Report, simulate_many
from stateward.simulation.run import Plan

pytestmark = pytest.mark.simulation

SEEDS = int(os.environ.get("STATEWARD_SIMULATION_SEEDS", "100"))
"""How many; about a minute on two cores."""
FIRST = 1000


@pytest.fixture(scope="module")
def report() -> Report:
    return simulate_many("opensearch", range(FIRST, FIRST + SEEDS), plan=Plan(chaos=2400.0, agents=False))


def test_nothing_that_must_hold_was_violated(report: Report) -> None:
    told = [f"seed {outcome.seed}: {violation}" for outcome in report.failed for violation in outcome.violations[:2]]
    assert not told, "\n".join(told)


def test_faults_edits_and_steps_were_really_met(report: Report) -> None:
    met = set(report.counts)
    usual = {"fault: operator killed", "fault: user edit", "action: DeletePod", "action: Stage", "cluster formed"}
    assert usual <= met, sorted(usual - met)
