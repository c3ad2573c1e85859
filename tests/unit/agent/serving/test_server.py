"""Limits of the server: time, bytes and connections, over plain sockets and with short limits."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from stateward.agent.io import wire
from stateward.agent.io.loop import Loop, sleep
from stateward.agent.serving.server import Limits, ReadBody, Server, listen
from tests.support.fuzz import fuzzed


class _Running:
    def __init__(self) -> None:
        self.held = threading.Semaphore(0)
        self.release = threading.Event()
        self.failures: list[Exception] = []
        self.loop = Loop(self.failures.append)
        self.server = Server(self.loop, listen("127.0.0.1", 0), self._echo)
        self.server.limits = Limits(connections=3, seconds_head=0.3, seconds_body=0.3, seconds_answer=0.3)
        self.port = self.server.listener.getsockname()[1]
        self.ending = False
        self.loop.spawn(self.server.serve())
        self.loop.spawn(self._tick())

    async def _echo(self, head: wire.Head, read_body: ReadBody) -> wire.Answer:
        if head.path == "/fail":
            raise KeyError("a bug")
        if head.path == "/hold":
            self.held.release()
            while not self.release.is_set():
                await sleep(0.02)
        return wire.Answer(200, {"body": (await read_body()).decode(errors="replace")})

    async def _tick(self) -> None:
        while not self.ending:
            await sleep(0.02)

    def turn(self) -> None:
        while not self.ending:
            self.loop.turn()

    def send(self, data: bytes, *, end: bool = True) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as client:
            with contextlib.suppress(OSError):
                client.sendall(data)
                if end:
                    client.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while more := client.recv(4096):
                    answer += more
            return answer


@pytest.fixture(scope="module")
def running() -> Iterator[_Running]:
    running = _Running()
    thread = threading.Thread(target=running.turn)
    thread.start()
    yield running
    running.ending = True
    thread.join(20)
    running.server.listener.close()
    assert running.failures == []


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 200),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi and more", 200),
        (b"GET /fail HTTP/1.1\r\n\r\n", 500),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: x\n\n", 400),
        (b"GET / HTTP/1.1\r\nA: 1\r\na: 2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: 1\r\n b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1_0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhi", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 4097\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999\r\n\r\n" + b"x" * 50000, 413),
        (b"GET / HTTP/1.1\r\n" + b"".join(b"a%d: 1\r\n" % i for i in range(65)) + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 9000 + b"\r\n\r\n", 431),
    ],
)
def test_each_fault_has_its_status(running: _Running, data: bytes, status: int) -> None:
    assert running.send(data).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize("data", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhi"])
def test_a_slow_client_is_cut(running: _Running, data: bytes) -> None:
    assert running.send(data, end=False).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\n\r\n"])
def test_idle_connections_are_closed_first(running: _Running, said: bytes) -> None:
    with contextlib.ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=20)) for _ in range(12)
        ]
        for client in idle:
            with contextlib.suppress(OSError):
                client.sendall(said)
        assert running.send(b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        assert running.server.active <= running.server.limits.connections + 2
    assert running.failures == []


def test_beyond_the_limit_connections_are_closed_and_later_ones_are_served(running: _Running) -> None:
    with contextlib.ExitStack() as stack:
        busy = [
            stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=20)) for _ in range(3)
        ]
        for client in busy:
            client.sendall(b"POST /hold HTTP/1.1\r\n\r\n")
        for _ in busy:
            assert running.held.acquire(timeout=20)
        assert running.send(b"GET / HTTP/1.1\r\n\r\n") == b""
        running.release.set()
        for client in busy:
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
    for _ in range(200):  # each refusal is immediate; the places of the cut clients are free within their linger
        if running.send(b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200 "):
            return
        threading.Event().wait(0.02)
    raise AssertionError("no place became free")


WORDS = st.sampled_from(
    [b"GET", b"POST", b" ", b"/", b"HTTP/1.1", b"\r\n", b"\r\n\r\n", b"Content-Length: ", b"5", b":", b"{", b"\x00"]
)


@fuzzed(40, HealthCheck.function_scoped_fixture)
@given(st.lists(WORDS | st.binary(max_size=20), max_size=12))
def test_no_bytes_break_the_server(running: _Running, words: list[bytes]) -> None:
    answer = running.send(b"".join(words))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    assert running.failures == []


@fuzzed(100)
@given(st.lists(WORDS | st.binary(max_size=20), max_size=12))
def test_a_head_is_parsed_or_refused(words: list[bytes]) -> None:
    status = 0
    try:
        head = wire.parse_head(b"".join(words))
        assert wire.body_length(head) <= wire.BODY_LIMIT
    except wire.RefusedError as error:
        status = error.status
    assert status in {0, 400, 413, 431}


@fuzzed(100)
@given(st.binary(max_size=60) | st.from_regex(rb'\{"checksum": .{0,20}\}'))
def test_a_body_is_parsed_or_refused(body: bytes) -> None:
    status = 0
    try:
        assert set(wire.parse_body(body, frozenset({"checksum"}))) <= {"checksum"}
    except wire.RefusedError as error:
        status = error.status
    assert status in {0, 400}
