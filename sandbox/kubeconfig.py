"""Kubeconfig files, with everything embedded so that each can be copied away alone."""

import base64
from pathlib import Path

import yaml

from sandbox.pki import Credential


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


def write(path: Path, text: str) -> None:
    """Write a kubeconfig that only its owner can read, in one piece."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.touch(mode=0o600)
    fresh.write_text(text)
    fresh.replace(path)
