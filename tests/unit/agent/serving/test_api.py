"""Authorization of the API, and its refusals."""

import contextlib
import os
import shutil
import socket
import ssl
from pathlib import Path

import pytest

from tests.unit.agent.authority import Authority
from tests.unit.agent.pod import WAITS, Pod


@pytest.fixture
def stopped(pod: Pod) -> Pod:
    pod.phase.write_text("stop")
    return pod.run(WAITS)


@pytest.mark.parametrize(
    ("method", "path", "body", "token", "status"),
    [
        ("GET", "/v1/process", None, "wrong", 401),
        ("GET", "/v1/process", None, "", 401),
        ("POST", "/v1/process/stop", None, "secre", 401),
        ("GET", "/nowhere", None, "wrong", 401),
        ("GET", "/nowhere", None, "secret", 404),
        ("GET", "/v1/process/", None, "secret", 404),
        ("GET", "/v1/process?x=1", None, "secret", 404),
        ("POST", "/v1/process", None, "secret", 405),
        ("GET", "/v1/process/stop", None, "secret", 405),
        ("DELETE", "/v1/process/start", None, "secret", 405),
        ("POST", "/v1/process/start", b"x" * 4097, "secret", 413),
        ("POST", "/v1/process/start", b"{", "secret", 400),
        ("POST", "/v1/process/start", b"[" * 4000, "secret", 400),
        ("POST", "/v1/process/start", b"[]", "secret", 400),
        ("POST", "/v1/process/start", b'{"checksum": 1}', "secret", 400),
        ("POST", "/v1/process/start", b'{"checksums": "x"}', "secret", 400),
        ("POST", "/v1/process/stop", b'{"checksum": "x"}', "secret", 400),
        ("POST", "/v1/agent/replace", b"{}", "secret", 400),
        ("POST", "/v1/agent/replace", b'{"path": "/etc"}', "secret", 422),
    ],
)
def test_a_request_that_is_wrong_is_refused_by_its_first_fault(
    stopped: Pod, method: str, path: str, body: bytes | None, token: str, status: int
) -> None:
    assert stopped.call(method, path, body, token)[0] == status
    assert stopped.get()["state"] == "stopped"


def test_a_rotated_token_counts_at_once_and_the_old_one_no_more(stopped: Pod) -> None:
    stopped.token.write_text("newer\n")
    assert stopped.call("GET", "/v1/process")[0] == 401
    assert stopped.call("GET", "/v1/process", token="newer")[0] == 200


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_requests_without_a_token_are_refused(stopped: Pod, content: str | None) -> None:
    stopped.token.unlink() if content is None else stopped.token.write_text(content)
    assert stopped.call("GET", "/v1/process", token="")[0] == 401
    assert stopped.call("GET", "/v1/process")[0] == 401


def _served(pod: Pod) -> bytes:
    context = ssl.create_default_context(cafile=str(pod.authority.path))
    with (
        socket.create_connection(("127.0.0.1", pod.api), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        return secure.getpeercert(binary_form=True) or b""


def test_a_renewed_certificate_is_served_and_a_pair_that_does_not_fit_is_not(stopped: Pod, tmp_path: Path) -> None:
    first = _served(stopped)
    certificate, key = stopped.authority.issue(tmp_path / "renewed")
    shutil.copy(certificate, stopped.certificate)
    assert _served(stopped) == first
    shutil.copy(key, stopped.key)
    assert _served(stopped) not in {first, b""}


def test_without_a_usable_certificate_the_process_starts_and_the_api_refuses_all_until_there_is_one(
    pod: Pod, tmp_path: Path
) -> None:
    """A database that crashes would stay down, and with it the agent, of which the operator learns what is wrong."""
    certificate, key = pod.authority.issue(tmp_path / "restored")
    pod.key.write_text("edited")
    pod.run(WAITS).expect("up")
    with pytest.raises(ssl.SSLError, match="ALERT"):
        pod.get()
    assert pod.probe("/live") == 200
    shutil.copy(certificate, pod.certificate)
    shutil.copy(key, pod.key)
    assert pod.get()["state"] == "running"


def test_a_client_without_the_authority_s_certificate_is_refused_where_one_is_requested(
    pod: Pod, tmp_path: Path
) -> None:
    pod.phase.write_text("stop")
    pod.run(WAITS, "--client-ca", str(Authority(tmp_path / "clients").path))
    with pytest.raises((ssl.SSLError, OSError)):
        pod.get()


def test_plain_http_and_noise_get_no_answer_and_do_no_harm(stopped: Pod) -> None:
    for data in (b"GET /v1/process HTTP/1.1\r\n\r\n", os.urandom(3000), b""):
        with socket.create_connection(("127.0.0.1", stopped.api), timeout=20) as plain:
            try:  # The agent may hang up at any point of it.
                plain.sendall(data)
                plain.shutdown(socket.SHUT_WR)
                answer = plain.recv(4096)
            except TimeoutError:
                raise
            except OSError:
                answer = b""
            assert b"HTTP/1.1" not in answer
    assert stopped.get()["state"] == "stopped"


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01", b"GET / HT"])
def test_a_silent_client_blocks_neither_the_kubelet_nor_the_operator(stopped: Pod, said: bytes) -> None:
    with contextlib.ExitStack() as stack:
        for port in [stopped.api, stopped.probes] * 20:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            with contextlib.suppress(OSError):
                client.sendall(said)
        assert stopped.probe("/live") == 200
        assert stopped.get()["state"] == "stopped"
    assert stopped.probe("/live") == 200
