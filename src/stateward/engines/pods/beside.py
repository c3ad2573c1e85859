"""Objects of what runs beside a database, in Deployments: configuration Secrets and network policies."""

import base64
import hashlib
import json
from collections.abc import Mapping

from stateward.api.values.base import Json

DIGITS = 10


def digest(content: Mapping[str, str]) -> str:
    """Return the digest of a configuration: part of its Secret's name, so that a pod never starts with another one."""
    return hashlib.sha256(json.dumps(dict(content), sort_keys=True).encode()).hexdigest()[:DIGITS]


def config_name(name: str, files: Mapping[str, str]) -> str:
    """Return the name of the Secret with the configuration of the Deployment `name`."""
    return f"{name}-{digest(files)}"


def config_secret(metadata: Json, files: Mapping[str, str]) -> Json:
    """Return the Secret with a configuration, whose content never changes; `metadata` is that of the Deployment."""
    data = {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}
    meta = {**metadata, "name": config_name(metadata["name"], files)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque", "immutable": True, "data": data}


def network_policy(metadata: Json, selector: Mapping[str, str], port: int) -> Json:
    """Return the NetworkPolicy that leaves one port of the pods open, and no other."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata,
        "spec": {
            "podSelector": {"matchLabels": dict(selector)},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": port}]}],
        },
    }
