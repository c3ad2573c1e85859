"""Pods that open connections, which is the only way to test network policies."""

from collections.abc import Iterable

from sandbox import Sandbox
from sandbox.kubernetes.kubeapi import wait_for

_TRY = """
import socket, sys
host, *ports = sys.argv[1:]
for port in ports:
    try:
        socket.create_connection((host, int(port)), 3).close()
        print(port)
    except OSError:
        pass
"""
_SERVE = """
import socket, sys, time
held = [socket.create_server(("", int(port))) for port in sys.argv[1:]]
time.sleep(3600)
"""


class Callers:
    """Pods of a namespace that hold ports open, or try those of others."""

    def __init__(self, sandbox: Sandbox, namespace: str) -> None:
        self._sandbox = sandbox
        self._namespace = namespace
        self._image = sandbox.load_image("stateward")

    def start(self, name: str, *serves: int, node: str = "") -> str:
        """Start a pod labelled `app=NAME`, on a node if one is named, and return its address once it runs."""
        program = ["python3", "-c", _SERVE, *map(str, serves)]
        override = f'{{"spec": {{"nodeName": "{node}", "terminationGracePeriodSeconds": 0}}}}'
        self._sandbox.kubectl(
            *("run", name, "-n", self._namespace, f"--image={self._image}", f"--labels=app={name}"),
            *(f"--overrides={override}", "--command", "--", *program),
        )
        self._sandbox.kubectl("wait", "-n", self._namespace, "--for=condition=Ready", f"pod/{name}", "--timeout=90s")
        return str(self._sandbox.api.get(f"/api/v1/namespaces/{self._namespace}/pods/{name}")["status"]["podIP"])

    def reach(self, name: str, host: str, *ports: int) -> list[int]:
        """Return which ports of an address a pod can connect to."""
        words = ("python3", "-c", _TRY, host, *map(str, ports))
        printed = self._sandbox.kubectl("exec", "-n", self._namespace, name, "--", *words)
        return [int(line) for line in printed.split()]

    def until(self, name: str, host: str, ports: Iterable[int], expected: list[int], *, seconds: float = 30) -> None:
        """Wait until a pod reaches exactly these ports: rules follow the objects a moment later."""
        tried = list(ports)

        def as_expected() -> bool:
            return self.reach(name, host, *tried) == expected

        wait_for(f"{name} reaches {expected} of {tried} on {host}", as_expected, seconds=seconds)
