"""What all pools of a cluster share is written once, and made for each pool: it counts as often as it is made."""

import time
from typing import Any

import pytest

from stateward.api.pod_policy import Level
from stateward.api.validation import errors, validate, validate_access
from stateward.operator.admission.judge import judge
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.kinds import kind_of
from tests.unit.api.documents import cluster, foundationdb_cluster
from tests.unit.api.findings import found, only, pool

POOLS = 50


def pools() -> list[dict[str, Any]]:
    return [pool("managers", roles=["cluster_manager"]), *(pool(f"p{i}", roles=["data"]) for i in range(1, POOLS))]


def settings(number: int) -> dict[str, Any]:
    return {"config": {f"setting{i}": "x" for i in range(number)}}


def labels(number: int) -> dict[str, Any]:
    return {"podTemplate": {"metadata": {"labels": {f"label{i}": "x" for i in range(number)}}}}


@pytest.mark.parametrize("shared", [settings, labels])
def test_values_that_all_pools_share_count_once_for_each(shared: Any) -> None:
    path, said = only(cluster(pools=pools(), **shared(1100)))
    assert path.startswith(("spec.config", "spec.podTemplate"))
    assert said == "is too much: a spec may have 50,000 values, and what all 50 pools share counts 50 times"
    assert found(cluster(pools=pools(), **shared(800))) == []
    assert found(cluster(**shared(15_000))) == []


def test_a_long_text_counts_for_what_has_to_be_read_of_it() -> None:
    """A megabyte in one setting of fifty pools was written out more than two hundred times for one question."""
    assert found(cluster(pools=pools(), config={"a": "x" * 50_000})) == []
    long: list[dict[str, Any]] = [
        {"config": {"a": "x" * 150_000}},
        {"podTemplate": {"metadata": {"labels": {"x" * 150_000: "a"}}}},
    ]
    for shared in long:
        assert "is too much: " in only(cluster(pools=pools(), **shared))[1]


def test_knobs_count_for_each_pool() -> None:
    kinds = ["storage", "log", "stateless"]
    some = [{"name": f"p{i}", "processClass": kinds[i % 3], "replicas": 3} for i in range(POOLS)]
    made = foundationdb_cluster(pools=some, knobs={f"knob{i}": "1" for i in range(1100)})
    assert any("is too much: " in str(problem) for problem in errors(validate(made)))


def test_a_spec_that_would_be_made_for_fifty_pools_is_refused_in_a_moment() -> None:
    """A spec of 340 KB stopped the operator for two minutes: it lost its lease, and with it all tenants theirs."""
    large = cluster(pools=pools(), **settings(27_000))
    began = time.process_time()
    verdict = judge(unconnected(kind_of(large)), large, None, None, 1000.0, Level.BASELINE)
    assert verdict.refused
    assert validate_access(large) == []
    assert time.process_time() - began < 2
