"""An S3 server in a pod, and what a cluster needs for repositories in it: the plug-in, its settings, credentials."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from sandbox import Sandbox
from stateward.api.values.names import LABEL_ALLOWED
from tests.e2e.operators import kubectl

NAME, PORT, BUCKET = "s3", 7070, "backups"
KEYS = {"s3.client.default.access_key": "stateward", "s3.client.default.secret_key": "the-key-of-the-test"}
CREDENTIALS = "s3-credentials"
_START = f"mkdir -p /data/{BUCKET} /attributes && exec versitygw --port :{PORT} posix --sidecar /attributes /data"


@dataclass(frozen=True)
class ObjectStore:
    """One S3 server with one bucket."""

    sandbox: Sandbox
    namespace: str

    async def start(self) -> None:
        """Start it, and wait until it listens."""
        access, secret = KEYS.values()
        container = {
            "name": NAME,
            "image": self.sandbox.load_image("stateward.dev/versitygw:1"),
            "command": ["sh", "-c", _START],
            "env": [{"name": "ROOT_ACCESS_KEY", "value": access}, {"name": "ROOT_SECRET_KEY", "value": secret}],
            "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        }
        meta = {"name": NAME, "labels": {"app": NAME}}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
        self._apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        ports = {"selector": {"app": NAME}, "ports": [{"port": PORT}]}
        self._apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": ports})
        words = ("-n", self.namespace, "wait", "--for=condition=Ready", f"pod/{NAME}", "--timeout=90s")
        await asyncio.to_thread(kubectl, self.sandbox, *words)

    def allow(self, **wrong: str) -> None:
        """Give the cluster the credentials, some of them wrong; raises AssertionError if that is refused."""
        values = {key: wrong.get(key.rpartition(".")[2], value) for key, value in KEYS.items()}
        meta = {"name": CREDENTIALS, "labels": {LABEL_ALLOWED: "true"}}
        self._apply({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": values})

    def stored(self) -> int:
        """Return how many objects the bucket has."""
        words = ("-n", self.namespace, "exec", f"pod/{NAME}", "--", "find", f"/data/{BUCKET}", "-type", "f")
        return len(kubectl(self.sandbox, *words).split())

    @property
    def spec(self) -> dict[str, Any]:
        """The part of a cluster's spec by which its members reach the bucket."""
        client = "s3.client.default"
        server = f"{NAME}.{self.namespace}.svc:{PORT}"
        return {
            "plugins": [{"name": "repository-s3"}],
            "pluginSource": {"image": "stateward.dev/opensearch-plugins:1"},
            "secureSettings": [{"secretName": CREDENTIALS}],
            "config": {
                f"{client}.endpoint": server,
                f"{client}.protocol": "http",
                f"{client}.path_style_access": True,
            },
        }

    @property
    def repository(self) -> dict[str, Any]:
        """The repository as the database declares it."""
        return {"type": "s3", "settings": {"bucket": BUCKET, "base_path": "clusters/lost"}}

    def _apply(self, body: dict[str, Any]) -> None:
        kubectl(self.sandbox, "-n", self.namespace, "apply", "-f", "-", stdin=json.dumps(body))
