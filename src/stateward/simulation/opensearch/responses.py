"""The database's responses as JSON documents, in the format of the real ones."""

from datetime import timedelta

from stateward.api.values.base import Json
from stateward.engines.search.database.wire import MISSING
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.node import Node, Stage
from stateward.simulation.opensearch.shards import Copy, Shard, State
from stateward.simulation.timing.loop import EPOCH


def greeting(node: Node, cluster: Cluster | None) -> Json:
    """Return the greeting of one node, which may have joined a cluster."""
    if cluster is None or node.stage is not Stage.JOINED:
        identity = node.disk.identity or "_na_"
        return {"cluster_name": node.cluster_name, "cluster_uuid": identity, "blocks": _blocked()}
    document: Json = {"cluster_name": cluster.name, "cluster_uuid": cluster.identity}
    if not cluster.leader:
        return {**document, "blocks": _blocked()}
    return {**document, **_manager(cluster)}


def _blocked() -> Json:
    return {"global": {"2": {"description": "no cluster-manager"}}}


def _manager(cluster: Cluster) -> Json:
    return {"cluster_manager_node": cluster.leader, "master_node": cluster.leader}


def state(cluster: Cluster) -> Json:
    """Return the requested parts of the cluster state."""
    indices: Json = {}
    routing: Json = {}
    for shard in cluster.shards:
        settings = {"number_of_replicas": str(len(shard.copies) - 1), "auto_expand_replicas": shard.spread}
        metadata = {
            "settings": {"index": settings},
            "in_sync_allocations": {str(shard.number): sorted(shard.in_sync)},
        }
        indices[shard.index] = metadata
        routing[shard.index] = {"shards": {str(shard.number): [_copy(copy) for copy in shard.copies]}}
    exclusions = [
        {"node_id": identifier, "node_name": MISSING if name == identifier else name}
        for name, identifier in cluster.exclusions.items()
    ]
    return {
        "cluster_name": cluster.name,
        "cluster_uuid": cluster.identity,
        **_manager(cluster),
        "nodes": {identifier: {"name": node.name} for identifier, node in cluster.nodes.items()},
        "metadata": {
            "cluster_coordination": {
                "last_committed_config": list(cluster.voters),
                "voting_config_exclusions": exclusions,
            },
            "indices": indices,
        },
        "routing_table": {"indices": routing},
    }


def _copy(copy: Copy) -> Json:
    document: Json = {
        "state": copy.state.value,
        "primary": copy.primary,
        "node": copy.node or None,
        "relocating_node": copy.target or None,
    }
    if copy.state is not State.UNASSIGNED:
        return {**document, "allocation_id": {"id": copy.allocation}}
    at = (EPOCH + timedelta(seconds=copy.since)).isoformat().replace("+00:00", "Z")
    info = {"reason": copy.why, "at": at, "allocation_status": "no_attempt", "delayed": copy.delayed_until > 0}
    if copy.left:
        info["details"] = f"node_left [{copy.left}]"
    if copy.primary and copy.why == "NODE_LEFT":
        info["allocation_status"] = "no_valid_shard_copy"
    return {**document, "unassigned_info": info}


def info(cluster: Cluster) -> Json:
    """Return the node information; nodes that do not tell theirs count as failed."""
    there = {identifier: node for identifier, node in cluster.nodes.items() if node.tells}
    return {
        "_nodes": {"total": len(cluster.nodes), "failed": len(cluster.nodes) - len(there)},
        "cluster_name": cluster.name,
        "nodes": {
            identifier: {"name": node.name, "version": node.version, "roles": list(node.roles)}
            for identifier, node in there.items()
        },
    }


def stats(cluster: Cluster) -> Json:
    """Return the node statistics."""
    cluster.advance()
    there = {identifier: node for identifier, node in cluster.nodes.items() if node.tells}
    return {
        "_nodes": {"total": len(cluster.nodes), "failed": len(cluster.nodes) - len(there)},
        "cluster_name": cluster.name,
        "nodes": {identifier: _measured(cluster, node) for identifier, node in there.items()},
    }


def _measured(cluster: Cluster, node: Node) -> Json:
    here = [shard for shard in cluster.shards if any(c.node == node.id for c in shard.copies)]
    used = sum(shard.size for shard in here)
    shards: Json = {s.index: [{str(s.number): {"store": {"size_in_bytes": s.size}}}] for s in here}
    total = {"total_in_bytes": node.disk.capacity, "available_in_bytes": max(0, node.disk.capacity - used)}
    cpu = {"percent": cluster.load(node)}
    return {"name": node.name, "fs": {"total": total}, "os": {"cpu": cpu}, "indices": {"shards": shards}}


def users(cluster: Cluster) -> Json:
    """Return `_plugins/_security/api/internalusers`."""
    return {name: {"reserved": False} for name in cluster.objects.users()}


def settings(cluster: Cluster) -> Json:
    """Return the settings changed at run time."""
    return {"persistent": dict(cluster.settings.persistent), "transient": dict(cluster.settings.transient)}


def shutdowns(cluster: Cluster) -> Json:
    """Return the records of node shutdowns."""
    records = cluster.shutdowns.items()
    return {"nodes": [{"node_id": node, "type": kind.upper(), "reason": why} for node, (kind, why) in records]}


def reroute(cluster: Cluster, body: Json, *, trial: bool = False) -> Json:
    """Perform moves, or only try them; return the objections to those that were not performed."""
    ids = {node.name: node.id for node in cluster.nodes.values()}
    explanations: list[Json] = []
    for command in body.get("commands", []):
        move: Json = command["move"]
        shard = _find(cluster, move)
        origin, target = ids.get(move["from_node"], ""), ids.get(move["to_node"], "")
        if shard is None or not target:
            reasons = [{"decider": "move_allocation", "decision": "NO", "explanation": "no such shard or node"}]
        else:
            objections = cluster.allocator.move(shard, origin, target, trial=trial)
            reasons = [{"decider": v.decider, "decision": v.decision, "explanation": v.text} for v in objections]
        explanations.append({"command": "move", "parameters": move, "decisions": reasons})
    return {"acknowledged": True, "explanations": explanations}


def explain(cluster: Cluster, body: Json) -> Json | None:
    """Return why a replica is unassigned; None if there is no such copy."""
    shard = _find(cluster, body)
    copy = next((c for c in shard.copies if c.state is State.UNASSIGNED and not c.primary), None) if shard else None
    if shard is None or copy is None:
        return None
    decisions: list[Json] = []
    verdict = "no"
    for node in cluster.nodes.values():
        if not node.data:
            continue
        objections = cluster.allocator.objections(shard, copy, node)
        if not objections:
            verdict = "yes"
        elif verdict == "no" and all(v.decision == "THROTTLE" for v in objections):
            verdict = "throttled"
        deciders = [{"decider": v.decider, "decision": v.decision, "explanation": v.text} for v in objections]
        decisions.append({"node_name": node.name, "deciders": deciders})
    if verdict == "yes" and copy.delayed_until > cluster.now:
        verdict = "allocation_delayed"
    text = "cannot allocate because allocation is not permitted to any of the nodes" if verdict == "no" else ""
    return {"can_allocate": verdict, "allocate_explanation": text, "node_allocation_decisions": decisions}


def _find(cluster: Cluster, where: Json) -> Shard | None:
    return next((s for s in cluster.shards if s.index == where["index"] and s.number == where["shard"]), None)
