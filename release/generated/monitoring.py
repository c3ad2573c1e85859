"""The reference pages of metrics and alerts: one from the registry of the operator, one from the chart's rules."""

from typing import Any

import yaml

from stateward.operator.runtime.metrics import Described, Metrics


def metrics_page() -> str:
    """Return the reference page of the metrics."""
    return _METRICS + "".join(_row(metric) for metric in Metrics().described)


def _row(metric: Described) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.type} | {metric.unit} | {labels} | {metric.meaning} |\n"


def alerts(rules: str) -> list[dict[str, Any]]:
    """Return the alerts in a file of rules."""
    return [rule for group in yaml.safe_load(rules)["groups"] for rule in group["rules"]]


def alerts_page(rules: str) -> str:
    """Return the reference page of the alerts."""
    return _ALERTS + "".join(_section(rule) for rule in alerts(rules))


def _section(rule: dict[str, Any]) -> str:
    lasting = f" for {rule['for']}" if "for" in rule else ""
    notes = {name: _plain(text) for name, text in rule["annotations"].items()}
    return (
        f"\n## {rule['alert']}\n\nSeverity: {rule['labels']['severity']}. {notes['summary']}\n\n"
        f"```promql\n{rule['expr']}\n```\n\nFires if this holds{lasting}. {notes['description']}\n"
    )


def _plain(text: str) -> str:
    """Return an annotation with the names of its values in place of the templates."""
    for word in ("namespace", "name", "resource", "controller", "store"):
        text = text.replace(f"{{{{ $labels.{word} }}}}", word.upper())
    return text.replace("{{ $value | humanizeDuration }}", "(duration)").replace("{{ $value }}", "(number)")


_METRICS = """\
<!-- Generated from src/stateward/operator/runtime/metrics.py; renew it with `make docs`. -->
# Metrics

The operator serves them on port 8080, path `/metrics`. Metrics of clusters come from the leader alone; the labels
`engine`, `namespace` and `name` identify the cluster, and its series end with the cluster. A histogram has the series
`_bucket`, `_sum` and `_count`. Names of controller-runtime are used for the same meaning.

The number of series is bounded: about 15 for each cluster and one for each kind of executed step, one for each resource
whose reconciliation fails, and about 200 for each process. Labels contain names of resources, and no other user input.

| metric | type | unit | labels | meaning |
| --- | --- | --- | --- | --- |
"""

_ALERTS = """\
<!-- Generated from charts/stateward/files/rules.yaml; renew it with `make docs`. -->
# Alerts

The chart installs these rules as a `PrometheusRule` with `metrics.rules.enabled`. Without the Prometheus operator, load
`charts/stateward/files/rules.yaml` into Prometheus. Each rule has a test that runs it by promtool.
"""
