"""Conditions: which one says that manual intervention is required."""

import pytest

from stateward.api.values.base import Condition
from stateward.api.values.conditions import condition, stalled

READY = condition("Ready", status=True, reason="Settled")


def test_manual_intervention_is_required_if_the_condition_stalled_is_true() -> None:
    stuck = condition("Stalled", status=True, reason="UpgradeRefused", message="2.11.0 is older")
    assert stalled([READY, stuck]) is stuck


@pytest.mark.parametrize("status", [False, None])
def test_no_manual_intervention_is_required_otherwise(*, status: bool | None) -> None:
    assert stalled([READY, condition("Stalled", status=status, reason="Progressing")]) is None
    assert stalled([READY]) is None
    assert stalled(list[Condition]()) is None
