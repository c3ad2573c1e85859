"""An S3 server, and what a cluster needs for repositories in it: the plug-in, its settings, credentials."""

from dataclasses import dataclass
from typing import Any

from sandbox import Sandbox
from tests.e2e.beside import Server

BUCKET = "backups"
KEYS = {"s3.client.default.access_key": "stateward", "s3.client.default.secret_key": "the-key-of-the-test"}
CREDENTIALS = "s3-credentials"
_PORT = 7070
_START = f"mkdir -p /data/{BUCKET} /attributes && exec versitygw --port :{_PORT} posix --sidecar /attributes /data"


@dataclass(frozen=True)
class ObjectStore:
    """One S3 server with one bucket."""

    server: Server

    @staticmethod
    def of(sandbox: Sandbox, namespace: str) -> "ObjectStore":
        access, secret = KEYS.values()
        environment = {"ROOT_ACCESS_KEY": access, "ROOT_SECRET_KEY": secret}
        return ObjectStore(Server(sandbox, namespace, "s3", "stateward.dev/versitygw:1", _PORT, _START, environment))

    def allow(self, **wrong: str) -> None:
        """Give the cluster the credentials, some of them wrong."""
        values = {key: wrong.get(key.rpartition(".")[2], value) for key, value in KEYS.items()}
        self.server.credentials(CREDENTIALS, values)

    def stored(self) -> int:
        """Return how many objects the bucket has."""
        return len(self.server.run("find", f"/data/{BUCKET}", "-type", "f").split())

    @property
    def spec(self) -> dict[str, Any]:
        """The part of a cluster's spec by which its members reach the bucket."""
        client = "s3.client.default"
        settings = {"endpoint": self.server.address, "protocol": "http", "path_style_access": True}
        return {
            "plugins": [{"name": "repository-s3"}],
            "pluginSource": {"image": "stateward.dev/opensearch-plugins:1"},
            "secureSettings": [{"secretName": CREDENTIALS}],
            "config": {f"{client}.{name}": value for name, value in settings.items()},
        }

    @property
    def repository(self) -> dict[str, Any]:
        """The repository as the database declares it."""
        return {"type": "s3", "settings": {"bucket": BUCKET, "base_path": "clusters/lost"}}
