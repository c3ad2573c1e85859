"""Ports, which are bound before they are passed on.

A number that was free a moment ago may be taken when it is used: the kernel gives ports of the same range
to every connection that leaves this machine. So nothing here asks whether a port is free. A port is bound at once, and
the listening socket itself is handed to the process that will serve it.
"""

import ctypes
import errno
import os
import socket
from concurrent.futures import ThreadPoolExecutor

from sandbox.errors import SandboxError

LOOPBACK = "127.0.0.1"

_BACKLOG = 512
_CLONE_NEWNET = 0x40000000


def listen(port: int, *, option: str = "--port") -> socket.socket:
    """Return a listening socket on `port` of 127.0.0.1 (0: any); raise SandboxError if it cannot be had.

    `option` is what the user would change.
    """
    if not 0 <= port < 65536:
        raise SandboxError(f"{option} {port} is out of range: choose one from 1 to 65535, or leave it out")
    try:
        return _bound(LOOPBACK, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise SandboxError(
            f"port {port} of {LOOPBACK} is taken; choose another with {option}, or leave it out"
        ) from error


def listen_preferably(port: int) -> socket.socket:
    """Return a listening socket on `port` of 127.0.0.1, or on any other port when that one is taken."""
    try:
        return _bound(LOOPBACK, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return _bound(LOOPBACK, 0)


def listen_inside(namespace: str, host: str) -> socket.socket:
    """Return a listening socket on any port of `host` in the network namespace at the path `namespace`."""
    # A thread can be in another network than its process; this one ends with the call, so nothing else is moved.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_bound_inside, namespace, host).result()


def require_free(port: int, *, option: str = "--port") -> None:
    """Raise SandboxError if the port is taken or out of range: an early word, before anything is built."""
    listen(port, option=option).close()


def port_of(listener: socket.socket) -> int:
    """Return the port a socket listens on."""
    port: int = listener.getsockname()[1]
    return port


def _bound(host: str, port: int) -> socket.socket:
    return socket.create_server((host, port), backlog=_BACKLOG)


def _bound_inside(namespace: str, host: str) -> socket.socket:
    _enter_network(namespace)
    return _bound(host, 0)


def _enter_network(namespace: str) -> None:
    descriptor = os.open(namespace, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    finally:
        os.close(descriptor)
