"""The Grafana dashboard of the chart: rows of panels, each with its queries."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

_CLUSTER = 'namespace=~"$namespace", name=~"$cluster"'
_NAMES = "{{namespace}}/{{name}}"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH = 24
"""Columns of Grafana's grid."""


class Panel(Struct, frozen=True):
    """One panel; `queries` maps legends to expressions. An empty legend shows all labels."""

    title: str
    queries: Mapping[str, str]
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 12
    height: int = 8
    colors: Mapping[int, str] = {}
    """Color from a value on; the first one is that of all lower values."""
    texts: Mapping[str, str] = {}
    """Text in place of a value."""


def _metric(name: str, more: str = "") -> str:
    return f"stateward_cluster_{name}{{{_CLUSTER}{more}}}"


def _forecast_ratio(quantile: float) -> str:
    return f"histogram_quantile({quantile}, sum by (kind, le) (increase(stateward_forecast_ratio_bucket[$__range])))"


_NODE = "{{node}}"
_PROCESS = "{{node}} {{process}}"
_STATUS = {"0": "green", "1": "yellow", "2": "red"}
_COLORS = {0: "green", 1: "yellow", 2: "red"}


def _database(name: str, more: str = "") -> str:
    return f"stateward_database_{name}{{{_CLUSTER}{more}}}"


def _rate(name: str) -> str:
    return f"rate({_database(f'{name}_total')}[$__rate_interval])"


def _share(part: str, whole: str) -> str:
    return f"{_database(part)} / {_database(whole)}"


def _disk_in_use(match: str) -> str:
    only = f', engine{match}"foundationdb"'
    return f"1 - {_database('disk_available_bytes', only)} / {_database('disk_total_bytes', only)}"


def _latency(name: str) -> str:
    return f"{_rate(f'{name}_seconds')} / ({_rate(name)} > 0)"


def _status() -> str:
    yellow, red = (_database("status", f', status="{each}"') for each in ("yellow", "red"))
    return f"sum by (namespace, name) ({yellow}) + 2 * sum by (namespace, name) ({red})"


_OURS = "and on (instance, job) stateward_build_info"
"""Restricts metrics of every process to those of the operator."""
_ALARM = {0: "green", 1: "red"}
_WARNING = {0: "green", 1: "orange"}

