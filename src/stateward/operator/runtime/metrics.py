"""Prometheus metrics: of the clusters, for database administrators, and of the runtime, for operators of Stateward.

Names of controller-runtime are used if they mean the same, so that existing dashboards work.
"""

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics

from stateward import __version__
from stateward.api.kinds.snapshots.verification import VerifiedSnapshot
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.conditions import stalled
from stateward.kube.objects.metadata import Key
from stateward.planning.plan import Plan
from stateward.planning.report.status import parse_time

CLUSTER = ("engine", "namespace", "name")
SCHEDULE = ("namespace", "cluster", "name")
POOL = (*CLUSTER, "pool")
RATIOS = (0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0, 10.0)
"""Buckets of a ratio: narrow around 1, so that a quantile tells a good forecast from a fair one."""

# A time of creation for each series would double their number, and no alert or dashboard uses it.
disable_created_metrics()


class Described(Struct, frozen=True):
    """One metric for the reference page; the name is the one that Prometheus stores, without the suffix of a series."""

    name: str
    type: str
    labels: tuple[str, ...]
    meaning: str

    @property
    def unit(self) -> str:
        """Return the unit, which the name tells."""
        name = self.name.removesuffix("_total")
        if name.endswith(("_timestamp_seconds", "_time_seconds")) and self.type == "gauge":
            return "seconds since the epoch"
        units = {"_seconds": "seconds", "_bytes": "bytes", "_ratio": "ratio"}
        return next((unit for end, unit in units.items() if name.endswith(end)), "")

    @property
    def series(self) -> tuple[str, ...]:
        """Return the names of its series."""
        if self.type != "histogram":
            return (self.name,)
        return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))


PROCESS = (
    Described("process_resident_memory_bytes", "gauge", (), "Memory of the operator's process, without its workers."),
    Described("process_virtual_memory_bytes", "gauge", (), "Address space of the process."),
    Described("process_cpu_seconds_total", "counter", (), "CPU time of the process."),
    Described("process_start_time_seconds", "gauge", (), "When the process was started."),
    Described("process_open_fds", "gauge", (), "Open files and connections."),
    Described("process_max_fds", "gauge", (), "Limit on open files and connections."),
)
"""Metrics of every process, by Prometheus' own collector."""


