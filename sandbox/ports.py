"""Ports on this machine's loopback, for the relays."""

import socket

from sandbox.errors import SandboxError


def free_port() -> int:
    """Return a port on 127.0.0.1 that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Tell whether nobody listens on the port of 127.0.0.1."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def require_free(port: int) -> None:
    """Raise SandboxError if the port is taken or out of range."""
    if not 0 < port < 65536:
        raise SandboxError(f"--port {port} is out of range: choose one from 1 to 65535, or leave it out")
    if not is_free(port):
        raise SandboxError(f"port {port} of 127.0.0.1 is taken; choose another with --port, or leave it out")
