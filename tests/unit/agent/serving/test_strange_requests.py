"""Whatever a request holds, the agent answers it with its fault, and without the token nothing changes."""

import contextlib
import json
import socket
import ssl
from http.client import HTTPSConnection
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from tests.support.fuzz import fuzzed
from tests.unit.agent.pod import DEADLINE, TOKEN, WAITS, Pod

PATHS = ["/v1/process", "/v1/process/stop", "/v1/process/start", "/v1/agent/replace"]
KNOWN = {200, 202, 400, 404, 405, 408, 409, 413, 422, 431, 503}
"""Every answer to a request with the token, but for 500: that is a fault of the agent."""

NAMES = st.sampled_from(["path", "checksum", "other"]) | st.text(max_size=8)
WORDS = st.text(max_size=60) | st.sampled_from(
    ["\0", "\ud800", "/\0", "/etc", "a" * 300, "../" * 90, "\x7f", "sha256:"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.characters(codec=None),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=3).map(lambda found: json.dumps(found).encode())
BODIES = st.binary(max_size=60) | DOCUMENTS | VALUES.map(lambda found: json.dumps(found).encode())
TARGETS = st.sampled_from(PATHS) | st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30).map(
    lambda text: f"/{text}"
)
FUZZED = fuzzed(60, HealthCheck.function_scoped_fixture)


class Line:
    """Requests to the API of one agent as they are, without anything that puts them right."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self._context = ssl.create_default_context(cafile=str(pod.authority.path))

    def ask(self, method: str, path: str, body: bytes, authorization: str | None) -> tuple[int, Any]:
        connection = HTTPSConnection("127.0.0.1", self.pod.api, context=self._context, timeout=DEADLINE)
        with contextlib.closing(connection):
            connection.putrequest(method, path)
            connection.putheader("Content-Length", str(len(body)))
            if authorization is not None:
                connection.putheader("Authorization", authorization)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def authorized(self, path: str, body: bytes) -> tuple[int, Any]:
        return self.ask("POST", path, body, f"Bearer {TOKEN}")


@pytest.fixture
def line(pod: Pod) -> Line:
    (pod.root / "releases").mkdir()
    (pod.root / "releases" / "loop").symlink_to("loop")
    pod.phase.write_text("stop")
    return Line(pod.run(WAITS, "--releases", str(pod.root / "releases")))


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/v1/agent/replace", {"path": "/a\0b"}, ["path", r"'/a\x00b'", "no control characters"]),
        ("/v1/agent/replace", {"path": "/\ud800"}, ["path", r"'/\ud800'", "no control characters"]),
        ("/v1/agent/replace", {"path": 7}, ["path", "7", "a string"]),
        ("/v1/agent/replace", {"checksum": "x"}, ["checksum", "path"]),
        ("/v1/agent/replace", {}, ["path", "directory"]),
        ("/v1/process/start", {"checksum": "\0"}, ["checksum", r"'\x00'", "no control characters"]),
        ("/v1/process/start", {"checksum": ["x"]}, ["checksum", "['x']", "a string"]),
        ("/v1/process/stop", {"\0": "x"}, [r"'\x00'", "no field"]),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_field_and_what_is_accepted(
    line: Line, path: str, body: dict[str, object], told: list[str]
) -> None:
    status, answer = line.authorized(path, json.dumps(body).encode())
    assert status == 400
    assert [each for each in told if each not in answer["error"]] == []


@pytest.mark.parametrize("name", ["a" * 300, "loop", "loop/x", "none", ".", "..", "../../etc"])
def test_a_path_that_is_no_copy_is_refused_however_strange_it_is(line: Line, name: str) -> None:
    path = line.pod.root / "releases" / name
    status, answer = line.authorized("/v1/agent/replace", json.dumps({"path": str(path)}).encode())
    assert status == 422
    assert "is not a copy of the agent" in answer["error"]


@FUZZED
@example("/v1/agent/replace", b'{"path": "\\u0000"}')
@example("/v1/agent/replace", b'{"path": "\\ud800"}')
@example("/v1/process/start", b"[" * 4000)
@given(TARGETS, BODIES)
def test_no_request_makes_the_agent_fail(line: Line, path: str, body: bytes) -> None:
    assert line.authorized(path, body)[0] in KNOWN


WRONG = st.sampled_from([None, "", "Bearer", "Bearer ", "Basic c2VjcmV0", f"bearer {TOKEN}", f"Bearer {TOKEN}x", TOKEN])


@FUZZED
@example("POST", "/v1/process/start", b"", None)
@given(st.sampled_from(["GET", "POST", "PUT", "DELETE"]), TARGETS, BODIES, WRONG)
def test_without_the_token_nothing_is_reported_and_nothing_changes(
    line: Line, method: str, path: str, body: bytes, authorization: str | None
) -> None:
    before = line.pod.get()
    status, answer = line.ask(method, path, body, authorization)
    assert (status, answer) == (401, {"error": "wrong or missing token"})
    assert line.pod.get() == before


def test_a_header_of_white_space_takes_no_time(pod: Pod) -> None:
    """Any client may send it, and while the agent thinks about it, nothing answers the kubelet."""
    pod.run(WAITS)
    with socket.create_connection(("127.0.0.1", pod.probes), timeout=DEADLINE) as client:
        client.sendall(b"GET /live HTTP/1.1\r\nX:" + b" " * 8000 + b"\0\r\n\r\n")
        assert client.recv(64).startswith(b"HTTP/1.1 400 ")
    assert pod.probe("/live") == 200
