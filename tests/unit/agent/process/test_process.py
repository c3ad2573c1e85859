"""Starting and stopping over the API, and what Kubernetes sees of it."""

import signal
from pathlib import Path

import pytest

from stateward.agent.io import wire
from stateward.agent.io.files import Token
from stateward.agent.io.loop import Loop
from stateward.agent.io.signals import Signals
from stateward.agent.process.database import Database
from stateward.agent.process.launch import Launcher
from stateward.agent.process.replacement import Replacement
from stateward.agent.process.settings import Settings
from stateward.agent.serving.api import Api
from tests.unit.agent.pod import WAITS, Pod


def test_it_starts_the_process_and_reports_all_about_it(pod: Pod) -> None:
    pod.environment["STATEWARD_ENGINE_VERSION"] = "2.19.3"
    pod.run(WAITS).expect("up")
    found = pod.get()
    assert found["state"] == "running"
    assert found["pid"] > 1
    assert found["exitCode"] is None
    assert found["restarts"] == 0
    assert found["startedAt"].endswith("Z")
    assert found["mountedChecksum"] == found["runningChecksum"]
    assert found["engineVersion"] == "2.19.3"


def test_a_stop_on_request_keeps_the_agent_and_can_be_repeated(pod: Pod) -> None:
    pod.run(WAITS).expect("up")
    pod.stop()
    assert pod.post("stop")[0] == 200
    found = pod.get()
    assert (found["state"], found["exitCode"], found["pid"]) == ("stopped", 7, None)
    assert found["runningChecksum"] is None
    assert pod.probe("/live") == 200


def test_a_start_runs_the_process_again_and_can_be_repeated(pod: Pod) -> None:
    pod.run(WAITS).expect("up")
    pod.stop()
    status, found = pod.post("start")
    assert (status, found["state"], found["restarts"]) == (200, "running", 1)
    again = pod.post("start", {"checksum": found["mountedChecksum"]})
    assert (again[0], again[1]["pid"]) == (200, found["pid"])


def test_a_start_waits_for_the_configuration_that_it_names(pod: Pod) -> None:
    pod.run(WAITS).expect("up")
    old = pod.get()["mountedChecksum"]
    pod.stop()
    wanted = "sha256:" + "0" * 64
    status, refused = pod.post("start", {"checksum": wanted})
    assert (status, refused["expected"], refused["found"]) == (409, wanted, old)
    assert pod.get()["state"] == "stopped"
    (pod.config / "database.yml").write_text("a: 2\n")
    new = pod.get()["mountedChecksum"]
    assert new != old
    assert pod.post("start", {"checksum": new})[0] == 200
    assert pod.get()["runningChecksum"] == new


def test_a_start_with_another_configuration_than_the_running_one_is_refused(pod: Pod) -> None:
    pod.run(WAITS).expect("up")
    old = pod.get()["runningChecksum"]
    (pod.config / "database.yml").write_text("a: 2\n")
    found = pod.get()
    assert found["runningChecksum"] == old
    status, refused = pod.post("start", {"checksum": found["mountedChecksum"]})
    assert (status, refused["found"]) == (409, old)


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 3", 3), ("exit 0", 0), ("kill -SEGV $$", 139), ("kill -KILL $$", 137), ("sleep 300 & exit 4", 4)],
)
def test_a_process_that_ends_by_itself_ends_the_agent_with_its_code(pod: Pod, script: str, code: int) -> None:
    assert pod.run(script).wait() == code


