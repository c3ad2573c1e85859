"""Prometheus metrics: of the clusters, for database administrators, and of the runtime, for operators of Stateward.

Names of controller-runtime are used if they mean the same, so that existing dashboards work.
"""

from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from stateward import __version__
from stateward.api.kinds.status import ClusterStatus
from stateward.kube.objects.metadata import Key
from stateward.planning.plan import Plan
from stateward.planning.report.status import parse_time

CLUSTER = ("engine", "namespace", "name")

# A time of creation for each series would double their number, and no alert or dashboard uses it.
disable_created_metrics()


class Metrics:
    """All metrics of one operator process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self.build = Gauge(
            "stateward_build_info", "Always 1; the version of the running operator.", ("version",), registry=registry
        )
        self.build.labels(__version__).set(1)
        self.desired = Gauge("stateward_cluster_members_desired", "Desired members.", CLUSTER, registry=registry)
        self.ready = Gauge("stateward_cluster_members_ready", "Members that serve.", CLUSTER, registry=registry)
        self.health = Gauge(
            "stateward_cluster_health",
            "1 for the health that the database reports.",
            (*CLUSTER, "health"),
            registry=registry,
        )
        self.settled = Gauge(
            "stateward_cluster_settled",
            "1 if the cluster matches its spec and no step is pending.",
            CLUSTER,
            registry=registry,
        )
        self.stalled = Gauge(
            "stateward_cluster_stalled", "1 if manual intervention is required.", CLUSTER, registry=registry
        )
        self.waiting = Gauge("stateward_cluster_waiting", "Steps that wait.", CLUSTER, registry=registry)
        self.progress = Gauge(
            "stateward_cluster_last_progress_timestamp_seconds",
            "When a change of the cluster last made progress, in seconds since the epoch; 0 if there was none.",
            CLUSTER,
            registry=registry,
        )
        self.secured = Gauge(
            "stateward_cluster_secured", "1 if the cluster has TLS and users.", CLUSTER, registry=registry
        )
        self.certificates = Gauge(
            "stateward_cluster_certificate_expiry_timestamp_seconds",
            "Expiry of the first certificate to expire, in seconds since the epoch; only for secured clusters.",
            CLUSTER,
            registry=registry,
        )
        self.actions = Counter("stateward_actions", "Actions performed.", (*CLUSTER, "action"), registry=registry)
        self.failures = Gauge(
            "stateward_consecutive_reconcile_failures",
            "Failed reconciliations of one resource in a row, from the second one on.",
            ("controller", "resource"),
            registry=registry,
        )
        self.leader = Gauge("stateward_leader", "1 while this process is the leader.", registry=registry)
        self.reconciled = Counter(
            "controller_runtime_reconcile", "Reconciliations.", ("controller", "result"), registry=registry
        )
        self.reconcile_time = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Duration of a reconciliation in seconds.",
            ("controller",),
            registry=registry,
        )
        self.queue_depth = Gauge(
            "workqueue_depth", "Keys that are ready to be processed.", ("name",), registry=registry
        )
        self.queue_wait = Histogram(
            "workqueue_queue_duration_seconds",
            "Seconds from a key's readiness to its processing.",
            ("name",),
            registry=registry,
        )
        self.watch_restarts = Counter(
            "stateward_watch_restarts", "Watches that were restarted.", ("store", "reason"), registry=registry
        )
        self.unreadable_objects = Counter(
            "stateward_unreadable_objects", "Objects that cannot be decoded.", ("store",), registry=registry
        )

    def cluster(self, engine: str, key: Key, plan: Plan, status: ClusterStatus) -> None:
        """Record the state of a cluster."""
        labels = (engine, key.namespace, key.name)
        self.desired.labels(*labels).set(status.members.desired)
        self.ready.labels(*labels).set(status.members.ready)
        for health in ("green", "yellow", "red", "unknown"):
            self.health.labels(*labels, health).set(status.health == health)
        self.settled.labels(*labels).set(plan.settled)
        self.stalled.labels(*labels).set(any(c.type == "Stalled" and c.status == "True" for c in status.conditions))
        self.waiting.labels(*labels).set(len(plan.waits))
        self.secured.labels(*labels).set(status.security is not None and status.security.enabled)
        if (
            status.security is not None
            and (end := parse_time(status.security.certificates_expiration_time)) is not None
        ):
            self.certificates.labels(*labels).set(end)
        moved = parse_time(status.last_progress_time)
        self.progress.labels(*labels).set(moved or 0)

    def forget(self, engine: str, key: Key) -> None:
        """Drop the series of a cluster that is gone."""
        labels = (engine, key.namespace, key.name)
        gauges = (self.desired, self.ready, self.settled, self.stalled, self.waiting, self.progress)
        gauges += (self.secured, self.certificates)
        for gauge in gauges:
            with suppress(KeyError):
                gauge.remove(*labels)
        series = {"engine": engine, "namespace": key.namespace, "name": key.name}
        self.health.remove_by_labels(series)
        self.actions.remove_by_labels(series)

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

    def unreadable(self, store: str) -> None:
        """Count an object that could not be read."""
        self.unreadable_objects.labels(store).inc()


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
