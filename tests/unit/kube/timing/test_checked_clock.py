"""The operator follows the API server's time where its machine's clock is wrong, and never jumps with one clock."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.kube.timing.checked_clock import LASTING, TOLERANCE, CheckedClock

YEAR = 365 * 86400.0
BEGIN = 1_800_000_000.0


class Machines:
    """The operator's machine and the API server's, whose clocks are set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.since, self.wall, self.served = 50.0, BEGIN, BEGIN
        monkeypatch.setattr(time, "time", lambda: self.wall)
        monkeypatch.setattr(time, "monotonic", lambda: self.since)
        self.clock = CheckedClock()

    def later(self, seconds: float, *, answer: bool = True) -> float:
        """Let time pass, with an answer of the API server; return what the clock says, as seconds since the start."""
        self.wall, self.served, self.since = self.wall + seconds, self.served + seconds, self.since + seconds
        if answer:
            self.clock.told(float(int(self.served)))
        return self.clock.now().timestamp() - BEGIN


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> Machines:
    return Machines(monkeypatch)


def test_the_machines_clock_is_used_while_both_agree(machines: Machines) -> None:
    assert machines.later(100.25) == pytest.approx(100.25)
    machines.wall += 30.0
    assert machines.later(0.0) == pytest.approx(130.25)
    assert machines.clock.ahead == pytest.approx(30.25)
    assert machines.later(86400.0, answer=False) == pytest.approx(86530.25)


@pytest.mark.parametrize("wrong", [5 * YEAR, 86400.0, 191.0, -191.0, -5 * YEAR])
def test_a_machine_that_starts_with_a_wrong_clock_follows_the_api_server(machines: Machines, wrong: float) -> None:
    machines.wall += wrong
    for passed in range(10, 2 * int(LASTING), 10):
        assert machines.later(10.0) == pytest.approx(passed)
    assert machines.clock.ahead == pytest.approx(wrong)
    machines.wall -= wrong
    assert machines.later(0.5) == pytest.approx(2 * LASTING - 10 + 0.5)


def test_before_the_first_answer_there_is_only_the_machines_clock(machines: Machines) -> None:
    assert machines.later(5.0, answer=False) == pytest.approx(5.0)
    assert machines.clock.ahead == 0.0


@pytest.mark.parametrize("leap", [5 * YEAR, -5 * YEAR, 300.0])
def test_a_leap_of_the_machines_clock_is_never_believed(machines: Machines, leap: float) -> None:
    machines.later(10.25)
    machines.wall += leap
    for passed in range(10, 3 * int(LASTING), 10):
        assert machines.later(10.0) == pytest.approx(10.25 + passed)


@pytest.mark.parametrize("leap", [5 * YEAR, -5 * YEAR, 300.0])
def test_a_leap_of_the_api_servers_clock_is_believed_when_it_has_lasted(machines: Machines, leap: float) -> None:
    machines.later(10.0)
    machines.served += leap
    machines.later(1.0)
    assert machines.later(LASTING - 1.0) == pytest.approx(10.0 + LASTING)
    assert machines.later(1.0) == pytest.approx(11.0 + LASTING + leap)
    machines.served -= leap
    assert machines.later(1.0) == pytest.approx(12.0 + LASTING)


def test_api_servers_whose_clocks_differ_move_nothing(machines: Machines) -> None:
    """A connection to another API server gets its dates: time continues as long as one of them agrees at times."""
    machines.later(10.0)
    for passed in range(100, 5 * int(LASTING), 100):
        machines.served += 400.0 if passed % 300 else -800.0
        assert machines.later(100.0) == pytest.approx(10.0 + passed)


def test_after_a_suspension_the_first_answer_sets_the_time(machines: Machines) -> None:
    machines.later(10.0)
    machines.wall += 86400.0
    machines.served += 86400.0
    assert machines.later(0.0, answer=False) == pytest.approx(10.0)
    assert machines.later(1.0) == pytest.approx(86411.0)


@given(
    wrong=st.floats(-YEAR, YEAR),
    steps=st.lists(st.tuples(st.floats(0.0, 300.0), st.booleans()), min_size=1, max_size=40),
)
def test_time_is_the_api_servers_and_never_goes_back(wrong: float, steps: list[tuple[float, bool]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        machines = Machines(patch)
        machines.wall += wrong
        before = machines.later(1.0)
        true = 1.0
        for seconds, answer in steps:
            now, true = machines.later(seconds, answer=answer), true + seconds
            assert now >= before - 1e-3
            assert abs(now - true) <= TOLERANCE
            before = now
