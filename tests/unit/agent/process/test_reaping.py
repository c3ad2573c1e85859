"""Process 1 of a container, in a process namespace of its own."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.unit.agent.pod import DEADLINE, ISOLATED, WAITS, Pod

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a process namespace")


@pytest.fixture
def isolated(pod: Pod) -> Pod:
    pod.prefix = list(ISOLATED)
    return pod


def _children(pod: Pod) -> list[str]:
    """Return the agent's children, zombies among them."""
    return Path(f"/proc/{pod.pid}/task/{pod.pid}/children").read_text().split()


def test_orphans_are_adopted_and_reaped(isolated: Pod) -> None:
    """Twenty orphans end while the database runs, and after a moment nothing of them is left."""
    isolated.run("for i in {1..20}; do (sh -c 'exit 1' & exec true); done; echo up; exec sleep 300").expect("up")
    end = time.monotonic() + DEADLINE
    while len(_children(isolated)) > 1:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert isolated.get()["state"] == "running"


def test_process_1_obeys_term(isolated: Pod) -> None:
    isolated.run(WAITS).expect("up")
    isolated.signal(signal.SIGTERM)
    assert isolated.wait() == 7


def test_a_crash_of_the_database_is_the_crash_of_the_container(isolated: Pod) -> None:
    isolated.run("kill -SEGV $$")
    assert isolated.wait() == 139


def test_the_end_of_a_shell_is_told_to_a_database_in_another_group(isolated: Pod) -> None:
    """A signal to the shell's group does not reach it, and the shell passes on no more signals."""
    database = "(trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.05; done)"
    isolated.run(f"set -m; {database} & wait").expect("up")
    os.kill(int(_children(isolated)[0]), signal.SIGKILL)
    isolated.expect("told")
    assert isolated.wait() == 137


def test_a_shell_that_ends_on_a_stop_leaves_no_database_in_another_group_without_a_signal(isolated: Pod) -> None:
    database = "(trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.05; done)"
    isolated.run(f"trap 'exit 0' TERM; set -m; {database} & wait").expect("up")
    isolated.post("stop")
    isolated.expect("told")
    isolated.expect("the process is stopped")


def test_a_killed_shell_does_not_hide_a_database_in_another_group(isolated: Pod) -> None:
    """The leader is killed; its children get SIGTERM, then SIGKILL, and only then the agent exits with its code."""
    isolated.run("set -m; (trap '' TERM; echo up; exec sleep 300) & wait", "--grace", "0.3")
    isolated.expect("up")
    os.kill(int(_children(isolated)[0]), signal.SIGKILL)
    isolated.expect("exited with code 137")
    isolated.expect("KILL")
    assert isolated.wait() == 137
