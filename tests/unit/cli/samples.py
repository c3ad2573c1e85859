"""Clusters as the API server has them, in the middle of an upgrade."""

import copy
from typing import Any

CLUSTER: dict[str, Any] = {
    "apiVersion": "stateward.dev/v1alpha1",
    "kind": "OpenSearchCluster",
    "metadata": {
        "name": "logs",
        "namespace": "default",
        "uid": "u-1",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-11-21T09:00:00Z",
    },
    "spec": {
        "version": "2.19.5",
        "pools": [
            {"name": "managers", "replicas": 1, "roles": ["cluster_manager"]},
            {"name": "hot", "replicas": 2, "roles": ["data"]},
        ],
    },
    "status": {
        "observedGeneration": 2,
        "version": "2.17.1",
        "health": "yellow",
        "activity": "logs-hot-1 restarts to apply version",
        "members": {"ready": 2, "desired": 3},
        "ready": "2/3",
        "lastProgressTime": "2026-11-21T11:59:48Z",
        "pools": [
            {"name": "managers", "ready": 1, "desired": 1, "version": "2.17.1", "upgrade": "Pending"},
            {"name": "hot", "ready": 1, "desired": 2, "version": "2.17.1, 2.19.5", "upgrade": "Upgrading"},
        ],
        "memberStates": [
            {
                "name": "logs-hot-0",
                "pool": "hot",
                "state": "Waiting",
                "version": "2.17.1",
                "node": "node-a",
                "zone": "a",
                "pending": "recreate",
                "reason": "logs-hot-0 waits (version): logs-hot-1 must be back first: the copy of a shard is missing",
                "lastTransitionTime": "2026-11-21T11:57:00Z",
            },
            {
                "name": "logs-hot-1",
                "pool": "hot",
                "state": "Restarting",
                "version": "2.17.1",
                "node": "node-b",
                "zone": "b",
                "pending": "recreate",
                "reason": "logs-hot-1 restarts to apply version",
                "lastTransitionTime": "2026-11-21T11:59:40Z",
            },
            {
                "name": "logs-managers-0",
                "pool": "managers",
                "state": "Ready",
                "version": "2.17.1",
                "node": "node-c",
                "zone": "c",
                "lastTransitionTime": "2026-11-21T09:02:00Z",
            },
        ],
        "waiting": [
            {
                "subject": "logs-hot-0",
                "reason": "DatabaseNotReady",
                "message": "version: logs-hot-1 must be back first: the copy of a shard is missing",
                "sinceTime": "2026-11-21T11:57:00Z",
            }
        ],
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "InProgress",
                "message": "logs-hot-1 restarts to apply version",
                "lastTransitionTime": "2026-11-21T11:55:00Z",
            },
            {
                "type": "Available",
                "status": "True",
                "reason": "Serving",
                "lastTransitionTime": "2026-11-21T09:03:00Z",
            },
        ],
    },
}


def cluster(**status: Any) -> dict[str, Any]:
    """Return the cluster, with other parts of the status."""
    document = copy.deepcopy(CLUSTER)
    document["status"] |= status
    return document


GOOD = """\
apiVersion: stateward.dev/v1alpha1
kind: OpenSearchCluster
metadata: {name: logs}
spec:
  version: 2.19.5
  pools:
  - {name: all, replicas: 3}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
"""
"""A file with a valid cluster and another object."""
