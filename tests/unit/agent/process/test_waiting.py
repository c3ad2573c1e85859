"""A new pod's agent that waits for its configuration, and gets requests or faults meanwhile."""

import contextlib
import socket
import ssl
from pathlib import Path

from stateward.agent.process import configuration
from tests.unit.agent.pod import TOKEN, WAITS, Pod
from tests.unit.agent.process.test_expected import NEW, expecting


def arrives(pod: Pod) -> None:
    (pod.config / "database.yml").write_bytes(NEW["database.yml"])


def test_a_stop_request_ends_the_wait_and_only_a_start_request_starts_the_process(pod: Pod) -> None:
    """The operator continues when the agent reports `stopped`: from then on the process must not start by itself."""
    pod.run(WAITS, *expecting(pod, NEW)).expect("waiting for the configuration")
    status, answer = pod.post("stop")
    assert (status, answer["state"]) == (200, "stopped")
    pod.expect("stays stopped")
    arrives(pod)
    assert pod.get()["state"] == "stopped"
    assert pod.post("start", {"checksum": configuration.checksum(NEW)})[0] == 200
    pod.expect("up")


def test_a_configuration_that_cannot_be_kept_is_tried_again(pod: Pod) -> None:
    """A full disk, for example. An agent that stopped trying would look broken, and its container would be killed."""
    options = expecting(pod, NEW)
    pod.run(WAITS, *options).expect("waiting for the configuration")
    kept = pod.root / "kept"
    kept.write_text("in the way")
    arrives(pod)
    pod.expect("could not be kept")
    assert pod.probe("/live") == 200
    assert pod.get()["state"] == "stopped"
    kept.unlink()
    pod.expect("up")


def test_nothing_is_started_any_more_once_the_wait_was_too_long(pod: Pod) -> None:
    """Open connections delay the end of the agent for a moment; a process that starts in it would be killed at once."""
    impatient = "from stateward.agent import agent\nagent._PATIENCE, agent._LAST_WORDS = 0.5, 3.0\nsys.exit(main"
    pod.launcher[-1] = pod.launcher[-1].replace("sys.exit(main", impatient)
    pod.run(WAITS, *expecting(pod, NEW)).expect("waiting for the configuration")
    with half_a_request(pod):
        pod.expect("not the one that this pod was made for")
        assert pod.post("start")[0] == 409
    assert pod.wait() == 1


def test_the_end_of_an_agent_that_starts_nothing_says_why(pod: Pod, tmp_path: Path) -> None:
    """The cluster's status shows these words; without them it shows only the exit code."""
    said = tmp_path / "termination-log"
    said.touch()
    pod.environment["STATEWARD_LAST_WORDS"] = str(said)
    impatient = "from stateward.agent import agent\nagent._PATIENCE = 0.5\nsys.exit(main"
    pod.launcher[-1] = pod.launcher[-1].replace("sys.exit(main", impatient)
    assert pod.run(WAITS, *expecting(pod, NEW)).wait() == 1
    assert said.read_text() == "the configuration is not the one that this pod was made for"
    assert pod.run(["/does/not/exist"]).wait() == 127
    assert said.read_text().startswith("/does/not/exist could not be started: ")
    pod.config.rename(tmp_path / "elsewhere")
    assert pod.run(WAITS).wait() == 1
    assert said.read_text().startswith("the agent cannot start: ")


def half_a_request(pod: Pod) -> contextlib.closing[ssl.SSLSocket]:
    context = ssl.create_default_context(cafile=str(pod.authority.path))
    connection = context.wrap_socket(socket.create_connection(("127.0.0.1", pod.api)), server_hostname="127.0.0.1")
    connection.sendall(f"GET /v1/process HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n".encode())
    return contextlib.closing(connection)
