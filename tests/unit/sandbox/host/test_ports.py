"""A port is bound before it is passed on: no other process can take it in between."""

import socket

import pytest

from sandbox.errors import SandboxError
from sandbox.host.ports import listen, listen_inside, listen_preferably, port_of, require_free
from tests.support.own import lasting_port


def test_a_port_is_taken_from_the_moment_it_is_known() -> None:
    with listen(0) as listener:
        # No process serves it yet, but a client is not refused: it waits for the process that gets the socket.
        with socket.create_connection(("127.0.0.1", port_of(listener)), timeout=5):
            pass
        with pytest.raises(SandboxError, match="is taken"):
            listen(port_of(listener))


def test_a_port_that_was_requested_and_is_taken_names_the_option_to_change() -> None:
    with listen(0) as other:
        port = port_of(other)
        with pytest.raises(SandboxError, match=f"port {port} of 127.0.0.1 is taken; choose another with --local-port"):
            listen(port, option="--local-port")
        with pytest.raises(SandboxError, match="choose another with --port"):
            require_free(port)


def test_the_end_of_a_connection_from_the_same_port_does_not_make_it_taken() -> None:
    port = lasting_port()
    with listen(port) as listener, socket.create_connection(("127.0.0.1", port), timeout=5):
        listener.accept()[0].close()  # this side waits out the connection's last packets for a minute
    require_free(port)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_refused(port: int) -> None:
    with pytest.raises(SandboxError, match=f"--port {port} is out of range: choose one from 1 to 65535"):
        listen(port)


def test_the_port_of_last_time_is_kept_or_another_one_is_taken() -> None:
    taken = lasting_port()
    with listen(taken), listen_preferably(taken) as listener:
        assert port_of(listener) not in {0, taken}
    with listen_preferably(taken) as listener:
        assert port_of(listener) == taken


def test_a_socket_in_another_network_leaves_this_one_where_it_is() -> None:
    with listen_inside("/proc/self/ns/net", "127.0.0.1") as listener:
        assert port_of(listener) > 0
