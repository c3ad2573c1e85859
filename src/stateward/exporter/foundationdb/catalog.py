"""All metrics of FoundationDB: for each its name, meaning, and where the status has its value.

Counters of the workload begin at 0 when the database recovers, those of a role when the role starts.
"""

from stateward.exporter.metric import BUILD, CLUSTER, DURATION, GAUGE, MEMBER, PREFIX, UP, Each, Metric, metric, same

PROCESS = (*MEMBER, "process")
"""Labels of a process: a member may have several, with numbers from 1 on."""
MEGABIT = 1e6 / 8
"""Bytes."""

RECOVERY = (
    *("reading_coordinated_state", "locking_coordinated_state", "locking_old_transaction_servers"),
    *("reading_transaction_system_state", "configuration_missing", "configuration_never_created"),
    *("configuration_invalid", "recruiting_transaction_servers", "initializing_transaction_servers"),
    *("recovery_transaction", "writing_coordinated_state", "accepting_commits", "all_logs_recruited"),
    *("storage_recovered", "fully_recovered"),
)
DATA = (
    *("initializing", "missing_data", "healing", "optimizing_team_collections", "healthy_populating_region"),
    *("healthy_repartitioning", "healthy_removing_server", "healthy_rebalancing", "healthy_perpetual_wiggle"),
    "healthy",
)
LIMITS = (
    *("workload", "storage_server_write_queue_size", "storage_server_write_bandwidth_mvcc"),
    *("storage_server_readable_behind", "log_server_mvcc_write_bandwidth", "log_server_write_queue"),
    *("storage_server_min_free_space", "storage_server_min_free_space_ratio", "log_server_min_free_space"),
    *("log_server_min_free_space_ratio", "storage_server_durability_lag", "storage_server_list_fetch_failed"),
    *("blob_worker_lag", "blob_worker_missing"),
)
"""The names of the database's own schema, and those of 7.3 for blobs."""
KEEPS = Each("keeps", same("availability", "data"))
STAGES = Each("stage", {"flight": "in_flight", "queue": "queued"})
ROLES = Each("role", same("storage", "log"))
PRIORITIES = Each("priority", same("batch", "default", "immediate"))
PROBES = Each(
    "operation",
    {
        **same("read", "commit", "transaction_start"),
        "immediate_priority_transaction_start": "immediate_transaction_start",
        "batch_priority_transaction_start": "batch_transaction_start",
    },
)
TAGS = Each("kind", same("auto", "manual"))


def _whole(name: str, meaning: str, path: str = "", factor: float = 1.0, each: Each | None = None) -> Metric:
    return metric(CLUSTER, name, meaning, path, factor, each)


def _process(name: str, meaning: str, path: str = "", factor: float = 1.0) -> Metric:
    return metric(PROCESS, name, meaning, path, factor)


def _truth(base: tuple[str, ...], name: str, meaning: str, path: str) -> Metric:
    return Metric(PREFIX + name, GAUGE, meaning, path, base=base, truth=True)


def _one_of(name: str, meaning: str, label: str) -> Metric:
    return Metric(PREFIX + name, GAUGE, meaning, base=(*CLUSTER, label))


AGE = _whole("answer_age_seconds", "How old the answer of the database is from which the values are.")
COORDINATORS = _whole("coordinators", "Coordinators of the database.")
REACHABLE = _whole("coordinators_reachable", "Coordinators that the exporter's client reaches.")
PROCESSES = _whole("processes", "Processes that the database lists.")
UNREACHABLE = _whole("processes_unreachable", "Processes that the database lists and does not reach; without series.")
EXCLUDED = _whole("processes_excluded", "Processes that are excluded: their data moves away.")
INCOMPATIBLE = _whole(
    "incompatible_connections", "Addresses that connect with a version that the database does not talk to."
)
RECOVERY_STATE = _one_of("recovery_state", "1 for the state of the database's recovery, else 0.", "state")
DATA_STATE = _one_of("data_state", "1 for the state of the replicas of the data, else 0.", "state")
LIMITED = _one_of(
    "performance_limited", "1 for what limits new transactions most, else 0; workload: nothing.", "reason"
)
BATCH_LIMITED = _one_of("batch_performance_limited", "The same for transactions of batch priority.", "reason")
INFO = Metric(
    f"{PREFIX}process_info",
    GAUGE,
    "Always 1; class, version and roles of a process, with commas.",
    base=(*PROCESS, "class", "version", "roles"),
)
MESSAGES = _process("process_messages", "Problems that the process reports of itself.")
OWN = (
    *(UP, DURATION, AGE, COORDINATORS, REACHABLE, PROCESSES, UNREACHABLE, EXCLUDED, INCOMPATIBLE),
    *(RECOVERY_STATE, DATA_STATE, LIMITED, BATCH_LIMITED, INFO, MESSAGES, BUILD),
)

