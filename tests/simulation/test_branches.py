"""What a campaign has to meet follows from the code, and what it cannot meet is real, too."""

import pytest

from stateward.cli.advice import ADVICE
from stateward.simulation.branches import OUT_OF_REACH, branches, missed

pytestmark = pytest.mark.simulation


def test_what_is_out_of_reach_exists() -> None:
    assert set(OUT_OF_REACH) <= set(branches(ADVICE.keys()))


def test_what_was_not_met_is_named_unless_nothing_leads_there() -> None:
    counts = {name: 1 for name in branches(ADVICE.keys()) if name not in {"action: Drain", *OUT_OF_REACH}}
    assert missed(counts, ADVICE.keys()) == ["action: Drain"]
