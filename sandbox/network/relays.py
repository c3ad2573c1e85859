"""Starting and ending relays: doors between this machine's loopback and the sandbox's network."""

import contextlib
import os
import select
import socket
import sys
from ipaddress import ip_address

from sandbox.errors import CommandError, SandboxError
from sandbox.host.ports import listen, listen_inside, listen_preferably, port_of
from sandbox.host.records import Records
from sandbox.layout import CONTROL_PLANE, Layout, sources
from sandbox.network.addressing import API_PORT, CONTROL_PLANE_ADDRESS
from sandbox.network.machines import Machine, Program, launch, tail

API_RELAY = "relay.api"

_START_SECONDS = 60


def open_api_relay(layout: Layout, wanted: int, recorded: int) -> int:
    """Make sure that the API server can be reached from outside; return the port on 127.0.0.1.

    `wanted` is the port that was asked for (0: any), `recorded` the one of last time (0: none): it is kept unless it
    is taken meanwhile. Raise SandboxError if the requested port is taken.
    """
    records = Records(layout.records)
    if records.running(API_RELAY) is not None and wanted in {0, recorded}:
        return recorded
    if wanted and wanted != recorded:
        listener = listen(wanted)  # before the old port is closed: a refused request changes nothing
        records.end(API_RELAY, grace=0)
    else:
        records.end(API_RELAY, grace=0)
        listener = listen(wanted) if wanted else listen_preferably(recorded)
    with listener:
        outward(layout, API_RELAY, listener, CONTROL_PLANE_ADDRESS, API_PORT)
        return port_of(listener)


def outward(layout: Layout, key: str, listener: socket.socket, host: str, target: int) -> None:
    """Let connections to a listening socket of this machine reach `host:target` inside."""
    _start(layout, key, listener, [Machine(layout, CONTROL_PLANE).namespace("net"), host, str(target)])


def resolve(layout: Layout, host: str) -> str:
    """Return the address of a name inside the sandbox (of a Service, of a pod); addresses are returned as they are."""
    with contextlib.suppress(ValueError):
        return str(ip_address(host))
    try:
        found = Machine(layout, CONTROL_PLANE).run(["getent", "ahostsv4", host], mounts=True)
    except CommandError as error:
        raise SandboxError(f"the name {host!r} does not resolve inside sandbox {layout.name}") from error
    return found.split()[0]


def inward(layout: Layout, target: int) -> int:
    """Let connections to a port of the control plane's address reach 127.0.0.1:`target` of this machine.

    Return the port. This is how an API server in the sandbox calls a webhook that a test serves outside.
    """
    with listen_inside(Machine(layout, CONTROL_PLANE).namespace("net"), CONTROL_PLANE_ADDRESS) as listener:
        port = port_of(listener)
        _start(layout, inward_key(port), listener, ["-", "127.0.0.1", str(target)])
        return port


def inward_key(port: int) -> str:
    """Return the key of the relay at a port of the control plane's address."""
    return f"expose.{port}"


def _start(layout: Layout, key: str, listener: socket.socket, words: list[str]) -> None:
    """Start a relay with a socket that listens already, and wait until it carries."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as said:
        try:
            inherited = (listener.fileno(), writing)
            argv = [sys.executable, "-I", "-S", str(sources() / "network/relay.py"), *map(str, inherited), *words]
            launch(layout, Program(key, argv, inherited=inherited))
        finally:
            os.close(writing)  # now the relay alone holds it: its end is seen here
        answered, _, _ = select.select([said], [], [], _START_SECONDS)
        if not answered or not said.read(1):
            raise tail(layout, key)


def close_all(layout: Layout) -> None:
    """End all relays."""
    records = Records(layout.records)
    for key in records.keys():  # noqa: SIM118 - a method of ours, not a dictionary's
        if key.startswith(("relay.", "expose.")):
            records.end(key, grace=0)


def close_relay(layout: Layout, key: str) -> None:
    """End a relay; raise SandboxError if there is none of that name."""
    if Records(layout.records).get(key) is None:
        raise SandboxError(f"no relay {key!r} in sandbox {layout.name}; see 'sandbox status'")
    Records(layout.records).end(key, grace=0)