@pytest.mark.parametrize(("command", "code"), [("/does/not/exist", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_be_started_ends_the_agent_as_a_shell_would(pod: Pod, command: str, code: int) -> None:
    assert pod.run([command]).wait() == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_end_of_the_pod_stops_the_process_first(pod: Pod, number: int) -> None:
    pod.run(WAITS).expect("up")
    pod.signal(number)
    pod.expect(f"got {signal.Signals(number).name}")
    assert pod.wait() == 7


def test_the_end_of_the_pod_while_the_process_is_stopped_ends_at_once(pod: Pod) -> None:
    pod.run(WAITS).expect("up")
    pod.stop()
    pod.signal(signal.SIGTERM)
    assert pod.wait() == 7


def test_a_process_that_does_not_stop_is_killed_after_the_grace_period_with_all_its_children(pod: Pod) -> None:
    # `set -m` puts the child into a group of its own, as the start script does with the database.
    pod.run(
        "trap 'echo no' TERM; set -m; (trap '' TERM; echo up; sleep 300 & wait) & while :; do wait; done",
        "--grace",
        "0.5",
    )
    pod.expect("up")
    assert pod.post("stop")[1]["state"] == "stopping"
    assert pod.post("start")[0] == 409
    pod.expect("KILL")
    pod.expect("the process is stopped")
    assert pod.get()["exitCode"] == 137


def test_it_is_stopped_only_when_nothing_of_it_is_left(pod: Pod) -> None:
    """The shell ends at once; the database behind it closes its files until the test lets it."""
    gate = pod.root / "gate"
    pod.run(
        f"mkfifo {gate}; trap 'exit 0' TERM; "
        f"(trap '' TERM; echo up; read < {gate}; echo closed) & while :; do wait; done"
    ).expect("up")
    pod.post("stop")
    assert pod.post("stop")[1]["state"] == "stopping"
    gate.write_text("\n")
    pod.expect("closed")
    pod.expect("the process is stopped")


@pytest.mark.parametrize("name", ["HUP", "QUIT", "USR1", "USR2"])
def test_other_signals_reach_the_process(pod: Pod, name: str) -> None:
    pod.run(WAITS).expect("up")
    pod.signal(getattr(signal, f"SIG{name}"))
    pod.expect(f"got SIG{name}")
    assert pod.get()["state"] == "running"


def test_a_storm_of_signals_hides_no_term(pod: Pod) -> None:
    pod.run(WAITS).expect("up")
    for _ in range(500):
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT, signal.SIGCHLD):
            pod.signal(number)
    pod.signal(signal.SIGTERM)
    assert pod.wait() == 7


def test_output_passes_untouched(pod: Pod) -> None:
    pod.run("printf 'raw \\xff line\\n'; printf 'to stderr\\n' >&2; exec sleep 300").expect("raw \ufffd line")
    pod.expect("to stderr")


@pytest.mark.parametrize("phase", ["stop", "stop-coordinated"])
def test_in_a_stop_phase_it_comes_back_stopped(pod: Pod, phase: str) -> None:
    pod.phase.write_text(phase)
    pod.run(WAITS)
    assert pod.get()["state"] == "stopped"
    assert (pod.probe("/live"), pod.probe("/started"), pod.probe("/ready")) == (200, 200, 503)
    assert pod.post("start")[1]["state"] == "running"
    pod.expect("up")


@pytest.mark.parametrize(
    "phase", ["", "schedule", "schedule-rolling", "schedule-coordinated", "start", "start-coordinated", "nonsense"]
)
def test_in_any_other_phase_it_comes_back_started(pod: Pod, phase: str) -> None:
    pod.phase.write_text(phase)
    pod.run(WAITS).expect("up")


def test_nothing_is_started_any_more_once_the_pod_ends(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    (tmp_path / "config").mkdir()
    settings = Settings(
        command=("true",),
        configuration=tmp_path / "config",
        api=("", 0),
        probes=("", 0),
        certificate=tmp_path / "crt",
        key=tmp_path / "key",
        token=tmp_path / "token",
    )
    database = Database(Loop(raise_it), settings.command, 1.0, lambda: None)
    replacement = Replacement(tmp_path, [], database, Signals.__new__(Signals))
    replacement.ending = True
    api = Api(Token(settings.token), database, Launcher(settings, database), replacement)
    asked = wire.Head("POST", "/v1/process/start", {"authorization": b"Bearer secret"})
    with pytest.raises(wire.RefusedError, match="ending with its pod") as refused:
        api.answer(asked, no_body).send(None)
    assert refused.value.status == 409
    assert database.facts.started_at is None


async def no_body() -> bytes:
    return b""


def raise_it(error: Exception) -> None:
    raise error
