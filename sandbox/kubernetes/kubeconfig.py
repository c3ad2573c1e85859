"""Kubeconfig files, with everything embedded so that each can be copied away alone."""

import base64
from pathlib import Path

import yaml

from sandbox.kubernetes.pki import Credential


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def render(server: str, authority: Credential, client: Credential, *, cluster: str) -> str:
    """Return the text of a kubeconfig for one client of one API server."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {"server": server, "certificate-authority-data": _encoded(authority.certificate)},
            }
        ],
        "users": [
            {
                "name": cluster,
                "user": {
                    "client-certificate-data": _encoded(client.certificate),
                    "client-key-data": _encoded(client.key),
                },
            }
        ],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
        "current-context": cluster,
    }
    return yaml.safe_dump(config, sort_keys=False)