CLIENT: tuple[Metric, ...] = (
    _truth(CLUSTER, "available", "1 if the database takes reads and writes, else 0.", "database_status.available"),
    _truth(CLUSTER, "healthy", "1 if the database reports itself healthy, else 0.", "database_status.healthy"),
    _truth(
        CLUSTER,
        "quorum_reachable",
        "1 if the exporter's client reaches a majority of the coordinators, else 0.",
        "coordinators.quorum_reachable",
    ),
)
"""From `client` of the status: known also while the database reports nothing of itself."""

WHOLE: tuple[Metric, ...] = (
    _whole("generation", "Number of the database's generation; each recovery begins another.", "generation"),
    _whole("log_generations", "Generations of logs that still have data.", "recovery_state.active_generations"),
    _whole("recovered_seconds", "Time since the last recovery.", "recovery_state.seconds_since_last_recovered"),
    _whole(
        "tolerated_zone_failures",
        "Fault domains that may fail, before data is lost or the database is unavailable.",
        "fault_tolerance.max_zone_failures_without_losing_*",
        each=KEEPS,
    ),
    _truth(CLUSTER, "data_healthy", "1 if all data has its replicas, else 0.", "data.state.healthy"),
    _truth(CLUSTER, "fully_replicated", "1 if the data and the logs have all replicas, else 0.", "full_replication"),
    _truth(CLUSTER, "locked", "1 if the database is locked, else 0.", "database_lock_state.locked"),
    _whole("replicas_remaining", "Replicas that the data with the fewest has.", "data.state.min_replicas_remaining"),
    _whole("key_value_bytes", "Size of all keys and values, once.", "data.total_kv_size_bytes"),
    _whole("data_disk_used_bytes", "What all replicas take on the disks.", "data.total_disk_used_bytes"),
    _whole("partitions", "Partitions of the data.", "data.partitions_count"),
    _whole("partition_bytes", "Average size of a partition.", "data.average_partition_size_bytes"),
    _whole(
        "operating_space_bytes",
        "Space that the process with the least may still use, by role.",
        "data.least_operating_space_bytes_*_server",
        each=ROLES,
    ),
    _whole(
        "moving_data_bytes",
        "Data that moves between processes, or waits for that.",
        "data.moving_data.in_*_bytes",
        each=STAGES,
    ),
    _whole("moved_data_bytes_total", "Data that was moved.", "data.moving_data.total_written_bytes"),
    *(
        _whole(f"transactions_{name}_total", f"Transactions {what}.", f"workload.transactions.{name}.counter")
        for name, what in (
            ("started", "that were started"),
            ("committed", "that were committed"),
            ("conflicted", "that failed because of a conflict, which clients repeat"),
        )
    ),
    _whole(
        "transactions_rejected_total",
        "Transactions refused, because they had waited too long for their start.",
        "workload.transactions.rejected_for_queued_too_long.counter",
    ),
    _whole(
        "transaction_starts_total",
        "Started transactions, by priority.",
        "workload.transactions.started_*_priority.counter",
        each=PRIORITIES,
    ),
    _whole("reads_total", "Reads.", "workload.operations.reads.counter"),
    _whole("writes_total", "Writes.", "workload.operations.writes.counter"),
    _whole("read_keys_total", "Keys that were read.", "workload.keys.read.counter"),
    _whole("read_bytes_total", "Bytes that were read.", "workload.bytes.read.counter"),
    _whole("written_bytes_total", "Bytes that were written.", "workload.bytes.written.counter"),
    _whole(
        "probe_seconds", "How long an operation of the database's own probe took.", "latency_probe.*_seconds", 1, PROBES
    ),
    _whole("worst_queue_bytes", "The longest queue, by role.", "qos.worst_queue_bytes_*_server", each=ROLES),
    _whole(
        "limiting_queue_bytes",
        "The queue of a storage process that limits the rate.",
        "qos.limiting_queue_bytes_storage_server",
    ),
    _whole(
        "worst_durability_lag_seconds",
        "How far the disk of the slowest storage process is behind.",
        "qos.worst_durability_lag_storage_server.seconds",
    ),
    _whole(
        "limiting_durability_lag_seconds",
        "The same for the storage process that limits the rate.",
        "qos.limiting_durability_lag_storage_server.seconds",
    ),
    _whole(
        "worst_data_lag_seconds",
        "How far the slowest storage process is behind the logs.",
        "qos.worst_data_lag_storage_server.seconds",
    ),
    _whole(
        "transactions_released_per_second",
        "Transactions that the database lets begin now.",
        "qos.released_transactions_per_second",
    ),
    _whole(
        "transactions_limit_per_second",
        "How many it would let begin at the most.",
        "qos.transactions_per_second_limit",
    ),
    _whole("throttled_tags", "Tags of transactions that are throttled.", "qos.throttled_tags.*.count", each=TAGS),
    _whole(
        "page_cache_hit_ratio", "Part of the page reads that the cache answered.", "page_cache.*_hit_rate", 1, ROLES
    ),
    _whole("clients", "Clients, with the processes themselves.", "clients.count"),
    _whole("processes_degraded", "Processes with a disk or a network that is too slow.", "degraded_processes"),
)
"""From `cluster` of the status."""

