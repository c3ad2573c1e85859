"""Signals that arrive around an `exec`, in a process of their own."""

import subprocess
import sys

from tests.unit.agent.pod import SOURCE

_HELD = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from stateward.agent.io.signals import Signals
signals = Signals()
signals.install()
os.kill(os.getpid(), signal.SIGTERM)
signals.hold()
os.kill(os.getpid(), signal.SIGUSR1)
then = "import signal; print(sorted(signal.Signals(each).name for each in signal.sigpending()))"
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", then])
"""


def test_signals_noted_before_and_sent_after_the_hold_both_wait_for_the_next_program() -> None:
    child = [sys.executable, "-I", "-S", "-c", _HELD, str(SOURCE)]
    assert subprocess.run(child, check=True, capture_output=True).stdout == b"['SIGTERM', 'SIGUSR1']\n"
