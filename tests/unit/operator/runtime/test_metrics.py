"""Names and numbers of the operator's metrics."""

from prometheus_client import generate_latest

from stateward import __version__
from stateward.api.kinds.access.dashboards import DashboardsStatus
from stateward.api.kinds.access.metrics import MetricsStatus
from stateward.api.kinds.access.remote import RemoteClusterStatus
from stateward.api.kinds.security import SecurityStatus
from stateward.api.kinds.status import ClusterStatus, DiskStatus, PoolStatus, WaitStatus
from stateward.api.values.conditions import condition
from stateward.kube.objects.metadata import Key
from stateward.operator.runtime.metrics import Metrics
from stateward.planning.plan import Plan


def test_the_version_is_a_metric_and_no_series_reports_when_it_was_created() -> None:
    metrics = Metrics()
    metrics.actions.labels("opensearch", "prod", "logs", "DeletePod").inc()
    metrics.queue("clusters").finished(0.1, failed=False)
    text = generate_latest(metrics.registry).decode()
    assert f'stateward_build_info{{version="{__version__}"}} 1.0' in text
    assert "stateward_actions_total{" in text
    assert "_created" not in text


def test_a_metric_with_a_point_in_time_reports_it_in_its_name() -> None:
    text = generate_latest(Metrics().registry).decode()
    assert "stateward_cluster_certificate_expiry_timestamp_seconds" in text


def test_the_oldest_wait_and_the_expiries_are_points_in_time_and_absent_without_one() -> None:
    metrics, key = Metrics(), Key("prod", "logs")
    plan = Plan(actions=(), intents={}, waits=(), budgets=(), activity="", settled=True)
    waits = [
        WaitStatus(subject="a", reason="NotSafeYet", message="", since_time=since)
        for since in ("2026-01-01T00:01:00Z", "2026-01-01T00:00:00Z")
    ]
    security = SecurityStatus(
        enabled=True, ca_expiration_time="2027-01-01T00:00:00Z", certificates_expiration_time="2026-03-01T00:00:00Z"
    )
    metrics.cluster("opensearch", key, plan, ClusterStatus(waiting=waits, security=security))
    labels = {"engine": "opensearch", "namespace": "prod", "name": "logs"}
    for name, when in (("oldest_wait", 1767225600), ("ca_expiry", 1798761600), ("certificate_expiry", 1772323200)):
        assert metrics.registry.get_sample_value(f"stateward_cluster_{name}_timestamp_seconds", labels) == when
    assert metrics.registry.get_sample_value("stateward_cluster_waiting", labels) == 2
    metrics.cluster("opensearch", key, plan, ClusterStatus())
    assert "stateward_cluster_oldest_wait_timestamp_seconds{" not in generate_latest(metrics.registry).decode()
    metrics.forget("opensearch", key)
    assert 'name="logs"' not in generate_latest(metrics.registry).decode()


def test_an_exporter_has_a_series_only_while_a_cluster_has_one() -> None:
    metrics, key = Metrics(), Key("prod", "logs")
    plan = Plan(actions=(), intents={}, waits=(), budgets=(), activity="", settled=True)
    labels = {"engine": "opensearch", "namespace": "prod", "name": "logs"}
    seen: list[float | None] = []
    for found in (MetricsStatus(available=True), MetricsStatus(), None):
        metrics.cluster("opensearch", key, plan, ClusterStatus(metrics=found))
        seen.append(metrics.registry.get_sample_value("stateward_cluster_metrics_available", labels))
    assert seen == [1.0, 0.0, None]


def test_dashboards_have_a_series_only_while_a_cluster_has_them() -> None:
    metrics, key = Metrics(), Key("prod", "logs")
    plan = Plan(actions=(), intents={}, waits=(), budgets=(), activity="", settled=True)
    labels = {"engine": "opensearch", "namespace": "prod", "name": "logs"}
    seen: list[float | None] = []
    for found in (DashboardsStatus(available=True), DashboardsStatus(), None):
        metrics.cluster("opensearch", key, plan, ClusterStatus(dashboards=found))
        seen.append(metrics.registry.get_sample_value("stateward_cluster_dashboards_available", labels))
    assert seen == [1.0, 0.0, None]


def test_disks_of_pools_have_series_only_while_they_are_known() -> None:
    metrics, key = Metrics(), Key("prod", "logs")
    plan = Plan(actions=(), intents={}, waits=(), budgets=(), activity="", settled=True)
    labels = {"engine": "opensearch", "namespace": "prod", "name": "logs", "pool": "hot"}

    def series(name: str) -> float | None:
        return metrics.registry.get_sample_value(f"stateward_pool_disk_{name}", labels)

    def record(disk: DiskStatus | None, health: str = "green") -> None:
        pools = [PoolStatus(name="hot", disk=disk), PoolStatus(name="managers")]
        metrics.cluster("opensearch", key, plan, ClusterStatus(pools=pools, health=health))

    record(DiskStatus(used_percent=81, full_time="2026-01-01T00:00:00Z"))
    assert (series("used_ratio"), series("full_timestamp_seconds")) == (0.81, 1767225600)
    record(DiskStatus(used_percent=64))
    assert (series("used_ratio"), series("full_timestamp_seconds")) == (0.64, None)
    record(DiskStatus(used_percent=64), "unknown")
    assert series("used_ratio") is None
    record(DiskStatus(used_percent=64))
    record(None)
    assert series("used_ratio") is None
    record(DiskStatus(used_percent=64))
    metrics.forget("opensearch", key)
    assert 'name="logs"' not in generate_latest(metrics.registry).decode()


def test_remote_clusters_that_are_not_connected_are_counted_and_without_any_there_is_no_series() -> None:
    metrics, key = Metrics(), Key("prod", "logs")
    plan = Plan(actions=(), intents={}, waits=(), budgets=(), activity="", settled=True)
    states = [RemoteClusterStatus(name=state, state=state) for state in ("Connected", "Waiting", "Removing")]
    for found, text in ((states, " 2.0"), (states[:1], " 0.0"), (None, "")):
        metrics.cluster("opensearch", key, plan, ClusterStatus(remote_clusters=found))
        lines = [line for line in generate_latest(metrics.registry).decode().splitlines() if not line.startswith("#")]
        own = [line for line in lines if line.startswith("stateward_cluster_remote_clusters_waiting")]
        assert [line.endswith(text) for line in own] == ([True] if text else [])


def test_a_cluster_is_stalled_by_that_condition_alone_and_its_progress_is_a_point_in_time() -> None:
    metrics, key = Metrics(), Key("prod", "logs")
    plan = Plan(actions=(), intents={}, waits=(), budgets=(), activity="", settled=True)
    labels = {"engine": "opensearch", "namespace": "prod", "name": "logs"}
    seen: list[tuple[float | None, float | None]] = []
    for stalled, ready, progress in ((True, False, "2026-01-01T00:00:00Z"), (False, True, "")):
        conditions = [condition("Stalled", stalled, "R"), condition("Ready", ready, "R")]
        metrics.cluster("opensearch", key, plan, ClusterStatus(conditions=conditions, last_progress_time=progress))
        found = (
            metrics.registry.get_sample_value(f"stateward_cluster_{name}", labels)
            for name in ("stalled", "last_progress_timestamp_seconds")
        )
        seen.append((next(found), next(found)))
    assert seen == [(1.0, 1767225600.0), (0.0, 0.0)]
