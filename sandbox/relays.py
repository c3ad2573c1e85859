"""Starting and ending relays: doors between this machine's loopback and the sandbox's network."""

import contextlib
import sys
from ipaddress import ip_address

from sandbox.addressing import API_PORT, CONTROL_PLANE_ADDRESS
from sandbox.errors import CommandError, SandboxError
from sandbox.kubeapi import wait_for
from sandbox.layout import CONTROL_PLANE, Layout, sources
from sandbox.machines import Machine, Program, launch, tail
from sandbox.ports import free_port, is_free, require_free
from sandbox.records import Records

API_RELAY = "relay.api"


def open_api_relay(layout: Layout, wanted: int, recorded: int) -> int:
    """Make sure that the API server can be reached from outside; return the port on 127.0.0.1.

    `wanted` is the port that was asked for (0: any), `recorded` the one of last time (0: none).
    """
    if Records(layout.records).running(API_RELAY) is not None and wanted in {0, recorded}:
        return recorded
    Records(layout.records).end(API_RELAY, grace=0)
    if wanted:
        require_free(wanted)
    port = wanted or (recorded if recorded and is_free(recorded) else free_port())
    outward(layout, API_RELAY, port, CONTROL_PLANE_ADDRESS, API_PORT)
    return port


def outward(layout: Layout, key: str, port: int, host: str, target: int) -> None:
    """Let connections to 127.0.0.1:`port` of this machine reach `host:target` inside."""
    inside = Machine(layout, CONTROL_PLANE).namespace("net")
    _start(layout, key, ["-", "127.0.0.1", str(port), inside, host, str(target)])
    wait_for(f"the relay on port {port}", lambda: _is_up(layout, key, port), seconds=20, pause=0.02)


def resolve(layout: Layout, host: str) -> str:
    """Return the address of a name inside the sandbox (of a Service, of a pod); addresses are returned as they are."""
    with contextlib.suppress(ValueError):
        return str(ip_address(host))
    try:
        found = Machine(layout, CONTROL_PLANE).run(["getent", "ahostsv4", host], mounts=True)
    except CommandError as error:
        raise SandboxError(f"the name {host!r} does not resolve inside sandbox {layout.name}") from error
    return found.split()[0]


def inward(layout: Layout, key: str, port: int, target: int) -> None:
    """Let connections to the control plane's address and `port` reach 127.0.0.1:`target` of this machine.

    This is how an API server in the sandbox calls a webhook that a test serves outside.
    """
    inside = Machine(layout, CONTROL_PLANE).namespace("net")
    _start(layout, key, [inside, CONTROL_PLANE_ADDRESS, str(port), "-", "127.0.0.1", str(target)])


def _start(layout: Layout, key: str, words: list[str]) -> None:
    launch(layout, Program(key, [sys.executable, "-I", "-S", str(sources() / "relay.py"), *words]))


def _is_up(layout: Layout, key: str, port: int) -> bool:
    if Records(layout.records).running(key) is None:
        raise tail(layout, key)
    return not is_free(port)


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
