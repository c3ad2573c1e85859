"""The responses to the kubelet's probes, with a small HTTP server as the database."""

import contextlib
import errno
import http.server
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Self

import pytest

from stateward.agent.serving import inquiry
from tests.unit.agent.pod import WAITS, Pod


class Database(http.server.ThreadingHTTPServer):
    status = 503
    authorization = ""
    asked: threading.Event

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/health"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Database)
        self.server.authorization = self.headers.get("Authorization", "")
        self.send_response(self.server.status)
        self.end_headers()
        self.server.asked.set()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        return


@pytest.fixture
def database() -> Iterator[Database]:
    server = Database(("127.0.0.1", 0), _Handler)
    server.asked = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join(20)
    server.server_close()


def test_the_probes_ask_the_database_and_a_start_is_over_when_it_answers(pod: Pod, database: Database) -> None:
    credentials = pod.root / "credentials"
    credentials.write_text("user:word\n")
    urls = ("--started-url", database.url, "--ready-url", database.url, "--credentials", str(credentials))
    pod.run(WAITS, *urls).expect("up")
    assert pod.get()["state"] == "starting"
    assert (pod.probe("/live"), pod.probe("/started"), pod.probe("/ready")) == (200, 503, 503)
    assert database.authorization == "Basic dXNlcjp3b3Jk"
    database.status = 200
    assert (pod.probe("/started"), pod.probe("/ready")) == (200, 200)
    pod.expect("the process has started")
    assert pod.get()["state"] == "running"
    pod.stop()
    database.asked.clear()
    assert (pod.probe("/live"), pod.probe("/started"), pod.probe("/ready")) == (200, 200, 503)
    assert not database.asked.is_set()


def test_a_database_that_hangs_does_not_hang_the_agent(pod: Pod) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        pod.run(WAITS, "--ready-url", url, "--probe-timeout", "0.3").expect("up")
        asking = threading.Thread(target=pod.probe, args=("/ready",))
        asking.start()
        assert pod.get()["state"] == "running"
        assert pod.probe("/live") == 200
        asking.join(20)
        assert pod.probe("/ready") == 503


class Hanging:
    """A database that takes connections and never says anything, and counts who asks."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"

    def questions(self) -> int:
        """Return the number of new requests."""
        found = 0
        self.listener.settimeout(0.2)
        with contextlib.suppress(TimeoutError):
            while True:
                self._held.append(self.listener.accept()[0])
                found += 1
        return found

    _held: list[socket.socket]

    def __enter__(self) -> Self:
        self._held = []
        return self

    def __exit__(self, *_: object) -> None:
        for each in (*self._held, self.listener):
            each.close()


@pytest.mark.parametrize("path", ["/ready", "/started"])
def test_clients_that_wait_for_a_hanging_database_share_one_question_and_do_not_keep_the_kubelet_out(
    pod: Pod, path: str
) -> None:
    """The disaster: probes need no token, so anyone could make the kubelet kill a healthy, slow database."""
    with Hanging() as database, contextlib.ExitStack() as stack:
        option = f"--{path[1:]}-url"
        pod.run(WAITS, option, database.url, "--probe-timeout", "15").expect("up")
        for _ in range(60):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", pod.probes), timeout=20))
            with contextlib.suppress(OSError):
                client.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
        before = time.monotonic()
        assert [pod.probe("/live") for _ in range(5)] == [200] * 5
        assert pod.probe(path) == 503, "a late probe gets the known state"
        assert time.monotonic() - before < 5
        assert database.questions() == 1


def test_a_database_that_has_served_stays_ready_while_many_wait_for_its_answer(pod: Pod, database: Database) -> None:
    database.status = 200
    with Hanging() as hanging, contextlib.ExitStack() as stack:
        (pod.config / "ready-url").write_text(database.url)
        pod.run(WAITS, "--ready-url", "@ready-url", "--probe-timeout", "15").expect("up")
        assert pod.probe("/ready") == 200
        (pod.config / "ready-url").write_text(hanging.url)
        for _ in range(60):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", pod.probes), timeout=20))
            with contextlib.suppress(OSError):
                client.sendall(b"GET /ready HTTP/1.1\r\n\r\n")
        assert pod.probe("/ready") == 200


def test_a_busy_database_misses_answers_and_one_that_was_stopped_is_not_ready_at_once(
    pod: Pod, database: Database
) -> None:
    """The kubelet is patient with neither: it would send clients to a member that is away."""
    pod.run(WAITS, "--ready-url", database.url).expect("up")
    assert pod.probe("/ready") == 503, "it has never served"
    database.status = 200
    assert pod.probe("/ready") == 200
    database.status = 503
    assert [pod.probe("/ready") for _ in range(10)] == [200] * 9 + [503]
    assert pod.probe("/ready") == 503
    database.status = 200
    assert pod.probe("/ready") == 200
    pod.stop()
    assert pod.probe("/ready") == 503
    database.status = 503
    pod.post("start")
    assert pod.probe("/ready") == 503, "another process has served"


def test_where_to_ask_may_change_with_the_configuration(pod: Pod, database: Database) -> None:
    """TLS is turned on within one pod: the URL goes from http to https in the configuration, not in the pod."""
    database.status = 200
    (pod.config / "ready-url").write_text(database.url)
    pod.run(WAITS, "--keep", str(pod.root / "kept"), "--ready-url", "@ready-url").expect("up")
    assert pod.probe("/ready") == 200
    pod.stop()
    pod.post("start")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pod.certificate, pod.key)
    database.socket = context.wrap_socket(database.socket, server_side=True)
    assert pod.probe("/ready") == 503
    (pod.config / "ready-url").write_text(database.url.replace("http:", "https:"))
    assert pod.probe("/ready") == 503
    pod.stop()
    pod.post("start")
    assert pod.probe("/ready") == 200


def test_the_probes_know_nothing_else(pod: Pod) -> None:
    pod.run(WAITS).expect("up")
    assert pod.probe("/v1/process") == 404
    assert (pod.probe("/started"), pod.probe("/ready")) == (200, 200)


@pytest.mark.parametrize(
    "text", ["", "http://name:1/", "http://127.0.0.1/", "ftp://127.0.0.1:1/", "http://[::1]:70000/"]
)
def test_a_url_that_would_need_a_look_up_or_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="numeric address"):
        inquiry.parse(text)


def test_without_a_descriptor_for_the_question_the_database_counts_as_not_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error would end the task that watches the start, and the kubelet would kill a database that serves."""

    def refuse(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "socket", refuse)
    answer = inquiry.ask(inquiry.parse("http://127.0.0.1:9200/"), None, 1.0)
    with pytest.raises(StopIteration) as found:
        answer.send(None)
    assert found.value.value == (False, "[Errno 24] Too many open files")


def test_urls_are_parsed() -> None:
    assert inquiry.parse("https://[::1]:9200/x?y=1\n") == inquiry.Url(secure=True, host="::1", port=9200, path="/x?y=1")
    assert inquiry.parse("http://localhost:9200/").host == "127.0.0.1"
