"""All metrics of search clusters: for each its name, meaning, and where the database's answers have its value.

Nothing here depends on the number of indices.
"""

from stateward.exporter.metric import (
    BUILD,
    CLUSTER,
    DURATION,
    GAUGE,
    KIBI,
    MEMBER,
    MILLI,
    PERCENT,
    PREFIX,
    UP,
    Each,
    Metric,
    metric,
    paths,
    same,
)

GENERATIONS = Each("generation", {**same("young", "old"), "G1 Concurrent GC": "concurrent"})
POOLS = Each(
    "thread_pool",
    same(
        "analyze",
        "flush",
        "force_merge",
        "generic",
        "get",
        "management",
        "refresh",
        "search",
        "snapshot",
        "write",
    ),
)
BREAKERS = Each(
    "breaker",
    {**same("parent", "request", "fielddata", "in_flight_requests"), "inflight_requests": "in_flight_requests"},
)
STAGES = Each("stage", same("coordinating", "primary", "replica"))
SPANS = Each("minutes", {"1m": "1", "5m": "5", "15m": "15"})
CACHES = Each("cache", same("query", "request"))
STATES = Each("state", same("active", "relocating", "initializing", "unassigned", "delayed_unassigned"))
STATUSES = ("green", "yellow", "red")


def _member(name: str, meaning: str, path: str, factor: float = 1.0, each: Each | None = None) -> Metric:
    return metric(MEMBER, name, meaning, path, factor, each)


def _whole(name: str, meaning: str, path: str, factor: float = 1.0, each: Each | None = None) -> Metric:
    return metric(CLUSTER, name, meaning, path, factor, each)


def _work(name: str, path: str, count: str, time: str, what: str) -> tuple[Metric, Metric]:
    """Return the two counters of one kind of work of a member's shards: how often, and how long."""
    return (
        _member(f"{name}_total", f"{what}, of the member's shards.", f"{path}.{count}"),
        _member(f"{name}_seconds_total", f"{what}: the time that they took.", f"{path}.{time}", MILLI),
    )


STATUS = Metric(
    f"{PREFIX}status",
    GAUGE,
    "1 for the status that the database reports (green, yellow or red), else 0.",
    base=(*CLUSTER, "status"),
)
SILENT = _whole("nodes_silent", "Nodes that did not answer with their statistics; they have no series.", "")
INFO = Metric(f"{PREFIX}node_info", GAUGE, "Always 1; the roles of a node, with commas.", base=(*MEMBER, "roles"))
OWN = (UP, DURATION, SILENT, STATUS, INFO, BUILD)

HEALTH: tuple[Metric, ...] = (
    _whole("nodes", "Nodes in the cluster.", "number_of_nodes"),
    _whole("data_nodes", "Nodes with the role data in the cluster.", "number_of_data_nodes"),
    _whole("shards", "Copies of shards, by state; active ones include relocating ones.", "*_shards", 1.0, STATES),
    _whole("primary_shards_active", "Primary copies that are active.", "active_primary_shards"),
    _whole("pending_tasks", "Changes of the cluster state that wait for the manager.", "number_of_pending_tasks"),
    _whole(
        "pending_task_age_seconds", "How long the first of them has waited.", "task_max_waiting_in_queue_millis", MILLI
    ),
    _whole("shard_fetches", "Unfinished searches for copies of shards.", "number_of_in_flight_fetch"),
)
"""From `_cluster/health`."""

