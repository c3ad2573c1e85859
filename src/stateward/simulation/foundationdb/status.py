"""`status json` of the model, with the keys and the gaps of the real one.

An unreachable process is listed with its address only. A process with another protocol appears only among the
incompatible connections. Without a majority of coordinators, only the client's own part is available.

The cluster reads the configuration from the database. While it is not available, 7.1 leaves out all that follows from
the configuration, and 7.3 reports nothing at all, because it waits without a limit: the client gives up.
"""

from typing import Any

from stateward.simulation.foundationdb import storage
from stateward.simulation.foundationdb.addresses import endpoint, host
from stateward.simulation.foundationdb.cluster import Cluster
from stateward.simulation.foundationdb.recovery import out
from stateward.simulation.foundationdb.state import Epoch, State, Worker, protocol

Document = dict[str, Any]
DESCRIPTIONS = {
    "configuration_never_created": "No database has been created, or its coordinators do not remember it.",
    "locking_old_transaction_servers": "Locking old transaction servers. Verify that at least one transaction server "
    "from the previous generation is running.",
    "recruiting_transaction_servers": "Recruiting new transaction servers.",
    "accepting_commits": "Accepting commits.",
    "all_logs_recruited": "Accepting commits. All logs recruited.",
    "fully_recovered": "Recovery complete.",
}


PATIENCE = 30.0
"""Seconds for which a client waits for the cluster's part."""
TIMED_OUT = {"name": "status_incomplete_timeout", "description": "Timed out fetching cluster status."}
UNREACHED = {"name": "quorum_not_reachable", "description": "Unable to reach a quorum of coordinators."}
UNTRUSTED = {"name": "status_incomplete_error", "description": "Cluster encountered an error fetching status."}

UNREADABLE = {"name": "unreadable_configuration", "description": "Unable to read database configuration."}


def timed_out(document: Document) -> bool:
    """Return whether a status is that of a client that was not answered in time."""
    return TIMED_OUT in document["client"]["messages"]


def alone(coordinators: dict[str, bool], file: str, now: float) -> Document:
    """Return the status of a client that reaches no cluster."""
    return empty(coordinators, file, now, UNREACHED)


def empty(coordinators: dict[str, bool], file: str, now: float, message: dict[str, str]) -> Document:
    """Return the status of a client that gets nothing from a cluster, with the reason."""
    return {
        "client": client(coordinators, file, now, available=False, healthy=False) | {"messages": [message]},
        "cluster": {"layers": {"_valid": False}},
    }


def client(coordinators: dict[str, bool], file: str, now: float, *, available: bool, healthy: bool) -> Document:
    """Return the client's own part; `coordinators` says which ones it reached."""
    found = sum(coordinators.values())
    return {
        "cluster_file": {"path": file, "up_to_date": True},
        "coordinators": {
            "coordinators": [{"address": a, "reachable": reached} for a, reached in sorted(coordinators.items())],
            "quorum_reachable": found * 2 > len(coordinators),
        },
        "database_status": {"available": available, "healthy": healthy},
        "messages": [],
        "timestamp": int(now),
    }


def whole(cluster: Cluster, coordinators: dict[str, bool], file: str, now: float) -> Document:
    """Return the complete status."""
    return joined(of_cluster(cluster, coordinators, now), coordinators, file, now)


def joined(part: Document, coordinators: dict[str, bool], file: str, now: float) -> Document:
    """Return the complete status from the cluster's part and the client's part; an empty one did not come in time."""
    if not part:
        return empty(coordinators, file, now, TIMED_OUT)
    available, healthy = bool(part.get("database_available")), bool(part.get("full_replication"))
    return {
        "client": client(coordinators, file, now, available=available, healthy=available and healthy),
        "cluster": part,
    }


