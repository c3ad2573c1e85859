"""The branches that a campaign must reach follow from the code, and each exception names an existing branch."""

import pytest

from stateward.cli.status.advice import ADVICE
from stateward.simulation.campaign.branches import (
    ONLY_FOUNDATIONDB,
    OUT_OF_REACH,
    branches,
    decisions,
    not_covered,
    out_of_reach,
)
from stateward.simulation.campaign.engine_setups import ENGINES, FOUNDATIONDB

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_out_of_reach_exists(engine: str) -> None:
    assert set(out_of_reach(engine)) <= set(branches(ADVICE.keys(), engine))


def test_a_branch_that_one_database_cannot_reach_another_must_reach() -> None:
    assert set(ONLY_FOUNDATIONDB) <= set(decisions(ADVICE.keys()))
    assert set(ONLY_FOUNDATIONDB) <= set(branches(ADVICE.keys(), FOUNDATIONDB))
    assert not_covered({}, ADVICE.keys(), FOUNDATIONDB)[-1] == "wait: BinariesNotStaged"


def test_a_branch_that_was_not_reached_is_named_unless_it_is_out_of_reach() -> None:
    counts = {name: 1 for name in branches(ADVICE.keys()) if name not in {"action: Drain", *OUT_OF_REACH}}
    assert not_covered(counts, ADVICE.keys()) == ["action: Drain"]