PROCESS_METRICS: tuple[Metric, ...] = (
    _process("process_uptime_seconds", "How long the process has run.", "uptime_seconds"),
    _process("process_cpu_cores", "Processors in use.", "cpu.usage_cores"),
    _process("process_run_loop_busy_ratio", "Part of the time in which its only thread works.", "run_loop_busy"),
    _process("process_memory_used_bytes", "Memory in use, as the process counts it.", "memory.used_bytes"),
    _process("process_memory_resident_bytes", "Memory in use, as the kernel counts it.", "memory.rss_bytes"),
    _process("process_memory_limit_bytes", "Memory at which the process ends itself.", "memory.limit_bytes"),
    _process("process_memory_available_bytes", "Memory that it may use.", "memory.available_bytes"),
    _process("disk_total_bytes", "Size of the data volume's file system.", "disk.total_bytes"),
    _process("disk_available_bytes", "Bytes that the database may still write there.", "disk.free_bytes"),
    _process("disk_busy_ratio", "Part of the time in which the disk works.", "disk.busy"),
    _process("disk_reads_total", "Reads from the disks.", "disk.reads.counter"),
    _process("disk_writes_total", "Writes to the disks.", "disk.writes.counter"),
    _process("network_connections", "Open connections.", "network.current_connections"),
    _process("network_received_bytes_per_second", "Bytes received.", "network.megabits_received.hz", MEGABIT),
    _process("network_sent_bytes_per_second", "Bytes sent.", "network.megabits_sent.hz", MEGABIT),
    _process("network_errors_per_second", "Connections that failed.", "network.connection_errors.hz"),
    _process(
        "network_tls_failures_per_second",
        "Connections refused because of their certificate.",
        "network.tls_policy_failures.hz",
    ),
    _truth(PROCESS, "process_excluded", "1 if the process is excluded, else 0.", "excluded"),
    _truth(PROCESS, "process_degraded", "1 for a process that is degraded; others have no series.", "degraded"),
)
"""From a process of the status."""

STORAGE: tuple[Metric, ...] = (
    _process("storage_data_lag_seconds", "How far it is behind the logs.", "data_lag.seconds"),
    _process("storage_durability_lag_seconds", "How far its disk is behind.", "durability_lag.seconds"),
    _process("storage_stored_bytes", "Size of the keys and values that it has.", "stored_bytes"),
    _process("storage_kvstore_used_bytes", "What its files take.", "kvstore_used_bytes"),
    _process("storage_kvstore_free_bytes", "Free space on its disk.", "kvstore_free_bytes"),
    _process("storage_kvstore_available_bytes", "The same, with free pages of its files.", "kvstore_available_bytes"),
    _process("storage_queries_total", "Reads that it began.", "total_queries.counter"),
    _process("storage_queries_finished_total", "Reads that it answered.", "finished_queries.counter"),
    _process("storage_queried_keys_total", "Keys that it read.", "keys_queried.counter"),
    _process("storage_queried_bytes_total", "Bytes that it read.", "bytes_queried.counter"),
    _process("storage_query_queue", "The most reads that waited at once lately.", "query_queue_max"),
    _process("storage_mutations_total", "Writes that it got.", "mutations.counter"),
    _process("storage_mutation_bytes_total", "Bytes of these writes.", "mutation_bytes.counter"),
    _process(
        "storage_input_bytes_total",
        "Memory that its writes took; its queue is this less the next.",
        "input_bytes.counter",
    ),
    _process("storage_durable_bytes_total", "The part of that which is on its disk.", "durable_bytes.counter"),
)
"""From the role `storage` of a process."""

LOG: tuple[Metric, ...] = (
    _process("log_queue_disk_used_bytes", "What its queue takes on the disk.", "queue_disk_used_bytes"),
    _process("log_queue_disk_available_bytes", "Space for its queue.", "queue_disk_available_bytes"),
    _process("log_kvstore_used_bytes", "What its files take.", "kvstore_used_bytes"),
    _process("log_kvstore_free_bytes", "Free space on its disk.", "kvstore_free_bytes"),
    _process(
        "log_input_bytes_total", "Memory that its writes took; its queue is this less the next.", "input_bytes.counter"
    ),
    _process(
        "log_durable_bytes_total",
        "The part of that which storage processes have, or which is spilled.",
        "durable_bytes.counter",
    ),
)
"""From the role `log` of a process."""

METRICS = (*OWN, *CLIENT, *WHOLE, *PROCESS_METRICS, *STORAGE, *LOG)