def of_cluster(cluster: Cluster, coordinators: dict[str, bool], now: float) -> Document:
    """Return the cluster's part; empty if the cluster waits for the database without a limit."""
    state = cluster.state
    if not state.available and protocol(cluster.version) >= protocol("7.3"):
        return {}
    live = cluster.live(now)
    silent = sorted(set(cluster.workers) - set(live))
    recovery: Document = {"name": state.recovery.name, "description": DESCRIPTIONS[state.recovery.name]}
    if state.configuration:
        recovery["active_generations"] = max(1, len(state.epochs))
        recovery["seconds_since_last_recovered"] = now - state.recovery.recovered if state.recovery.recovered else -1.0
    document: Document = {
        "cluster_controller_timestamp": int(now),
        "connection_string": str(state.connection),
        "protocol_version": protocol(cluster.version)[1:],
        "database_lock_state": {"locked": False},
        "generation": 2 * (state.epochs[-1].number if state.epochs else 1),
        "incompatible_connections": sorted(cluster.strangers),
        "degraded_processes": 0,
        "layers": {"_valid": True},
        "messages": [*messages(silent), *([] if state.available else [UNREADABLE])],
        "processes": {
            identifier(address): process(cluster, worker, now) if address in live else lost(address)
            for address, worker in sorted(cluster.workers.items())
        },
        "machines": machines(cluster, live),
        "recovery_state": recovery,
    }
    if state.available:
        document |= configured(cluster, live, coordinators, now)
    return document


def configured(cluster: Cluster, live: dict[str, Worker], coordinators: dict[str, bool], now: float) -> Document:
    """Return the part that exists only while the database is available."""
    state = cluster.state
    excluded = [{"locality": t} if t.startswith("locality_") else {"address": t} for t in state.excluded]
    document: Document = {
        "database_available": True,
        "configuration": {
            **state.configuration,
            "proxies": state.configuration["commit_proxies"] + state.configuration["grv_proxies"],
            "coordinators_count": len(state.coordinators),
            "excluded_servers": excluded,
            "usable_regions": 1,
            "log_spill": 2,
            "storage_migration_type": "disabled",
            "perpetual_storage_wiggle": 0,
            "perpetual_storage_wiggle_locality": "0",
            "backup_worker_enabled": 0,
        },
        "logs": [generation(epoch, live, newest=epoch is state.epochs[-1]) for epoch in reversed(state.epochs)],
        "active_primary_dc": "",
    }
    if not state.distribution:
        document["data_distribution_disabled"] = True
    if not state.failures:
        document["data_distribution_disabled_for_ss_failures"] = True
    if state.maintenance:
        document["maintenance_zone"] = state.maintenance
        document["maintenance_seconds_remaining"] = max(0.0, state.maintenance_until - now)
    return document | data(cluster, live, coordinators)


