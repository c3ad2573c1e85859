"""The panels of the Grafana dashboard, judged by promtool: they find what operator and exporters export."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.generated.monitoring import of_databases
from sandbox.progress import Progress
from sandbox.toolchain.programs import PROMTOOL, build_program
from stateward.api.kinds.security import SecurityStatus
from stateward.api.kinds.status import ClusterStatus, MemberCounts, WaitStatus
from stateward.kube.objects.metadata import Key
from stateward.operator.runtime.metrics import Metrics
from stateward.planning.plan import Plan
from tests.integration.install.helm import CHART

pytestmark = pytest.mark.integration

VARIABLES = {"$namespace": ".*", "$cluster": ".*", "$__rate_interval": "5m", "$__range": "1h"}
"""Grafana's variables, and what Grafana puts in their place when all clusters are chosen."""
TARGET = {"job": "stateward", "instance": "10.0.0.1:8080", "pod": "stateward-0"}
"""Labels that Prometheus adds to what it scrapes."""
ENGINES = ("opensearch", "foundationdb")
MINUTES = 30
Series = dict[str, str]


@pytest.fixture(scope="module")
def promtool() -> Path:
    return build_program(PROMTOOL, Progress())


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


def panels() -> Iterator[tuple[str, str]]:
    """Yield the expressions of all panels with their titles, as Grafana sends them."""
    for panel in json.loads((CHART / "files/dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for variable, value in VARIABLES.items():
                expression = expression.replace(variable, value)
            yield panel["title"], expression


PANELS = list(panels())


def operator() -> Metrics:
    """Return the metrics of an operator with two clusters, one of which waits; every counter has counted."""
    metrics = Metrics()
    waiting = ClusterStatus(
        health="yellow",
        members=MemberCounts(desired=3, ready=2),
        waiting=[WaitStatus(subject="a", reason="NotSafeYet", message="", since_time="1970-01-01T00:10:00Z")],
        security=SecurityStatus(
            enabled=True,
            ca_expiration_time="1970-01-01T02:00:00Z",
            certificates_expiration_time="1970-01-01T01:00:00Z",
        ),
        last_progress_time="1970-01-01T00:20:00Z",
    )
    well = ClusterStatus(health="green", members=MemberCounts(desired=5, ready=5))
    for name, status in (("logs", waiting), ("shop", well)):
        settled = status is well
        plan = Plan(actions=(), intents={}, waits=(), budgets=(), activity="", settled=settled)
        metrics.cluster("opensearch", Key("prod", name), plan, status)
    return metrics


def samples(metrics: Metrics) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield what is exported: name, labels and value."""
    for family in metrics.registry.collect():
        yield from ((each.name, each.labels, each.value) for each in family.samples)


def selected() -> dict[str, dict[str, set[str]]]:
    """Return the values of labels that panels select, by series and label."""
    found: dict[str, dict[str, set[str]]] = {}
    for _, expression in PANELS:
        for name, matchers in re.findall(r"(\w+)\{([^}]*)\}", expression):
            for label, operation, text in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', matchers):
                if operation != "!=" and text != ".*":
                    found.setdefault(name, {}).setdefault(label, set()).update(text.split("|"))
    return found


def written(name: str, labels: dict[str, str], values: str) -> Series:
    matchers = ", ".join(f"{label}={json.dumps(value)}" for label, value in sorted({**TARGET, **labels}.items()))
    return {"series": f"{name}{{{matchers}}}", "values": values}


def series() -> list[Series]:
    """Return the series of an operator, and of each metric that has none yet, with the labels that its table has."""
    metrics, wanted = operator(), selected()
    types = {name: each.type for each in (*metrics.described, *of_databases()) for name in each.series}
    found = {
        json.dumps(each): each
        for name, labels, value in samples(metrics)
        for each in [written(name, labels, constant_or_counting(types.get(name, "gauge"), value))]
    }
    there = {name for name, _, _ in samples(metrics)}
    for each in (*metrics.described, *of_databases()):
        for name in (name for name in each.series if name not in there):
            for labels in choices(each.labels, wanted.get(name, {})):
                more = {"le": "+Inf"}, {"le": "1"}
                for extra in more if name.endswith("_bucket") else ({},):
                    one = written(name, {**labels, **extra}, constant_or_counting(each.type, 1))
                    found[json.dumps(one)] = one
    return list(found.values())


def constant_or_counting(kind: str, value: float) -> str:
    return f"{value}x{MINUTES}" if kind == "gauge" else f"0+60x{MINUTES}"


def choices(labels: tuple[str, ...], wanted: dict[str, set[str]]) -> Iterator[dict[str, str]]:
    """Yield sets of labels, so that each value that a panel selects is there once, and each engine."""
    plain = dict.fromkeys(labels, "a") | ({"engine": ENGINES[0]} if "engine" in labels else {})
    yield plain
    for label in labels:
        for value in sorted(wanted.get(label, set()) | (set(ENGINES) if label == "engine" else set())):
            yield {**plain, label: value}


SERIES = series()


def judged(promtool: Path, folder: Path, cases: list[dict[str, Any]]) -> str:
    """Return what promtool says of expectations; empty if all are met."""
    file = folder / "cases.yaml"
    group = {"interval": "1m", "input_series": SERIES, "promql_expr_test": cases}
    file.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [group]}))
    done = run(promtool, "test", "rules", file)
    return "" if done.returncode == 0 else done.stdout + done.stderr or "it failed"


def answers(expression: str) -> dict[str, Any]:
    """Return the expectation that an expression has data, and a number among them."""
    samples = [{"labels": "{}", "value": 1}]
    return {"expr": f"count(({expression}) > -Inf) > bool 0", "eval_time": f"{MINUTES}m", "exp_samples": samples}


def test_every_variable_of_grafana_is_replaced() -> None:
    assert len({title for title, _ in PANELS}) > 50
    assert [expression for _, expression in PANELS if "$" in expression] == []


def test_promtool_accepts_every_expression(promtool: Path, tmp_path: Path) -> None:
    rules = [{"record": f"panel:{at}", "expr": expression} for at, (_, expression) in enumerate(PANELS)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = run(promtool, "check", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_panel_shows_data_of_what_is_exported(promtool: Path, tmp_path: Path) -> None:
    assert judged(promtool, tmp_path, [answers(expression) for _, expression in PANELS]) == ""


@pytest.mark.parametrize(
    "wrong",
    [
        'stateward_cluster_health{health="purple"}',
        "stateward_cluster_helth",
        "stateward_leader / on (instance) group_left stateward_cluster_waiting{name='nobody'}",
    ],
)
def test_a_panel_without_data_would_be_noticed(promtool: Path, tmp_path: Path, wrong: str) -> None:
    assert "expr" in judged(promtool, tmp_path, [answers(wrong)])


PROD = 'namespace="prod", name='
SHOWN: dict[str, dict[str, float]] = {
    "Managed clusters": {"{}": 2},
    "Not settled": {"{}": 1},
    "Need intervention": {"{}": 0},
    "Red or unknown": {"{}": 0},
    "Members down": {"{}": 1},
    "Health": {f'{{{PROD}"logs"}}': 1, f'{{{PROD}"shop"}}': 0},
    "Longest wait": {"logs": MINUTES * 60 - 600},
    "Time since the last progress": {"logs": MINUTES * 60 - 1200, "shop": 0},
}
"""What panels show of these clusters, by labels; a bare name stands for all labels of its cluster."""


@pytest.mark.parametrize("title", SHOWN)
def test_a_panel_of_the_overview_shows_the_numbers_of_the_clusters(promtool: Path, tmp_path: Path, title: str) -> None:
    (expression,) = [expression for name, expression in PANELS if name == title]
    whole = {**TARGET, "engine": "opensearch", "namespace": "prod"}
    expected: list[dict[str, Any]] = []
    for labels, value in SHOWN[title].items():
        text = labels
        if not labels.startswith("{"):
            text = "{" + ", ".join(f'{key}="{each}"' for key, each in {**whole, "name": labels}.items()) + "}"
        expected.append({"labels": text, "value": value})
    case = {"expr": expression, "eval_time": f"{MINUTES}m", "exp_samples": expected}
    assert judged(promtool, tmp_path, [case]) == ""
