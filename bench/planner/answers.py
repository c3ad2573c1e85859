"""Answers of a large search cluster, as the driver asks for them: what a picture of 10,000 shards is made of.

Names are those of data streams, which are among the longest that clusters have. Identifiers have their real lengths.
"""

import base64
import hashlib
from typing import Any

import msgspec

SHARDS, REPLICAS, NODES = 10_000, 1, 100
NAME = "large.logging"
IDENTITY = "5CCKHVHcTiSiIpK6y9121A"
PER_INDEX = 2
"""Shards of one index."""
FAILURE = (
    "failed shard on node [{node}]: failed recovery, failure RecoveryFailedException[[{index}][0]: "
    "Recovery failed from "
    "{{large-hot-17}}{{{node}}}{{aVx2b1ndTm6PIVoqNvQzOQ}}{{10.42.17.203}}{{10.42.17.203:9300}}{{dir}} into "
    "{{large-hot-42}}{{{node}}}{{QmH3aE0bQ3ySKyZB4Xx8Vw}}{{10.42.42.117}}{{10.42.42.117:9300}}{{dir}}]; nested: "
    "RemoteTransportException[[large-hot-17][10.42.17.203:9300][internal:index/shard/recovery/"
    "start_recovery]]; nested: "
    "RecoveryEngineException[Phase[1] prepare target for translog failed]; nested: RemoteTransportException["
    "[large-hot-42][10.42.42.117:9300][internal:index/shard/recovery/prepare_translog]]; nested: "
    "TranslogCorruptedException[translog from source [/usr/share/opensearch/data/nodes/0/indices/{node}/0/translog/"
    "translog-42.tlog] is corrupted, translog UUID mismatch, expected: {node}, got: {node}]; "
)
"""What an unassigned copy tells of its failed recovery: the longest thing that the state says about a copy."""


def node(number: int) -> str:
    """Return the id of a node."""
    return identifier(f"node {number}")


def identifier(text: str) -> str:
    """Return 22 characters, as the database names nodes and allocations."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:16]).decode().rstrip("=")


def answers(shards: int = SHARDS, replicas: int = REPLICAS, *, failed: int = 0) -> dict[str, bytes]:
    """Return the bodies of all answers that make a picture, by their request; of `failed` shards a replica is missing.

    Those have nothing placed but their primary, and tell at length why.
    """
    members = {node(i): {"name": f"large-hot-{i}"} for i in range(NODES)}
    base = {"cluster_name": NAME, "cluster_uuid": IDENTITY, "master_node": node(0)}
    routing: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    stats: dict[str, dict[str, list[Any]]] = {identity: {} for identity in members}
    for first in range(0, shards, PER_INDEX):
        numbers = range(first, min(first + PER_INDEX, shards))
        index = f".ds-logs-kubernetes.container_logs-production.eu-2026.11.23-{first:06d}"
        copies = {str(n - first): _copies(index, n, n - first, replicas, failed=n < failed) for n in numbers}
        routing[index] = {"shards": copies}
        ids = {key: [copy["allocation_id"]["id"] for copy in row if copy["node"]] for key, row in copies.items()}
        metadata[index] = {
            "in_sync_allocations": ids,
            "settings": {"index": {"number_of_replicas": str(replicas), "auto_expand_replicas": "false"}},
        }
        for key, row in copies.items():
            for copy in row:
                if copy["node"]:
                    size = {"store": {"size_in_bytes": 32_212_254_720 + first}}
                    stats[copy["node"]].setdefault(index, []).append({key: size})
    voters = [node(i) for i in range(3)]
    state = {
        **base,
        "nodes": members,
        "metadata": {
            "cluster_coordination": {"last_committed_config": voters, "voting_config_exclusions": []},
            "indices": metadata,
        },
        "routing_table": {"indices": routing},
    }
    roles = ["cluster_manager", "data", "ingest", "remote_cluster_client"]
    info = {key: {"name": one["name"], "version": "2.19.5", "roles": roles} for key, one in members.items()}
    disk = {"total": {"total_in_bytes": 8 << 40, "available_in_bytes": 3 << 40}}
    measured = {
        key: {"name": one["name"], "fs": disk, "indices": {"shards": stats[key]}} for key, one in members.items()
    }
    whole = {"_nodes": {"failed": 0}, "cluster_name": NAME}
    bodies: dict[str, object] = {
        "GET /_cluster/state/master_node,blocks": base,
        "GET /_cluster/state/nodes,master_node,routing_table,metadata,blocks": state,
        "GET /_nodes/http": {**whole, "nodes": info},
        "GET /_nodes/stats/fs,os,indices/store": {**whole, "nodes": measured},
        "GET /_cluster/settings": {"persistent": {}, "transient": {}},
    }
    return {request: msgspec.json.encode(body) for request, body in bodies.items()}


def _copies(index: str, number: int, shard: int, replicas: int, *, failed: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for copy in range(replicas + 1):
        lost = failed and copy > 0
        row: dict[str, Any] = {
            "state": "UNASSIGNED" if lost else "STARTED",
            "primary": copy == 0,
            "node": None if lost else node((number + copy * 7) % NODES),
            "relocating_node": None,
            "shard": shard,
            "index": index,
        }
        if lost:
            details = FAILURE.format(node=node(number % NODES), index=index)
            row |= {
                "recovery_source": {"type": "PEER"},
                "unassigned_info": {
                    "reason": "ALLOCATION_FAILED",
                    "at": "2026-11-23T09:00:00.000Z",
                    "failed_attempts": 5,
                    "failed_nodes": [node(42)],
                    "delayed": False,
                    "details": details,
                    "allocation_status": "no_attempt",
                },
            }
        else:
            row["allocation_id"] = {"id": identifier(f"{number} {copy}")}
        found.append(row)
    return found
