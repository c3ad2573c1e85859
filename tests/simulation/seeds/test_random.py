"""Random runs: a fault schedule and a user's edits, for each seed.

The seeds are fixed, so that the result depends on the code and not on the machine's speed.
"""

import os

import pytest

from stateward.simulation.campaign.campaign import Report, simulate_many
from stateward.simulation.campaign.run import Plan

pytestmark = pytest.mark.simulation

SEEDS = int(os.environ.get("STATEWARD_SIMULATION_SEEDS", "40"))
"""The number of seeds; less than a minute on two cores. `stateward simulate` runs more."""
FIRST = {"opensearch": 2000, "elasticsearch": 0}


@pytest.fixture(scope="module")
def report() -> Report:
    return campaign("opensearch", SEEDS)


def campaign(engine: str, seeds: int) -> Report:
    first = FIRST[engine]
    return simulate_many(engine, range(first, first + seeds), plan=Plan(chaos=2400.0))


def told(report: Report) -> str:
    found = (f"seed {outcome.seed}: {v}" for outcome in report.failed for v in outcome.violations[:2])
    return "\n".join(found)


def test_no_property_is_violated(report: Report) -> None:
    assert not report.failed, told(report)


def test_no_property_is_violated_with_elasticsearch() -> None:
    report = campaign("elasticsearch", max(1, SEEDS // 5))
    assert not report.failed, told(report)


def test_faults_edits_and_steps_were_reached(report: Report) -> None:
    met = set(report.counts)
    usual = {
        "fault: operator killed",
        "fault: user edit",
        "user: member replacement requested",
        "user: member stop requested",
        "action: DeletePod",
        "action: Stage",
        "action: StopProcess",
        "cluster formed",
    }
    assert usual <= met, sorted(usual - met)
