"""Looks at settled clusters are spread in time, so that no event waits behind a burst of them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.kube.metadata import Key
from stateward.operator.pace import BUSY_SECONDS, SETTLED_SECONDS, next_look

times = st.floats(min_value=0, max_value=4e9, allow_nan=False)


@given(st.text(max_size=20), times)
def test_a_busy_cluster_is_looked_at_soon_whatever_it_is_called(name: str, now: float) -> None:
    assert next_look(Key("x", name), settled=False, now=now) == BUSY_SECONDS


@given(st.text(max_size=20), times)
def test_a_settled_cluster_is_never_left_alone_for_long_nor_asked_at_once(name: str, now: float) -> None:
    assert SETTLED_SECONDS / 2 <= next_look(Key("x", name), settled=True, now=now) <= SETTLED_SECONDS * 1.5


@pytest.mark.parametrize("late", [-0.01, 0.0, 0.5, 5.0])
def test_from_the_second_look_on_the_period_is_kept_even_when_a_look_was_late(late: float) -> None:
    key, now = Key("x", "logs"), 1_800_000_000.0
    moment = now + next_look(key, settled=True, now=now)
    after = moment + late + next_look(key, settled=True, now=moment + late)
    assert after - moment == pytest.approx(SETTLED_SECONDS)


def test_clusters_that_were_looked_at_together_are_spread_over_the_whole_period() -> None:
    delays = (next_look(Key("x", f"c-{number}"), settled=True, now=1.8e9) for number in range(600))
    by_second = Counter(int(delay) for delay in delays)
    # A burst would be 600 in one second; an even spread is 10.
    assert max(by_second.values()) <= 30
    assert len(by_second) >= 55