def data(cluster: Cluster, live: dict[str, Worker], coordinators: dict[str, bool]) -> Document:
    """Return the state of the data and the fault tolerance."""
    state = cluster.state
    good, counted = storage.healthy(state, {worker.store for worker in live.values()}), storage.unfailed(state)
    if not state.distribution:
        good = counted = set(state.servers)  # The teams are told as they were when it was turned off: here, as whole.
    least = min(storage.replicas(state, counted), state.factor)
    name = "healthy"
    if not state.shards:
        name = "initializing"
    elif least == 0:
        name = "missing_data"
    elif least < state.factor:
        name = "healing"
    elif storage.queued(state, good):
        name = "healthy_removing_server"
    elif storage.moving(state):
        name = "healthy_rebalancing"
    whole = name.startswith("healthy")
    team: Document = {"healthy": whole, "min_replicas_remaining": least, "name": name}
    sick = sum(server not in good for server in state.servers)
    # As the database computes it: of a zone in maintenance it counts all replicas, and one failure less in their place.
    safe = max(-1, min(bearable(state, live, counted), state.factor - 1 - bool(state.maintenance)))
    quorum = sum(coordinators.values()) - (len(coordinators) // 2 + 1)
    return {
        "data": {
            "state": team,
            "moving_data": {
                "in_flight_bytes": storage.moving(state),
                "in_queue_bytes": storage.waiting(state, good),
                "highest_priority": 0 if whole else 800,
                "total_written_bytes": 0,
            },
            "partitions_count": len(state.shards),
            "team_trackers": [
                {
                    "primary": True,
                    "in_flight_bytes": storage.moving(state),
                    "unhealthy_servers": sick,
                    "state": team,
                }
            ],
            "total_kv_size_bytes": sum(shard.size for shard in state.shards),
            "total_disk_used_bytes": sum(shard.size * len(shard.holders) for shard in state.shards),
        },
        "full_replication": whole,
        "fault_tolerance": {
            "max_zone_failures_without_losing_data": safe,
            "max_zone_failures_without_losing_availability": max(-1, min(safe, quorum)),
        },
    }


def bearable(state: State, live: dict[str, Worker], counted: set[str]) -> int:
    """Return how many more failures lose no data if the counted storage servers have it; -1 if some is unreachable."""
    least = min(storage.replicas(state, counted), state.factor)
    logs = min((tolerance(epoch, live) for epoch in state.epochs), default=0)
    return max(-1, min(least - 1, logs))


def generation(epoch: Epoch, live: dict[str, Worker], *, newest: bool) -> Document:
    """Return a generation of logs."""
    stores = {worker.store for worker in live.values()}
    return {
        "begin_version": (epoch.number - 1) * 1_000_000,
        "current": newest,
        "epoch": 2 * epoch.number,
        "log_fault_tolerance": tolerance(epoch, live),
        "log_interfaces": [
            {"address": address, "healthy": store in stores, "id": store[:16]}
            for store, address in sorted(epoch.logs.items())
        ],
        "log_replication_factor": epoch.factor,
        "log_write_anti_quorum": 0,
        "possibly_losing_data": tolerance(epoch, live) < 0,
    }


def tolerance(epoch: Epoch, live: dict[str, Worker]) -> int:
    """Return how many more logs of a generation may be lost; -1 when data of it cannot be read."""
    return epoch.factor - 1 - len(set(epoch.logs) - {worker.store for worker in live.values()})


def messages(silent: list[str]) -> list[Document]:
    """Return the cluster's messages about unreachable processes."""
    if not silent:
        return []
    reasons = [{"description": "Cannot retrieve all process status information."}]
    return [
        {
            "name": "unreachable_processes",
            "description": "The cluster has some unreachable processes.",
            "unreachable_processes": [{"address": address} for address in silent],
        },
        {
            "name": "status_incomplete",
            "description": "Unable to retrieve all status information.",
            "reasons": reasons,
        },
    ]


def identifier(address: str) -> str:
    """Return the key of a process: the same for the same address."""
    return endpoint(address).replace(".", "").replace(":", "").replace("[", "").replace("]", "").zfill(32)


def lost(address: str) -> Document:
    """Return an unreachable process: neither its locality nor its version is known."""
    return {"address": address, "class_type": "test", "class_source": "command_line", "locality": {}, "roles": []}


def process(cluster: Cluster, worker: Worker, now: float) -> Document:
    """Return a process."""
    state = cluster.state
    return {
        "address": worker.address,
        "class_source": "command_line",
        "class_type": worker.kind,
        "command_line": worker.command_line,
        "cpu": {"usage_cores": 0.01},
        "disk": {"busy": 0.01, "free_bytes": worker.disk_free, "total_bytes": worker.disk_total},
        "excluded": out(state, worker),
        "fault_domain": worker.zone,
        "locality": worker.locality,
        "machine_id": worker.locality.get("machineid", worker.zone),
        "memory": {"available_bytes": 8 * 2**30, "limit_bytes": 8 * 2**30, "used_bytes": 2**27},
        "messages": worker.messages,
        "network": {"current_connections": len(cluster.workers)},
        "roles": roles(cluster, worker),
        "run_loop_busy": 0.01,
        "under_maintenance": bool(state.maintenance) and worker.zone == state.maintenance,
        "uptime_seconds": now - worker.started,
        "version": worker.version,
    }


def roles(cluster: Cluster, worker: Worker) -> list[Document]:
    """Return the roles of a process; logs of older generations are included."""
    state = cluster.state
    coordinators = {cluster.resolve(name) for name in state.coordinators}
    names = ["coordinator"] if worker.address in coordinators else []
    names += [role for role, addresses in state.roles.items() if role != "log" and worker.address in addresses]
    held = [{"role": name} for name in names]
    if any(worker.store in epoch.logs for epoch in state.epochs):
        held.append({"role": "log"})
    if worker.store in state.servers:
        stored = sum(shard.size for shard in state.shards if worker.store in shard.holders)
        return [*held, {"role": "storage", "stored_bytes": stored, "kvstore_used_bytes": stored}]
    return held


def machines(cluster: Cluster, live: dict[str, Worker]) -> Document:
    """Return the machines: the hosts of the reachable processes."""
    found: Document = {}
    for address, worker in sorted(live.items()):
        machine = worker.locality.get("machineid", worker.zone)
        known = found.setdefault(
            machine,
            {
                "address": host(address),
                "contributing_workers": 0,
                "excluded": out(cluster.state, worker),
                "locality": worker.locality,
                "machine_id": machine,
            },
        )
        known["contributing_workers"] += 1
    return found
