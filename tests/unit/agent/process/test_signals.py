"""Signals that arrive around an `exec`, in a process of their own."""

import subprocess
import sys

from tests.unit.agent.pod import SOURCE, WAITS, Pod

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


_ENDED_EARLY = """
import os, runpy, signal, sys
sys.path.insert(0, {source!r})

class Kubelet:
    def find_spec(self, name, *_):
        if name == "stateward.agent.commandline":
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Kubelet())
runpy.run_module("stateward.agent", run_name="__main__", alter_sys=True)
"""


def test_a_term_that_arrives_while_the_agent_is_loaded_ends_it_and_nothing_is_started(pod: Pod) -> None:
    """Process 1 does not get a signal that it has no handler for, and a process that starts would be killed at once."""
    pod.launcher[-1] = _ENDED_EARLY.format(source=str(SOURCE))
    assert pod.run(WAITS).wait() == 0
    pod.expect("(end)")
    assert not any("started" in line for line in pod.seen)