class Metrics:
    """All metrics of one operator process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.described: list[Described] = [*PROCESS]
        ProcessCollector(registry=self.registry)
        gauge, counter, histogram = self._gauge, self._counter, self._histogram
        self.build = gauge("stateward_build_info", "Always 1; the version of the running operator.", ("version",))
        self.build.labels(__version__).set(1)
        self.leader = gauge(
            "stateward_leader", "1 while this process is the leader, and 0 while it stands by; only the leader works."
        )
        self.clock_ahead = gauge(
            "stateward_clock_ahead_seconds",
            "By how much the clock of the operator's machine is ahead of the API server's; negative if it is behind.",
        )
        self.desired = gauge("stateward_cluster_members_desired", "Desired members.", CLUSTER)
        self.ready = gauge("stateward_cluster_members_ready", "Members that serve.", CLUSTER)
        self.health = gauge(
            "stateward_cluster_health",
            "1 for the health that the database reports (green, yellow, red or unknown), else 0.",
            (*CLUSTER, "health"),
        )
        self.settled = gauge(
            "stateward_cluster_settled", "1 if the cluster matches its spec and no step is pending.", CLUSTER
        )
        self.stalled = gauge("stateward_cluster_stalled", "1 if manual intervention is required.", CLUSTER)
        self.waiting = gauge("stateward_cluster_waiting", "Steps that wait.", CLUSTER)
        self.outdated = gauge(
            "stateward_cluster_outdated_pods",
            "Pods that an earlier version of Stateward made; each is renewed when it is next recreated.",
            CLUSTER,
        )
        self.dashboards = gauge(
            "stateward_cluster_dashboards_available",
            "1 if the dashboards run as the spec asks for and report that they are available; without them, no series.",
            CLUSTER,
        )
        self.exporter = gauge(
            "stateward_cluster_metrics_available",
            "1 if the exporter of the database's own metrics reads the database; without an exporter, no series.",
            CLUSTER,
        )
        self.remote = gauge(
            "stateward_cluster_remote_clusters_waiting",
            "Remote clusters of spec.remoteClusters that are not connected; without remote clusters, no series.",
            CLUSTER,
        )
        self.oldest_wait = gauge(
            "stateward_cluster_oldest_wait_timestamp_seconds",
            "When the step began to wait that has waited longest; no series if nothing waits.",
            CLUSTER,
        )
        self.progress = gauge(
            "stateward_cluster_last_progress_timestamp_seconds",
            "When a change of the cluster last made progress; 0 if there was none.",
            CLUSTER,
        )
        self.disk_used = gauge(
            "stateward_pool_disk_used_ratio",
            "How full the fullest disk of a pool with storage.grow is, from 0 to 1; no series while that is not known.",
            POOL,
        )
        self.disk_full = gauge(
            "stateward_pool_disk_full_timestamp_seconds",
            "When that disk will be full, with its volume as large as it may become; no series if that is not known,"
            " more than a year away, or if the disk does not fill.",
            POOL,
        )
        self.pool_size = gauge(
            "stateward_pool_members_wanted",
            "How many members a pool should have by its scaling; only for pools that scale.",
            POOL,
        )
        self.pool_limited = gauge(
            "stateward_pool_scaling_limited",
            "1 if more members are asked for than scaling.max of the pool allows; only for pools that scale.",
            POOL,
        )
        self.secured = gauge("stateward_cluster_secured", "1 if the cluster has TLS and users.", CLUSTER)
        self.certificates = gauge(
            "stateward_cluster_certificate_expiry_timestamp_seconds",
            "Expiry of the first certificate of members and clients to expire; only for secured clusters.",
            CLUSTER,
        )
        self.authority = gauge(
            "stateward_cluster_ca_expiry_timestamp_seconds",
            "Expiry of the certificate of the cluster's CA; only for secured clusters.",
            CLUSTER,
        )
        self.actions = counter("stateward_actions_total", "Executed steps.", (*CLUSTER, "action"))
        self.forecast_ratio = histogram(
            "stateward_forecast_ratio",
            "Real duration of a settled change, as a multiple of its forecast; the kind is that of"
            " `status.forecast.change`.",
            ("engine", "kind"),
            buckets=RATIOS,
        )
        self.snapshot_success = gauge(
            "stateward_snapshot_last_success_timestamp_seconds",
            "When the newest successful snapshot of a schedule was begun; no series if there is none.",
            SCHEDULE,
        )
        self.snapshot_overdue = gauge(
            "stateward_snapshot_overdue_timestamp_seconds",
            "When two times of a schedule have passed since its last success; no series while it is paused.",
            SCHEDULE,
        )
        self.snapshot_verified = gauge(
            "stateward_snapshot_last_verified_timestamp_seconds",
            "When a snapshot of a schedule was last restored into a throw-away cluster; no series if none was.",
            SCHEDULE,
        )
        self.verified_documents = gauge(
            "stateward_snapshot_verified_documents", "Documents in the snapshot that was restored last.", SCHEDULE
        )
        self.verification_overdue = gauge(
            "stateward_snapshot_verification_overdue_timestamp_seconds",
            "When two times of `spec.verify.schedule` have passed since the last success; no series without it.",
            SCHEDULE,
        )
        self.snapshot_failures = counter(
            "stateward_snapshot_failures_total", "Snapshots of a schedule that did not succeed.", SCHEDULE
        )
        self.failures = gauge(
            "stateward_consecutive_reconcile_failures",
            "Failed reconciliations of one resource in a row, from the second one on.",
            ("controller", "resource"),
        )
        self.reconciled = counter(
            "controller_runtime_reconcile_total", "Reconciliations, by success or error.", ("controller", "result")
        )
        self.reconcile_time = histogram(
            "controller_runtime_reconcile_time_seconds", "Duration of a reconciliation.", ("controller",)
        )
        self.queue_depth = gauge("workqueue_depth", "Keys that are ready to be processed.", ("name",))
        self.queue_wait = histogram(
            "workqueue_queue_duration_seconds", "Time from a key's readiness to its processing.", ("name",)
        )
        self.watch_restarts = counter(
            "stateward_watch_restarts_total", "Watches that were restarted.", ("store", "reason")
        )
        self.unreadable_objects = gauge(
            "stateward_unreadable_objects",
            "Objects that cannot be decoded now; the operator does not act on them.",
            ("store",),
        )

    def _gauge(self, name: str, meaning: str, labels: tuple[str, ...] = ()) -> Gauge:
        self.described.append(Described(name, "gauge", labels, meaning))
        return Gauge(name, meaning, labels, registry=self.registry)

    def _counter(self, name: str, meaning: str, labels: tuple[str, ...]) -> Counter:
        self.described.append(Described(name, "counter", labels, meaning))
        return Counter(name, meaning, labels, registry=self.registry)

    def _histogram(
        self, name: str, meaning: str, labels: tuple[str, ...], buckets: Sequence[float] = Histogram.DEFAULT_BUCKETS
    ) -> Histogram:
        self.described.append(Described(name, "histogram", labels, meaning))
        return Histogram(name, meaning, labels, registry=self.registry, buckets=buckets)

    def cluster(self, engine: str, key: Key, plan: Plan, status: ClusterStatus) -> None:
        """Record the state of a cluster."""
        labels = (engine, key.namespace, key.name)
        self.desired.labels(*labels).set(status.members.desired)
        self.ready.labels(*labels).set(status.members.ready)
        for health in ("green", "yellow", "red", "unknown"):
            self.health.labels(*labels, health).set(status.health == health)
        self.settled.labels(*labels).set(plan.settled)
        self.stalled.labels(*labels).set(stalled(status.conditions) is not None)
        self.waiting.labels(*labels).set(len(status.waiting))
        self.outdated.labels(*labels).set(status.outdated_pods)
        for part, beside in ((self.dashboards, status.dashboards), (self.exporter, status.metrics)):
            _set(part, labels, None if beside is None else float(beside.available))
        remote = status.remote_clusters
        _set(self.remote, labels, sum(each.state != "Connected" for each in remote) if remote else None)
        self.secured.labels(*labels).set(status.security is not None and status.security.enabled)
        if status.security is not None:
            _set(self.certificates, labels, parse_time(status.security.certificates_expiration_time))
            _set(self.authority, labels, parse_time(status.security.ca_expiration_time))
        begun = [time for wait in status.waiting if (time := parse_time(wait.since_time)) is not None]
        _set(self.oldest_wait, labels, min(begun, default=None))
        self.progress.labels(*labels).set(parse_time(status.last_progress_time) or 0)
        self._pools(labels, status)

    def _pools(self, labels: tuple[str, ...], status: ClusterStatus) -> None:
        """Record the disks and the size of the pools; a pool that is gone has no series, a silent database no disks."""
        self._forget_pools(labels)
        known = {pool.name: pool.disk for pool in status.pools if pool.disk is not None and status.health != "unknown"}
        for name, disk in known.items():
            self.disk_used.labels(*labels, name).set(disk.used_percent / 100)
            _set(self.disk_full, (*labels, name), parse_time(disk.full_time))
        for pool in status.pools:
            if pool.scaling is not None:
                self.pool_size.labels(*labels, pool.name).set(pool.scaling.replicas)
                self.pool_limited.labels(*labels, pool.name).set(pool.scaling.limited)

    def _forget_pools(self, labels: tuple[str, ...]) -> None:
        for gauge in (self.disk_used, self.disk_full, self.pool_size, self.pool_limited):
            gauge.remove_by_labels(dict(zip(CLUSTER, labels, strict=True)))

    def forget(self, engine: str, key: Key) -> None:
        """Drop the series of a cluster that is gone."""
        labels = (engine, key.namespace, key.name)
        gauges = (self.desired, self.ready, self.settled, self.stalled, self.waiting, self.oldest_wait, self.progress)
        for gauge in (
            *gauges,
            self.outdated,
            self.dashboards,
            self.exporter,
            self.remote,
            self.secured,
            self.certificates,
            self.authority,
        ):
            _set(gauge, labels, None)
        self._forget_pools(labels)
        series = {"engine": engine, "namespace": key.namespace, "name": key.name}
        self.health.remove_by_labels(series)
        self.actions.remove_by_labels(series)

    def scheduled(self, schedule: Key, cluster: str, success: float | None, overdue: float | None) -> None:
        """Record the last success of a schedule, and when people are to be told; None: there is no such time."""
        labels = (schedule.namespace, cluster, schedule.name)
        _set(self.snapshot_success, labels, success)
        _set(self.snapshot_overdue, labels, overdue)
        self.snapshot_failures.labels(*labels)

    def verified(self, schedule: Key, cluster: str, success: VerifiedSnapshot | None, overdue: float | None) -> None:
        """Record the last verification that succeeded, and when people are to be told; None: there is no such time."""
        labels = (schedule.namespace, cluster, schedule.name)
        _set(self.snapshot_verified, labels, None if success is None else parse_time(success.time))
        _set(self.verified_documents, labels, None if success is None else success.documents)
        _set(self.verification_overdue, labels, overdue)

    def snapshot_failed(self, schedule: Key, cluster: str) -> None:
        """Count a snapshot that did not succeed."""
        self.snapshot_failures.labels(schedule.namespace, cluster, schedule.name).inc()

    def unscheduled(self, schedule: Key) -> None:
        """Drop the series of a schedule that is gone."""
        series = {"namespace": schedule.namespace, "name": schedule.name}
        snapshots = (self.snapshot_success, self.snapshot_overdue, self.snapshot_failures)
        for metric in (*snapshots, self.snapshot_verified, self.verified_documents, self.verification_overdue):
            metric.remove_by_labels(series)

    def failing(self, controller: str, key: str, failures: int) -> None:
        """Record the failures in a row of a resource; 0 if there are none any longer."""
        if failures:
            self.failures.labels(controller, key).set(failures)
            return
        with suppress(KeyError):
            self.failures.remove(controller, key)

    def queue(self, name: str) -> "QueueMetrics":
        """Return what counts the work of one controller."""
        return QueueMetrics(self, name)

    # Reports of the runtime itself (kube.observers).

    def heard(self, store: str) -> None:
        """Watch events are too many to count one by one."""

    def listed(self, store: str, objects: int, seconds: float) -> None:
        """Whole states are read seldom; nothing is counted."""

    def restarted(self, store: str, reason: str) -> None:
        """Count a restarted watch."""
        self.watch_restarts.labels(store, reason).inc()

    def unreadable(self, store: str, more: int) -> None:
        """Add to the number of objects that cannot be read now."""
        self.unreadable_objects.labels(store).inc(more)


def _set(gauge: Gauge, labels: tuple[str, ...], value: float | None) -> None:
    """Set the series of a cluster; without a value it has none, because 0 would be a point in time."""
    if value is not None:
        gauge.labels(*labels).set(value)
        return
    with suppress(KeyError):
        gauge.remove(*labels)


class QueueMetrics:
    """Counts the work of one controller, by its name."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._metrics = metrics
        self._name = name

    def depth(self, ready: int, delayed: int) -> None:  # noqa: ARG002
        """Note how many keys are ready."""
        self._metrics.queue_depth.labels(self._name).set(ready)

    def started(self, waited: float) -> None:
        """Note how long a key was ready before a worker took it, in seconds."""
        self._metrics.queue_wait.labels(self._name).observe(waited)

    def finished(self, took: float, *, failed: bool) -> None:
        """Record the duration of the work on a key, in seconds, and whether it failed."""
        self._metrics.reconciled.labels(self._name, "error" if failed else "success").inc()
        self._metrics.reconcile_time.labels(self._name).observe(took)
