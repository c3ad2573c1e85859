"""A newer agent takes the place of the running one; the database notices nothing."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from stateward.agent.process import configuration, handover
from stateward.agent.process.database import Facts, State
from tests.unit.agent.pod import ISOLATED, WAITS, Pod
from tests.unit.agent.process.test_expected import NEW, expecting


@pytest.fixture
def newer(pod: Pod, release: Path) -> Path:
    """Two copies of the agent in one directory; the pod runs the first."""
    for name in ("one", "two"):
        shutil.copytree(release, pod.root / "releases" / name, symlinks=True)
    pod.launcher = handover.command(pod.root / "releases" / "one")
    return pod.root / "releases" / "two"


def _options(pod: Pod) -> tuple[str, str]:
    return "--releases", str(pod.root / "releases")


def _replace(pod: Pod, path: Path) -> int:
    return pod.call("POST", "/v1/agent/replace", {"path": str(path)})[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a process namespace")
def test_process_1_is_replaced_and_keeps_the_process_and_all_that_is_known(pod: Pod, newer: Path) -> None:
    pod.prefix = list(ISOLATED)
    pod.run(WAITS, *_options(pod)).expect("up")
    pod.stop()
    pod.post("start")
    pod.expect("up")
    before, agent, port = pod.get(), pod.pid, pod.api
    assert _replace(pod, newer) == 202
    pod.listening()
    assert (pod.get(), pod.pid, pod.api) == (before, agent, port)
    assert str(newer) in Path(f"/proc/{agent}/cmdline").read_text()
    assert _replace(pod, newer) == 200
    pod.signal(signal.SIGUSR1)
    pod.expect("got SIGUSR1")
    pod.signal(signal.SIGTERM)
    assert pod.wait() == 7


def test_a_process_that_was_stopped_before_its_first_start_stays_stopped_under_the_newer_agent(
    pod: Pod, newer: Path
) -> None:
    pod.run(WAITS, *_options(pod), *expecting(pod, NEW)).expect("waiting for the configuration")
    pod.post("stop")
    pod.expect("stays stopped")
    assert _replace(pod, newer) == 202
    pod.listening()
    (pod.config / "database.yml").write_bytes(NEW["database.yml"])
    assert pod.post("start", {"checksum": configuration.checksum(NEW)})[0] == 200
    pod.expect("up")
    later = pod.seen[next(i for i, line in enumerate(pod.seen) if "becoming the agent" in line) :]
    assert not any("restart phase" in line for line in later)


def test_a_stopped_process_stays_stopped_under_the_newer_agent(pod: Pod, newer: Path) -> None:
    pod.run(WAITS, *_options(pod)).expect("up")
    pod.stop()
    assert _replace(pod, newer) == 202
    pod.listening()
    found = pod.get()
    assert (found["state"], found["exitCode"]) == ("stopped", 7)
    assert pod.post("start")[1]["restarts"] == 1
    pod.expect("up")


def test_a_process_that_waits_for_its_configuration_starts_under_the_newer_agent(pod: Pod, newer: Path) -> None:
    """Nothing else would start it: to the operator it is a pod that is on its way."""
    arrived = {"database.yml": b"a: 2\n"}
    (pod.root / "expected").write_text(configuration.checksum(arrived))
    pod.run(WAITS, *_options(pod), "--expected", str(pod.root / "expected"))
    pod.expect("waiting for the configuration")
    assert _replace(pod, newer) == 202
    pod.listening()
    (pod.config / "database.yml").write_bytes(arrived["database.yml"])
    pod.expect("up")


def test_the_handover_is_not_passed_to_the_process(pod: Pod, newer: Path) -> None:
    pod.run("echo up; env | grep ^STATEWARD; trap 'exit 0' TERM; while :; do read -t 60 <> <(:); done", *_options(pod))
    pod.stop()
    _replace(pod, newer)
    pod.listening()
    pod.post("start")
    pod.stop()
    assert not [line for line in pod.seen if "HANDOVER=" in line]


def test_an_agent_that_does_not_start_is_refused(pod: Pod, newer: Path) -> None:
    pod.run(WAITS, *_options(pod)).expect("up")
    main = next(newer.glob("lib/python*/stateward/agent/process/handover.py"))
    next(newer.glob("lib/python*/stateward/agent/process/__pycache__/handover.*")).unlink()
    main.chmod(0o644)
    main.write_text(main.read_text().replace("_FORMAT = 1", "_FORMAT = 2"))
    before = pod.get()
    assert _replace(pod, newer) == 422
    (newer / "ld.so").unlink()
    assert _replace(pod, newer) == 422
    assert _replace(pod, newer.parent / "none") == 422
    assert pod.get() == before


def test_an_agent_that_could_not_serve_the_api_is_refused(pod: Pod, newer: Path) -> None:
    pod.run(WAITS, *_options(pod)).expect("up")
    pod.key.write_text("edited")
    assert _replace(pod, newer) == 422
    assert pod.get()["state"] == "running"


def test_a_handover_survives_the_way() -> None:
    state = handover.Handover(Facts(State.RUNNING, 12, 1.5, None, 3, "sha256:x"), (4, 5))
    assert handover.unpack(handover.pack(state)) == state


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a process namespace")
def test_the_end_of_the_pod_in_the_middle_of_a_replacement_is_not_lost(pod: Pod, newer: Path) -> None:
    pod.prefix = list(ISOLATED)
    pod.run(WAITS, *_options(pod)).expect("up")
    assert _replace(pod, newer) == 202
    pod.signal(signal.SIGTERM)
    assert pod.wait() == 7


def test_a_database_that_ended_during_the_exec_is_the_crash_of_the_container(pod: Pod, newer: Path) -> None:
    """A shell starts a process that ends, and becomes an agent that is handed this process as running."""
    listeners = "import os, socket; fds = [socket.create_server(('127.0.0.1', 0)).detach() for _ in range(2)]"
    become = (
        f"{listeners}; pid = os.posix_spawn('/bin/false', ['false'], {{}})\n"
        "os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)\n"
        "[os.set_inheritable(fd, True) for fd in fds]\n"
        "import sys\n"
        "state = sys.argv[1].replace('4242', str(pid)).replace('[-1, -1]', str(fds))\n"
        f"os.execve(sys.argv[2], sys.argv[2:], {{**os.environ, {handover.STATE!r}: state}})"
    )
    state = handover.pack(handover.Handover(Facts(State.RUNNING, 4242, 1.5), (-1, -1)))
    pod.launcher = [sys.executable, "-I", "-c", become, state, *handover.command(newer)]
    assert pod.run(WAITS).wait() == 1
