"""Names and ports that a process of a test run has for itself: no other process gets them meanwhile."""

import os
import socket
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def lasting_port() -> int:
    """Return a free port of 127.0.0.1 below those that the kernel gives away."""
    end = int(_RANGE.read_text().split()[0])
    first = end // 2 + os.getpid() % (end // 4)
    for port in range(first, end):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError(f"no port from {first} to {end} is free")


def own_name(name: str) -> str:
    """Return a name that no other process of this test run uses; without pytest-xdist it is the name itself."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    return f"{name}-{worker}" if worker else name
