"""A relay is handed a socket that listens already; it never looks for a port of its own."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.host.ports import listen, port_of
from sandbox.host.records import Records, wait_until_gone
from sandbox.layout import Layout
from sandbox.network import relays
from sandbox.network.machines import Machine
from tests.support.own import lasting_port


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Layout]:
    def here(_machine: Machine, _kind: str) -> str:
        return "-"

    monkeypatch.setattr(Machine, "namespace", here)
    made = Layout("test", tmp_path)
    yield made
    relays.close_all(made)


def test_it_serves_the_socket_that_it_was_handed(layout: Layout) -> None:
    with listen(0) as server, listen(0) as door:
        relays.outward(layout, "relay.test", door, "127.0.0.1", port_of(server))
        port = port_of(door)
        door.close()  # the relay has it now
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            accepted, _ = server.accept()
            with accepted:
                accepted.sendall(b"hello")
            assert client.recv(5) == b"hello"


def test_a_relay_that_cannot_start_is_reported_with_its_reason(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_machine: Machine, _kind: str) -> str:
        return "/proc/no-such-process/ns/net"

    monkeypatch.setattr(Machine, "namespace", gone)
    with listen(0) as door, pytest.raises(SandboxError, match=r"relay\.test ended; .*no-such-process"):
        relays.outward(layout, "relay.test", door, "127.0.0.1", 1)


def test_the_door_to_the_api_server_is_kept_while_it_is_open(layout: Layout) -> None:
    port = relays.open_api_relay(layout, 0, 0)
    before = Records(layout.records).get(relays.API_RELAY)
    assert relays.open_api_relay(layout, 0, port) == port
    assert relays.open_api_relay(layout, port, port) == port
    assert Records(layout.records).get(relays.API_RELAY) == before


def test_after_a_crash_the_door_is_where_it_was(layout: Layout) -> None:
    port = relays.open_api_relay(layout, lasting_port(), 0)
    _crash(layout)
    assert relays.open_api_relay(layout, 0, port) == port


def test_when_a_user_has_the_port_of_last_time_another_is_chosen(layout: Layout) -> None:
    with listen(0) as somebody:
        port = relays.open_api_relay(layout, 0, port_of(somebody))
        assert port != port_of(somebody)
        socket.create_connection(("127.0.0.1", port), timeout=10).close()


def test_only_a_requested_port_is_an_error_and_the_open_port_stays_open(layout: Layout) -> None:
    port = relays.open_api_relay(layout, 0, 0)
    with listen(0) as somebody, pytest.raises(SandboxError, match="is taken; choose another with --port"):
        relays.open_api_relay(layout, port_of(somebody), port)
    assert Records(layout.records).running(relays.API_RELAY) is not None
    other = lasting_port()
    assert relays.open_api_relay(layout, other, port) == other


def _crash(layout: Layout) -> None:
    record = Records(layout.records).running(relays.API_RELAY)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    assert wait_until_gone([record.pid], 10) == []
