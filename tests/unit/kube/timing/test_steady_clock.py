"""A leap of the machine's clock is believed when the time after it has lasted, and no sooner."""

import time

import pytest

from stateward.kube.timing.clock import LASTING, SteadyClock

YEAR = 365 * 86400.0
BEGIN = 1_800_000_000.0


class Machine:
    """A machine whose clocks are set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.since = BEGIN, 50.0
        monkeypatch.setattr(time, "time", lambda: self.wall)
        monkeypatch.setattr(time, "monotonic", lambda: self.since)
        self.clock = SteadyClock()

    def later(self, seconds: float) -> float:
        """Let time pass, and return what the clock says, in seconds since the beginning."""
        self.wall += seconds
        self.since += seconds
        return self.clock.now().timestamp() - BEGIN


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_time_continues_and_is_corrected(machine: Machine) -> None:
    assert machine.later(100.0) == pytest.approx(100.0)
    machine.wall += 30.0
    assert machine.later(0.0) == pytest.approx(130.0)
    assert machine.later(86400.0) == pytest.approx(86530.0)
    machine.wall -= 600.0
    assert machine.later(1.0) == pytest.approx(85931.0)


@pytest.mark.parametrize("leap", [5 * YEAR, -5 * YEAR, 86400.0])
def test_a_leap_that_is_reverted_was_never_believed(machine: Machine, leap: float) -> None:
    machine.later(10.0)
    machine.wall += leap
    for passed in range(11, 11 + int(LASTING) - 20, 10):
        assert machine.later(10.0) == pytest.approx(10.0 + (passed - 11) + 10.0)
    machine.wall -= leap
    now = machine.later(1.0)
    assert now < LASTING
    assert machine.later(LASTING * 3) == pytest.approx(now + LASTING * 3)


def test_a_leap_that_lasts_is_believed(machine: Machine) -> None:
    """After a suspend of a day the clock is correct within a quarter of an hour."""
    machine.wall += 86400.0
    assert machine.later(5.0) == pytest.approx(5.0)
    assert machine.later(LASTING - 10.0) < 86400.0
    assert machine.later(10.0) == pytest.approx(86400.0 + LASTING + 5.0)


@pytest.mark.parametrize(("first", "second"), [(YEAR, YEAR), (2 * YEAR, -YEAR), (-YEAR, -YEAR)])
def test_each_new_leap_has_to_last_by_itself(machine: Machine, first: float, second: float) -> None:
    machine.wall += first
    machine.later(1.0)
    machine.wall += second
    machine.later(LASTING / 2)
    assert machine.later(LASTING / 2 + 1.0) == pytest.approx(LASTING + 2.0)
    assert machine.later(LASTING) == pytest.approx(first + second + LASTING * 2 + 2.0)


def test_the_same_leap_once_more_has_to_last_once_more(machine: Machine) -> None:
    for passed in (0.0, LASTING):
        machine.wall += YEAR
        assert machine.later(LASTING / 2) == pytest.approx(passed + LASTING / 2)
        machine.wall -= YEAR
        assert machine.later(LASTING / 2) == pytest.approx(passed + LASTING)
