"""With a removed guard a run fails; it is shrunk, and its file repeats the violation."""

import msgspec
import pytest

from stateward.simulation.campaign.campaign import attempt
from stateward.simulation.campaign.run import Plan
from stateward.simulation.campaign.shrinking import SmallRun, kind_of, shrink
from tests.simulation.mutations import without

pytestmark = pytest.mark.simulation

SEED = 4
ATTEMPTS = 3
"""Few, because each proposal is tried with up to four runs."""


def test_a_failing_run_is_made_small_and_repeated_from_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    without.left_behind(monkeypatch)
    plan = Plan(chaos=600.0)
    first = attempt(SEED, plan)
    assert first.violations
    small = shrink(first, plan, lambda cases: [attempt(*case) for case in cases], ATTEMPTS)
    assert small.plan.chaos < plan.chaos or small.plan.only is not None
    again = msgspec.json.decode(msgspec.json.encode(small), type=SmallRun)
    assert again == small
    repeated = attempt(again.seed, again.plan)
    assert small.violation in repeated.violations
    assert kind_of(small.violation) == kind_of(first.violations[0])
