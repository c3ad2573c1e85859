"""Cluster documents for tests: a small good one, and a way to change one thing in it."""

from typing import Any

import msgspec

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster

Document = dict[str, Any]


def document(*, name: str = "logs", **spec: Any) -> Document:
    """Return a cluster document that is right, with parts of its spec replaced."""
    pools = [
        {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"size": "1Gi"}},
        {"name": "hot", "replicas": 3, "roles": ["data", "ingest"], "storage": {"size": "20Gi"}},
        {"name": "gateway", "replicas": 1, "roles": []},
    ]
    return {
        "apiVersion": "stateward.dev/v1alpha1",
        "kind": "OpenSearchCluster",
        "metadata": {"name": name},
        "spec": {"version": "2.19.5", "pools": pools, **spec},
    }


def elasticsearch(*, name: str = "logs", **spec: Any) -> Document:
    """Return an Elasticsearch cluster document that is right, with parts of its spec replaced."""
    pools = [
        {"name": "managers", "replicas": 3, "roles": ["master"], "storage": {"size": "1Gi"}},
        {"name": "hot", "replicas": 3, "roles": ["data_hot", "data_content", "ingest"], "storage": {"size": "20Gi"}},
        {"name": "cold", "replicas": 2, "roles": ["data_cold"]},
    ]
    return {
        "apiVersion": "stateward.dev/v1alpha1",
        "kind": "ElasticsearchCluster",
        "metadata": {"name": name},
        "spec": {"version": "8.19.4", "pools": pools, **spec},
    }


def foundationdb(*, name: str = "ledger", **spec: Any) -> Document:
    """Return a FoundationDB cluster document that is right, with parts of its spec replaced."""
    pools = [{"name": kind, "processClass": kind} for kind in ("storage", "log", "stateless")]
    return {
        "apiVersion": "stateward.dev/v1alpha1",
        "kind": "FoundationDBCluster",
        "metadata": {"name": name},
        "spec": {"version": "7.1.67", "pools": pools, **spec},
    }


def elasticsearch_cluster(*, name: str = "logs", **spec: Any) -> ElasticsearchCluster:
    """Return the cluster of `elasticsearch`, decoded."""
    return msgspec.convert(elasticsearch(name=name, **spec), ElasticsearchCluster)


def foundationdb_cluster(*, name: str = "ledger", **spec: Any) -> FoundationDBCluster:
    """Return the cluster of `foundationdb`, decoded."""
    return msgspec.convert(foundationdb(name=name, **spec), FoundationDBCluster)


def cluster(*, name: str = "logs", **spec: Any) -> OpenSearchCluster:
    """Return the cluster of `document`, decoded as the operator decodes what an API server stored."""
    return msgspec.convert(document(name=name, **spec), OpenSearchCluster)
