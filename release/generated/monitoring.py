"""The reference pages of metrics and alerts: from the tables of operator and exporter, and from the chart's rules."""

from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from stateward.exporter.catalogs import FOUNDATIONDB, SEARCH
from stateward.exporter.metric import Metric
from stateward.operator.runtime.metrics import Described, Metrics


def metrics_page() -> str:
    """Return the reference page of the metrics."""
    parts = (_METRICS, *_rows(Metrics().described), _SEARCH, *_rows(described(SEARCH)))
    return "".join((*parts, _FOUNDATIONDB, *_rows(described(FOUNDATIONDB))))


def of_databases() -> list[Described]:
    """Return the metrics of all exporters; one of two databases is there twice."""
    return [*described(SEARCH), *described(FOUNDATIONDB)]


def described(metrics: Iterable[Metric]) -> list[Described]:
    """Return the metrics of an exporter, as those of the operator are described."""
    return [Described(each.name, each.type, each.labels, each.meaning) for each in metrics]


def _rows(metrics: Iterable[Described]) -> Iterator[str]:
    return map(_row, metrics)


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
    for word in _WORDS:
        text = text.replace(f"{{{{ $labels.{word} }}}}", word.upper())
    return text.replace("{{ $value | humanizeDuration }}", "(duration)").replace("{{ $value }}", "(number)")


_WORDS = (
    *("namespace", "name", "resource", "controller", "store", "cluster"),
    *("pool", "node", "breaker", "role", "reason", "pod"),
)

_METRICS = """\
<!-- Generated from the tables of operator/runtime/metrics.py and exporter/catalogs.py; renew it with `make docs`. -->
# Metrics

There are metrics [of the operator](#metrics-of-the-operator) and [of the databases](#metrics-of-the-databases).

## Metrics of the operator

The operator serves them on port 8080, path `/metrics`. Metrics of clusters come from the leader alone; the labels
`engine`, `namespace` and `name` identify the cluster, and its series end with the cluster. A histogram has the series
`_bucket`, `_sum` and `_count`. Names of controller-runtime are used for the same meaning.

The number of series is bounded: about 15 for each cluster and one for each kind of executed step, one for each resource
whose reconciliation fails, and about 200 for each process. Labels contain names of resources, and no other user input.

| metric | type | unit | labels | meaning |
| --- | --- | --- | --- | --- |
"""

_SEARCH = """
## Metrics of the databases

The [exporter](../monitoring.md) of a cluster with `spec.metrics` serves them on port 9114, path `/metrics`. `engine`,
`namespace` and `name` identify the cluster, as for the operator's metrics; `node` is the member and `pool` its pool. A
value that the database did not give has no sample. Counters begin at 0 when the member's process starts.

### OpenSearch and Elasticsearch

The number of series is bounded: about 120 for each member and 20 for each cluster. No series depends on indices.

| metric | type | unit | labels | meaning |
| --- | --- | --- | --- | --- |
"""

_FOUNDATIONDB = """
### FoundationDB

`process` is the number of a process in its member, from 1 on. Counters of the cluster begin at 0 when the database
recovers. The number of series is bounded: about 30 for each process and 110 for each cluster.

| metric | type | unit | labels | meaning |
| --- | --- | --- | --- | --- |
"""

_ALERTS = """\
<!-- Generated from charts/stateward/files/rules.yaml; renew it with `make docs`. -->
# Alerts

The chart installs these rules as a `PrometheusRule` with `metrics.rules.enabled`. Without the Prometheus operator, load
`charts/stateward/files/rules.yaml` into Prometheus. Each rule has a test that runs it by promtool.
"""