MEMBERS: tuple[Metric, ...] = (
    _member("jvm_uptime_seconds", "How long the process has run.", "jvm.uptime_in_millis", MILLI),
    _member("jvm_heap_used_bytes", "Heap in use.", "jvm.mem.heap_used_in_bytes"),
    _member("jvm_heap_max_bytes", "Limit of the heap.", "jvm.mem.heap_max_in_bytes"),
    _member("jvm_non_heap_used_bytes", "Memory of the JVM outside the heap.", "jvm.mem.non_heap_used_in_bytes"),
    _member("jvm_threads", "Threads.", "jvm.threads.count"),
    _member(
        "jvm_gc_total", "Garbage collections, by generation.", "jvm.gc.collectors.*.collection_count", 1, GENERATIONS
    ),
    _member(
        "jvm_gc_seconds_total",
        "Time of garbage collections, by generation.",
        "jvm.gc.collectors.*.collection_time_in_millis",
        MILLI,
        GENERATIONS,
    ),
    _member("process_cpu_ratio", "CPU of the process, as a part of all processors.", "process.cpu.percent", PERCENT),
    _member("process_cpu_seconds_total", "CPU time of the process.", "process.cpu.total_in_millis", MILLI),
    _member("process_open_files", "Open file descriptors.", "process.open_file_descriptors"),
    _member("process_max_files", "Limit on open file descriptors.", "process.max_file_descriptors"),
    _member("os_cpu_ratio", "CPU of the whole node, as a part of all processors.", "os.cpu.percent", PERCENT),
    _member("os_load", "Load average of the node, over 1, 5 and 15 minutes.", "os.cpu.load_average.*", 1, SPANS),
    _member("os_memory_total_bytes", "Memory that the database sees.", "os.mem.total_in_bytes"),
    _member("os_memory_used_bytes", "Memory in use of that.", "os.mem.used_in_bytes"),
    _member("disk_total_bytes", "Size of the data volume's file system.", "fs.total.total_in_bytes"),
    _member("disk_available_bytes", "Bytes that the database may still write there.", "fs.total.available_in_bytes"),
    _member("disk_reads_total", "Reads from the disks.", "fs.io_stats.total.read_operations"),
    _member("disk_writes_total", "Writes to the disks.", "fs.io_stats.total.write_operations"),
    _member("disk_read_bytes_total", "Bytes read from the disks.", "fs.io_stats.total.read_kilobytes", KIBI),
    _member("disk_written_bytes_total", "Bytes written to the disks.", "fs.io_stats.total.write_kilobytes", KIBI),
    _member("documents", "Documents in the member's shards, of primaries and replicas.", "indices.docs.count"),
    _member("documents_deleted", "Deleted documents that still take space.", "indices.docs.deleted"),
    _member("store_bytes", "Size of the member's shards.", "indices.store.size_in_bytes"),
    *_work("indexing", "indices.indexing", "index_total", "index_time_in_millis", "Indexed documents"),
    _member("indexing_failed_total", "Documents that could not be indexed.", "indices.indexing.index_failed"),
    _member("indexing_current", "Documents being indexed.", "indices.indexing.index_current"),
    _member(
        "indexing_throttled_seconds_total",
        "Time for which indexing was limited to one thread, because merges fell behind.",
        "indices.indexing.throttle_time_in_millis",
        MILLI,
    ),
    *_work("deletes", "indices.indexing", "delete_total", "delete_time_in_millis", "Deleted documents"),
    *_work("gets", "indices.get", "total", "time_in_millis", "Documents read by their id"),
    *_work("search_query", "indices.search", "query_total", "query_time_in_millis", "Query phases of searches"),
    *_work("search_fetch", "indices.search", "fetch_total", "fetch_time_in_millis", "Fetch phases of searches"),
    _member("search_query_current", "Query phases that run.", "indices.search.query_current"),
    _member("search_contexts", "Open contexts of searches, such as scrolls.", "indices.search.open_contexts"),
    *_work("refreshes", "indices.refresh", "total", "total_time_in_millis", "Refreshes"),
    *_work("flushes", "indices.flush", "total", "total_time_in_millis", "Flushes"),
    *_work("merges", "indices.merges", "total", "total_time_in_millis", "Finished merges"),
    _member("merges_current", "Merges that run.", "indices.merges.current"),
    _member("merged_bytes_total", "Bytes of finished merges.", "indices.merges.total_size_in_bytes"),
    _member(
        "merges_throttled_seconds_total",
        "Time for which merges waited for the limit on their rate.",
        "indices.merges.total_throttled_time_in_millis",
        MILLI,
    ),
    _member("segments", "Segments of the member's shards.", "indices.segments.count"),
    _member(
        "segments_writer_bytes",
        "Heap for documents not yet in a segment.",
        "indices.segments.index_writer_memory_in_bytes",
    ),
    _member(
        "segments_versions_bytes",
        "Heap for versions of changed documents.",
        "indices.segments.version_map_memory_in_bytes",
    ),
    _member("translog_operations", "Operations in the translogs.", "indices.translog.operations"),
    _member("translog_bytes", "Size of the translogs.", "indices.translog.size_in_bytes"),
    _member(
        "translog_uncommitted_bytes",
        "Size of what a recovery would have to replay.",
        "indices.translog.uncommitted_size_in_bytes",
    ),
    _member("fielddata_bytes", "Heap for field data.", "indices.fielddata.memory_size_in_bytes"),
    _member("fielddata_evictions_total", "Field data dropped for want of space.", "indices.fielddata.evictions"),
    _member("cache_bytes", "Heap of a cache.", "indices.*_cache.memory_size_in_bytes", 1, CACHES),
    _member("cache_hits_total", "Answers from a cache.", "indices.*_cache.hit_count", 1, CACHES),
    _member("cache_misses_total", "Questions that a cache could not answer.", "indices.*_cache.miss_count", 1, CACHES),
    _member("cache_evictions_total", "Entries dropped for want of space.", "indices.*_cache.evictions", 1, CACHES),
    _member("thread_pool_active", "Threads at work.", "thread_pool.*.active", 1, POOLS),
    _member("thread_pool_queue", "Tasks that wait for a thread.", "thread_pool.*.queue", 1, POOLS),
    _member(
        "thread_pool_rejected_total", "Tasks refused, because the queue was full.", "thread_pool.*.rejected", 1, POOLS
    ),
    _member("breaker_limit_bytes", "Limit of a circuit breaker.", "breakers.*.limit_size_in_bytes", 1, BREAKERS),
    _member(
        "breaker_estimated_bytes",
        "Memory that a circuit breaker counts as in use.",
        "breakers.*.estimated_size_in_bytes",
        1,
        BREAKERS,
    ),
    _member("breaker_tripped_total", "Requests refused, to protect the memory.", "breakers.*.tripped", 1, BREAKERS),
    _member(
        "indexing_pressure_bytes", "Memory of writes in progress.", "indexing_pressure.memory.current.all_in_bytes"
    ),
    _member("indexing_pressure_limit_bytes", "Limit of that.", "indexing_pressure.memory.limit_in_bytes"),
    _member(
        "indexing_pressure_rejected_total",
        "Writes refused, because that limit was reached.",
        "indexing_pressure.memory.total.*_rejections",
        1,
        STAGES,
    ),
    _member("http_connections", "Open HTTP connections of clients.", "http.current_open"),
    _member("http_connections_opened_total", "HTTP connections of clients.", "http.total_opened"),
    _member("transport_connections", "Open connections from other members.", "transport.server_open"),
    _member("transport_received_total", "Messages from other members.", "transport.rx_count"),
    _member("transport_received_bytes_total", "Bytes from other members.", "transport.rx_size_in_bytes"),
    _member("transport_sent_total", "Messages to other members.", "transport.tx_count"),
    _member("transport_sent_bytes_total", "Bytes to other members.", "transport.tx_size_in_bytes"),
)
"""From `_nodes/stats`."""

METRICS = (*OWN, *HEALTH, *MEMBERS)
GROUPS = "indices,os,process,jvm,thread_pool,fs,transport,http,breaker,indexing_pressure"
"""Parts of the statistics that are asked for."""
DETAILS = "docs,store,indexing,get,search,merge,refresh,flush,segments,translog,fielddata,query_cache,request_cache"
"""Parts of `indices` that are asked for: others cost the database time."""


def wanted() -> str:
    """Return the filter of the answer, in parts of two steps: a request may have 4,096 bytes in its first line."""
    found = {".".join(("nodes", "*", *way[:2])) for each in MEMBERS for _, way in paths(each)}
    return ",".join(("_nodes", "nodes.*.name", "nodes.*.roles", *sorted(found)))
