"""What is beside a cluster in end-to-end tests: servers that others connect to, and whether anything is left."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from sandbox import Sandbox
from stateward.api.values.names import LABEL_ALLOWED
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.resource import Resource, Selection
from tests.e2e.clusters import Clusters
from tests.e2e.operators import kubectl

ENDED = ("Succeeded", "Failed")


async def require_gone(clusters: Clusters, labels: str, *others: Resource[Any]) -> None:
    """Require that no workload and no object of other kinds has these labels.

    A pod that has ended does not count: the kubelet removes it a moment later.
    """
    selection = Selection(clusters.namespace, labels=labels)
    for each in (kinds.DEPLOYMENTS, kinds.SERVICES, *others):
        kind = each.metadata_only()
        assert not (await clusters.api.list(kind, selection)).items, kind.kind
    pods = (await clusters.api.list(kinds.PODS, selection)).items
    assert not [pod.metadata.name for pod in pods if pod.status.phase not in ENDED]


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
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        ports = {"selector": {"app": self.name}, "ports": [{"port": self.port}]}
        self.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": self.name}, "spec": ports})
        words = ("wait", "--for=condition=Ready", f"pod/{self.name}", "--timeout=90s")
        await asyncio.to_thread(kubectl, self.sandbox, "-n", self.namespace, *words)
        # The proxies of the nodes learn of a pod that is ready a moment later, and say so nowhere.
        host, _, port = self.address.partition(":")
        answers = f"until : </dev/tcp/{host}/{port}; do sleep 0.1; done"
        await asyncio.to_thread(self.sandbox.exec, ["timeout", "60", "bash", "-c", answers], timeout=90)

    def credentials(self, name: str, values: dict[str, str]) -> None:
        """Write a Secret that clusters may use."""
        meta = {"name": name, "labels": {LABEL_ALLOWED: "true"}}
        self.apply({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": values})

    def run(self, *words: str) -> str:
        """Run a command in the pod, and return what it prints."""
        return kubectl(self.sandbox, "-n", self.namespace, "exec", f"pod/{self.name}", "--", *words)

    def apply(self, body: dict[str, Any]) -> None:
        """Apply an object, in its namespace if its kind has namespaces."""
        kubectl(self.sandbox, "-n", self.namespace, "apply", "-f", "-", stdin=json.dumps(body))
