"""Servers beside a cluster that its members connect to, each in a pod behind a Service of the same name."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from sandbox import Sandbox
from stateward.api.values.names import LABEL_ALLOWED
from tests.e2e.operators import kubectl


@dataclass(frozen=True)
class Server:
    """A server of an image of the sandbox; `start` is what its shell runs."""

    sandbox: Sandbox
    namespace: str
    name: str
    image: str
    port: int
    start: str
    environment: dict[str, str]

    @property
    def address(self) -> str:
        """Host and port, inside the sandbox."""
        return f"{self.name}.{self.namespace}.svc:{self.port}"

    async def up(self) -> None:
        """Start it, and wait until it listens."""
        container = {
            "name": self.name,
            "image": self.sandbox.load_image(self.image),
            "command": ["sh", "-c", self.start],
            "env": [{"name": name, "value": value} for name, value in self.environment.items()],
            "readinessProbe": {"tcpSocket": {"port": self.port}, "periodSeconds": 1},
        }
        meta = {"name": self.name, "labels": {"app": self.name}}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
        self._apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        ports = {"selector": {"app": self.name}, "ports": [{"port": self.port}]}
        self._apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": self.name}, "spec": ports})
        words = ("wait", "--for=condition=Ready", f"pod/{self.name}", "--timeout=90s")
        await asyncio.to_thread(kubectl, self.sandbox, "-n", self.namespace, *words)

    def credentials(self, name: str, values: dict[str, str]) -> None:
        """Write a Secret that clusters may use."""
        meta = {"name": name, "labels": {LABEL_ALLOWED: "true"}}
        self._apply({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": values})

    def run(self, *words: str) -> str:
        """Run a command in the pod, and return what it prints."""
        return kubectl(self.sandbox, "-n", self.namespace, "exec", f"pod/{self.name}", "--", *words)

    def _apply(self, body: dict[str, Any]) -> None:
        kubectl(self.sandbox, "-n", self.namespace, "apply", "-f", "-", stdin=json.dumps(body))