ROWS: Mapping[str, tuple[Panel, ...]] = {
    "Overview": (
        Panel("Managed clusters", {"": f"count({_metric('settled')})"}, "stat", width=4, height=4),
        Panel("Not settled", {"": f"sum(1 - {_metric('settled')})"}, "stat", width=4, height=4, colors=_WARNING),
        Panel("Need intervention", {"": f"sum({_metric('stalled')})"}, "stat", width=4, height=4, colors=_ALARM),
        Panel(
            "Red or unknown",
            {"": f"sum({_metric('health', ', health=~' + chr(34) + 'red|unknown' + chr(34))})"},
            "stat",
            width=4,
            height=4,
            colors=_ALARM,
        ),
        Panel(
            "Members down",
            {"": f"sum({_metric('members_desired')} - {_metric('members_ready')})"},
            "stat",
            width=4,
            height=4,
            colors=_WARNING,
        ),
        Panel("Leaders", {"": "sum(stateward_leader)"}, "stat", width=4, height=4, colors={0: "red", 1: "green"}),
    ),
    "Clusters": (
        Panel(
            "Health",
            {
                _NAMES: f"sum by (namespace, name) ({_metric('health', ', health=' + chr(34) + 'yellow' + chr(34))})"
                f" + 2 * sum by (namespace, name) ({_metric('health', ', health=' + chr(34) + 'red' + chr(34))})"
                f" + 3 * sum by (namespace, name) ({_metric('health', ', health=' + chr(34) + 'unknown' + chr(34))})"
            },
            "state-timeline",
            width=24,
            texts={"0": "green", "1": "yellow", "2": "red", "3": "unknown"},
            colors={0: "green", 1: "yellow", 2: "red", 3: "purple"},
        ),
        Panel(
            "Members that do not serve",
            {_NAMES: f"{_metric('members_desired')} - {_metric('members_ready')}"},
        ),
        Panel("Waiting steps", {_NAMES: _metric("waiting")}),
        Panel(
            "Time since the last progress",
            {_NAMES: f"(time() - {_metric('last_progress_timestamp_seconds')}) * (1 - {_metric('settled')})"},
            unit="s",
        ),
        Panel("Longest wait", {_NAMES: f"time() - {_metric('oldest_wait_timestamp_seconds')}"}, unit="s"),
        Panel(
            "Executed steps",
            {"{{action}}": f"sum by (action) (increase(stateward_actions_total{{{_CLUSTER}}}[$__rate_interval]))"},
        ),
        Panel(
            "Certificates expire in",
            {
                _NAMES: f"{_metric('certificate_expiry_timestamp_seconds')} - time()",
                f"{_NAMES} CA": f"{_metric('ca_expiry_timestamp_seconds')} - time()",
            },
            unit="s",
        ),
        Panel("Secured", {_NAMES: _metric("secured")}, "state-timeline", texts={"0": "plain", "1": "TLS and users"}),
        Panel(
            "Duration of changes, as a multiple of the forecast",
            {f"{{{{kind}}}} {name}": _forecast_ratio(quantile) for quantile, name in ((0.5, "50 %"), (0.9, "90 %"))},
        ),
    ),
    "Search database (OpenSearch and Elasticsearch clusters with spec.metrics)": (
        Panel("Status that the database reports", {_NAMES: _status()}, "state-timeline", texts=_STATUS, colors=_COLORS),
        Panel("Answers the exporter", {_NAMES: _database("up")}, "state-timeline", texts={"0": "no", "1": "yes"}),
        Panel("Heap in use", {_NODE: _share("jvm_heap_used_bytes", "jvm_heap_max_bytes")}, unit="percentunit"),
        Panel(
            "Time in garbage collection", {f"{_NODE} {{{{generation}}}}": _rate("jvm_gc_seconds")}, unit="percentunit"
        ),
        Panel("CPU of the process", {_NODE: _database("process_cpu_ratio")}, unit="percentunit"),
        Panel("Disk in use", {_NODE: _disk_in_use("!=")}, unit="percentunit"),
        Panel("Indexed documents", {_NODE: _rate("indexing")}, unit="ops"),
        Panel("Time to index a document", {_NODE: _latency("indexing")}, unit="s"),
        Panel("Queries of searches, for each shard", {_NODE: _rate("search_query")}, unit="ops"),
        Panel("Time of a query", {_NODE: _latency("search_query")}, unit="s"),
        Panel("Refused tasks", {f"{_NODE} {{{{thread_pool}}}}": _rate("thread_pool_rejected")}, unit="ops"),
        Panel("Waiting tasks", {f"{_NODE} {{{{thread_pool}}}}": f"{_database('thread_pool_queue')} > 0"}),
        Panel("Memory of writes in progress", {_NODE: _database("indexing_pressure_bytes")}, unit="bytes"),
        Panel("Tripped circuit breakers", {f"{_NODE} {{{{breaker}}}}": _rate("breaker_tripped")}, unit="ops"),
        Panel("Documents", {_NAMES: f"sum by (namespace, name) ({_database('documents')})"}),
        Panel("Size of the shards", {_NODE: _database("store_bytes")}, unit="bytes"),
        Panel("Shards that are not active", {f"{_NAMES} {{{{state}}}}": _database("shards", ', state!="active"')}),
        Panel("Changes that wait for the manager", {_NAMES: _database("pending_tasks")}),
        Panel("Merged", {_NODE: _rate("merged_bytes")}, unit="Bps"),
        Panel("Segments", {_NODE: _database("segments")}),
        Panel("HTTP connections", {_NODE: _database("http_connections")}),
        Panel(
            "Traffic between members",
            {f"{_NODE} in": _rate("transport_received_bytes"), f"{_NODE} out": _rate("transport_sent_bytes")},
            unit="Bps",
        ),
    ),
    "FoundationDB (clusters with spec.metrics)": (
        Panel(
            "Takes reads and writes",
            {_NAMES: _database("available")},
            "state-timeline",
            texts={"0": "no", "1": "yes"},
            colors={0: "red", 1: "green"},
        ),
        Panel(
            "Data and recovery",
            {
                f"{_NAMES} data {{{{state}}}}": f"{_database('data_state')} == 1",
                f"{_NAMES} recovery {{{{state}}}}": f"{_database('recovery_state')} == 1",
            },
            "state-timeline",
            texts={"1": "now"},
        ),
        Panel(
            "Fault domains that may fail",
            {f"{_NAMES} {{{{keeps}}}}": _database("tolerated_zone_failures")},
        ),
        Panel("Replicas of the data with the fewest", {_NAMES: _database("replicas_remaining")}),
        Panel("Coordinators that are reached", {_NAMES: _database("coordinators_reachable")}),
        Panel("Moving data", {f"{_NAMES} {{{{stage}}}}": _database("moving_data_bytes")}, unit="bytes"),
        Panel(
            "Transactions",
            {
                f"{_NAMES} {name}": _rate(f"transactions_{name}")
                for name in ("started", "committed", "conflicted", "rejected")
            },
            unit="ops",
        ),
        Panel("Latency of the probe", {f"{_NAMES} {{{{operation}}}}": _database("probe_seconds")}, unit="s"),
        Panel("Reads and writes", {f"{_NAMES} reads": _rate("reads"), f"{_NAMES} writes": _rate("writes")}, unit="ops"),
        Panel(
            "Read and written",
            {f"{_NAMES} read": _rate("read_bytes"), f"{_NAMES} written": _rate("written_bytes")},
            unit="Bps",
        ),
        Panel("Longest queue", {f"{_NAMES} {{{{role}}}}": _database("worst_queue_bytes")}, unit="bytes"),
        Panel(
            "Lag of the slowest storage process",
            {
                f"{_NAMES} disk": _database("worst_durability_lag_seconds"),
                f"{_NAMES} logs": _database("worst_data_lag_seconds"),
            },
            unit="s",
        ),
        Panel(
            "What limits transactions",
            {f"{_NAMES} {{{{reason}}}}": f"{_database('performance_limited')} == 1"},
            "state-timeline",
            texts={"1": "now"},
        ),
        Panel("CPU of a process", {_PROCESS: _database("process_cpu_cores")}, unit="short"),
        Panel(
            "Memory of a process",
            {_PROCESS: _share("process_memory_resident_bytes", "process_memory_limit_bytes")},
            unit="percentunit",
        ),
        Panel("Busy disks", {_PROCESS: _database("disk_busy_ratio")}, unit="percentunit"),
        Panel("Space of the disks in use", {_PROCESS: _disk_in_use("=")}, unit="percentunit"),
        Panel("Size of the keys and values", {_NAMES: _database("key_value_bytes")}, unit="bytes"),
        Panel("Queue of a log on its disk", {_PROCESS: _database("log_queue_disk_used_bytes")}, unit="bytes"),
        Panel(
            "Processes that are not well",
            {f"{_NAMES} {name}": _database(f"processes_{name}") for name in ("unreachable", "excluded", "degraded")},
        ),
        Panel("Clients", {_NAMES: _database("clients")}),
    ),
    "Operator": (
        Panel(
            "Reconciliations",
            {
                "{{controller}} {{result}}": "sum by (controller, result)"
                " (rate(controller_runtime_reconcile_total{controller=~"
                '"osclusters|esclusters|fdbclusters"}[$__rate_interval]))'
            },
            unit="ops",
        ),
        Panel(
            "Duration of a reconciliation (95 %)",
            {
                "{{controller}}": "histogram_quantile(0.95, sum by (controller, le)"
                " (rate(controller_runtime_reconcile_time_seconds_bucket{controller=~"
                '"osclusters|esclusters|fdbclusters"}[$__rate_interval])))'
            },
            unit="s",
        ),
        Panel(
            "Failing reconciliations in a row",
            {"{{controller}} {{resource}}": "stateward_consecutive_reconcile_failures"},
        ),
        Panel(
            "Work queue",
            {"{{name}}": 'workqueue_depth{name=~"osclusters|esclusters|fdbclusters"}'},
        ),
        Panel(
            "Time in the work queue (95 %)",
            {
                "{{name}}": "histogram_quantile(0.95, sum by (name, le) (rate(workqueue_queue_duration_seconds_bucket"
                '{name=~"osclusters|esclusters|fdbclusters"}[$__rate_interval])))'
            },
            unit="s",
        ),
        Panel(
            "Restarted watches",
            {"{{store}} {{reason}}": "increase(stateward_watch_restarts_total[$__rate_interval])"},
        ),
        Panel("Objects that cannot be decoded", {"{{store}}": "stateward_unreadable_objects"}),
        Panel(
            "Memory",
            {"{{pod}}": f"process_resident_memory_bytes {_OURS}"},
            unit="bytes",
        ),
        Panel(
            "CPU",
            {"{{pod}}": f"rate(process_cpu_seconds_total[$__rate_interval]) {_OURS}"},
            unit="percentunit",
        ),
        Panel("Versions", {"{{pod}} {{version}}": "stateward_build_info"}, "state-timeline", texts={"1": "runs"}),
    ),
}


