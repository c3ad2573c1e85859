"""Clusters to make objects of."""

from typing import Any

import msgspec

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values.base import Json

SPEC: Json = {
    "version": "2.19.5",
    "pools": [
        {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"size": "1Gi"}},
        {
            "name": "hot",
            "replicas": 3,
            "roles": ["data", "ingest"],
            "storage": {"size": "20Gi"},
            "resources": {"limits": {"memory": "4Gi"}},
        },
        {"name": "gateway", "replicas": 1, "roles": []},
    ],
}


def cluster(spec: Json | None = None, status: Json | None = None, **changes: Any) -> OpenSearchCluster:
    """Return the cluster of the quick start, with fields of its spec replaced."""
    document = {
        "metadata": {"name": "logs", "namespace": "prod", "uid": "u-1"},
        "spec": {**(spec or SPEC), **changes},
        "status": status or {},
    }
    return msgspec.convert(document, OpenSearchCluster)


def with_pool(name: str, **changes: Any) -> Json:
    """Return the spec with fields of one pool replaced."""
    pools = [{**pool, **changes} if pool["name"] == name else pool for pool in SPEC["pools"]]
    return {**SPEC, "pools": pools}
