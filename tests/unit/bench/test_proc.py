import os

import pytest

from bench import machine
from bench.machine import Ticks
from bench.process import parse, usage

STAT = "42 (a (b) c) S 1 42 42 0 -1 4194304 100 0 0 0 {user} {system} 0 0 20 0 1 0 1 1 1"
STATUS = "Name:\tx\nVmHWM:\t    4096 kB\nVmRSS:\t    2048 kB\n"


def test_a_process_name_with_spaces_and_parentheses_hides_no_field() -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    used = parse(STAT.format(user=2 * ticks, system=ticks), STATUS)
    assert used.cpu == pytest.approx(3)
    assert (used.resident, used.peak) == (2 << 20, 4 << 20)


def test_this_very_process_can_be_read() -> None:
    assert usage(os.getpid()).resident > 1 << 20


def test_waiting_for_disks_is_not_busy() -> None:
    before = Ticks.parse("cpu  10 0 10 100 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    after = Ticks.parse("cpu  20 0 20 130 50 0 0 0 5 0\n")
    assert after.busy_since(before) == pytest.approx(0.2)


def test_the_machine_is_described_in_one_line() -> None:
    assert "cores" in machine.describe()
    assert "\n" not in machine.describe()