def dashboard() -> str:
    """Return the dashboard as JSON."""
    body = {
        "title": "Stateward",
        "uid": "stateward",
        "tags": ["stateward", "database", "kubernetes"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": [_datasource(), _variable("namespace", ""), _variable("cluster", _NAMESPACE, "name")]},
        "panels": list(_panels()),
    }
    return json.dumps(body, indent=1) + "\n"


_NAMESPACE = '{namespace=~"$namespace"}'


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}


def _variable(name: str, selector: str, label: str = "") -> dict[str, Any]:
    query = f"label_values(stateward_cluster_settled{selector}, {label or name})"
    choice = {"includeAll": True, "multi": True, "current": {"text": "All", "value": "$__all"}}
    return {"name": name, "type": "query", "datasource": _SOURCE, "query": query, "refresh": 2, "sort": 1, **choice}


def _panels() -> Iterator[dict[str, Any]]:
    top, number = 0, 0
    for title, panels in ROWS.items():
        number += 1
        grid = {"x": 0, "y": top, "w": _WIDTH, "h": 1}
        yield {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": grid, "panels": []}
        top, left, tallest = top + 1, 0, 0
        for panel in panels:
            if left + panel.width > _WIDTH:
                top, left, tallest = top + tallest, 0, 0
            number += 1
            yield {"id": number, "gridPos": {"x": left, "y": top, "w": panel.width, "h": panel.height}, **_panel(panel)}
            left, tallest = left + panel.width, max(tallest, panel.height)
        top += tallest


def _panel(panel: Panel) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + at), "expr": expression, "legendFormat": legend or "__auto", "datasource": _SOURCE}
        for at, (legend, expression) in enumerate(panel.queries.items())
    ]
    options = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
    return {
        "type": panel.kind,
        "title": panel.title,
        "datasource": _SOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": options if panel.kind == "timeseries" else {},
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    found: dict[str, Any] = {"unit": panel.unit}
    if panel.colors:
        steps = [{"color": color, "value": value or None} for value, color in panel.colors.items()]
        found |= {"color": {"mode": "thresholds"}, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.texts:
        shown = {value: {"text": text, "index": at} for at, (value, text) in enumerate(panel.texts.items())}
        found["mappings"] = [{"type": "value", "options": shown}]
    return found
