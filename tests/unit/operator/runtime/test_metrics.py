"""Names and numbers of the operator's metrics."""

from prometheus_client import generate_latest

from stateward import __version__
from stateward.operator.runtime.metrics import Metrics


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
