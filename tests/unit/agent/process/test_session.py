"""Which processes of a session still run."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stateward.agent.io.loop import Loop
from stateward.agent.process import session
from stateward.agent.process.database import Database, State
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


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor or no memory is left to read what a process does."""

    def refuse(*_: object, **__: object) -> str:
        raise OSError(errno.ENFILE, "Too many open files in system")

    monkeypatch.setattr(Path, "read_text", refuse)


@pytest.mark.usefixtures("unreadable")
def test_a_process_that_cannot_be_read_does_not_count_as_ended() -> None:
    """Otherwise a second database would start beside the one that still runs."""
    with pytest.raises(OSError, match="Too many"):
        session.members(os.getsid(0))


@pytest.mark.usefixtures("unreadable")
def test_a_stop_waits_until_its_processes_can_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent goes on: a failed task would leave it without the signals of its pod."""
    failures: list[Exception] = []
    loop = Loop(failures.append)
    database = Database(loop, ["cat"], 0.1, lambda: None)
    database.start(None, {"PATH": os.environ["PATH"]}, ready=True)
    leader = database.facts.pid
    assert leader is not None
    os.kill(leader, signal.SIGKILL)
    _, status = os.waitpid(leader, 0)
    database.reaped(leader, status)
    for _ in range(5):
        loop.turn()
    assert (failures, database.facts.pid) == ([], leader)
    monkeypatch.undo()
    while database.facts.pid is not None:
        loop.turn()
    assert (failures, database.facts.state) == ([], State.EXITED)
