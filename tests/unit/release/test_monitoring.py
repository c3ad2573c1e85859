"""Alerts and dashboard use only what operator and exporters export, and every metric is described."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from release.generated.dashboard import ROWS
from release.generated.monitoring import alerts, alerts_page, of_databases
from stateward.operator.runtime.metrics import Metrics

ROOT = Path(__file__).parents[3]
CHART = ROOT / "charts/stateward"
RULES = (CHART / "files/rules.yaml").read_text()
ALERTS = alerts(RULES)
WORDS = {
    *(
        "abs",
        "absent",
        "and",
        "bool",
        "by",
        "count",
        "histogram_quantile",
        "ignoring",
        "increase",
        "max",
        "min",
        "on",
        "or",
    ),
    *("rate", "sum", "time", "unless", "without"),
}
"""Functions and keywords of PromQL that rules and panels use."""
TARGET = {"instance", "job", "pod"}
"""Labels that Prometheus adds to what it scrapes."""


def expressions() -> Iterator[tuple[str, str]]:
    """Yield the expressions of all rules and panels, with their place."""
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]
    for panels in ROWS.values():
        for panel in panels:
            yield from ((panel.title, expression) for expression in panel.queries.values())


def words(expression: str) -> tuple[set[str], set[str]]:
    """Return the names of series and of labels in an expression."""
    text = re.sub(r'"[^"]*"|\[[^\]]*\]', "", expression)
    labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=(?!=))", "".join(re.findall(r"\{[^}]*\}", text))))
    grouped = re.findall(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)", text)
    labels |= {name.strip() for group in grouped for name in group.split(",")}
    bare = re.sub(r"\{[^}]*\}|\b(?:by|on|without|ignoring)\s*\([^)]*\)", "", text)
    return set(re.findall(r"[a-zA-Z_:][\w:]*", bare)) - WORDS, labels


LABELS: dict[str, set[str]] = {}
for _metric in (*Metrics().described, *of_databases()):
    for _series in _metric.series:
        LABELS.setdefault(_series, set()).update(_metric.labels)


@pytest.mark.parametrize(("place", "expression"), list(expressions()))
def test_an_expression_uses_exported_series_and_their_labels(place: str, expression: str) -> None:
    names, labels = words(expression)
    assert names
    assert names - LABELS.keys() == set()
    known = {"le", *TARGET} | {label for name in names for label in LABELS[name]}
    assert labels - known - {"namespace"} == set()


def test_a_name_that_is_not_exported_would_be_noticed() -> None:
    names, labels = words('sum by (name) (rate(stateward_gone_total{a="x"}[5m])) > 1')
    assert (names, labels) == ({"stateward_gone_total"}, {"a", "name"})


def test_every_exported_metric_is_described_with_its_labels() -> None:
    metrics = Metrics()
    exported = {family.name: family.type for family in metrics.registry.collect()}
    described = {metric.name.removesuffix("_total"): metric.type for metric in metrics.described}
    assert described == exported
    sample = generate_latest(metrics.registry).decode()
    assert all(f"# HELP {metric.name} " in sample for metric in metrics.described)
    assert all(metric.meaning.endswith(".") for metric in metrics.described)


def test_every_alert_has_a_severity_texts_and_a_test() -> None:
    tests = yaml.safe_load((ROOT / "tests/integration/install/rules_test.yaml").read_text())["tests"]
    tested = {case["alertname"] for group in tests for case in group["alert_rule_test"] if case.get("exp_alerts")}
    assert {rule["alert"] for rule in ALERTS} == tested
    for rule in ALERTS:
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "description"}


def test_the_page_of_alerts_has_a_word_for_each_value_that_an_alert_fills_in() -> None:
    assert re.findall(r"{{.*?}}", alerts_page(RULES)) == []


def test_panels_do_not_overlap_and_have_names_of_their_own() -> None:
    body: dict[str, Any] = json.loads((CHART / "files/dashboard.json").read_text())
    taken: set[tuple[int, int]] = set()
    for panel in body["panels"]:
        grid = panel["gridPos"]
        cells = {
            (x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells
    assert len({panel["id"] for panel in body["panels"]}) == len(body["panels"])
    assert len({panel["title"] for panel in body["panels"]}) == len(body["panels"])
