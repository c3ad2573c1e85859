"""Which processes of a session still run."""

import subprocess
import sys
import time
from pathlib import Path

from stateward.agent.process import session
from tests.unit.agent.pod import DEADLINE

_FIRST_THREAD_ENDS = """
import ctypes, sys, threading
threading.Thread(target=sys.stdin.read).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_whose_first_thread_has_ended_runs_until_its_last_one_ends() -> None:
    """A killed database with a hanging disk, for example: a second one would start on the files that it still uses."""
    command = [sys.executable, "-I", "-S", "-B", "-c", _FIRST_THREAD_ENDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        wait_for_zombie(process.pid)
        assert session.members(process.pid) == [process.pid]
        process.communicate()
        assert session.members(process.pid) == []


def test_a_zombie_does_not_run() -> None:
    with subprocess.Popen(["true"], start_new_session=True) as process:
        wait_for_zombie(process.pid)
        assert session.members(process.pid) == []


def wait_for_zombie(pid: int) -> None:
    end = time.monotonic() + DEADLINE
    while " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < end
        time.sleep(0.01)
