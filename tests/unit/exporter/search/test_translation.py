"""What is exported follows from the answers: each value is there, in base units, and an unknown one is not."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.exporter.metric import PREFIX, paths
from stateward.exporter.samples import Sample, pool_of
from stateward.exporter.search.catalog import HEALTH, INFO, MEMBERS, STATUS, wanted
from stateward.exporter.search.translation import health_samples, node_samples, readable
from tests.unit.exporter.damage import GARBAGE, MISSING, damage, places
from tests.unit.exporter.search.recordings import LABELS, NAMES, WHOSE, recorded

NODE = (*LABELS, "hot", "logs-hot-0")


def samples(found: dict[str, Any]) -> list[Sample]:
    return [*health_samples(found["health"], WHOSE), *node_samples(found["nodes"], WHOSE)]


def values(found: list[Sample]) -> dict[tuple[str, ...], float]:
    return {(each.metric.name.removeprefix(PREFIX), *each.labels): each.value for each in found}


def node_of(found: dict[str, Any]) -> dict[str, Any]:
    (node,) = found["nodes"]["nodes"].values()
    return node


@pytest.mark.parametrize("name", NAMES)
def test_real_answers_have_every_metric(name: str) -> None:
    found = samples(recorded(name))
    there = {each.metric.name for each in found}
    absent = {each.name for each in (*HEALTH, *MEMBERS)} - there
    assert absent == set()
    assert len({(each.metric.name, each.labels) for each in found}) == len(found)
    assert len(found) < 160


def test_values_are_in_base_units_and_say_what_the_database_says() -> None:
    answers = recorded("opensearch-2.19.5")
    node = node_of(answers)
    node["process"]["cpu"]["percent"] = 45
    found = values(samples(answers))
    assert found["documents", *NODE] == 200
    assert found["indexing_total", *NODE] == 200
    milliseconds = node["indices"]["indexing"]["index_time_in_millis"]
    assert found["indexing_seconds_total", *NODE] == pytest.approx(milliseconds / 1000)
    assert found["jvm_heap_max_bytes", *NODE] == 256 << 20
    assert found["process_cpu_ratio", *NODE] == pytest.approx(0.45)
    kilobytes = node["fs"]["io_stats"]["total"]["write_kilobytes"]
    assert found["disk_written_bytes_total", *NODE] == kilobytes * 1024
    assert found["jvm_gc_total", *NODE, "young"] == node["jvm"]["gc"]["collectors"]["young"]["collection_count"]
    assert found["status", *LABELS, "yellow"] == 1
    assert found["status", *LABELS, "green"] == 0
    assert found["shards", *LABELS, "unassigned"] == 1
    assert found["nodes_silent", *LABELS] == 0
    assert found["node_info", *NODE, "cluster_manager,data,ingest,remote_cluster_client"] == 1


def test_both_names_of_a_breaker_are_one_series() -> None:
    for name in ("opensearch-2.19.5", "elasticsearch-8.19.4"):
        found = values(samples(recorded(name)))
        assert ("breaker_limit_bytes", *NODE, "in_flight_requests") in found


def test_a_number_below_zero_is_unknown() -> None:
    answers = recorded("opensearch-2.19.5")
    node_of(answers)["process"]["cpu"]["percent"] = -1
    node_of(answers)["os"]["cpu"]["load_average"] = {"1m": -1.0}
    names = {key[0] for key in values(samples(answers))}
    assert "process_cpu_ratio" not in names
    assert "os_load" not in names
    assert "jvm_heap_used_bytes" in names


def test_an_unknown_status_is_none_of_the_known_ones() -> None:
    answers = recorded("opensearch-2.19.5")
    for status in ("purple", None, 1, ["green"]):
        answers["health"]["status"] = status
        assert STATUS.name not in {each.metric.name for each in samples(answers)}
        assert not readable(answers["health"], answers["nodes"])


def test_two_nodes_of_one_name_have_no_series_and_neither_has_one_without_a_name() -> None:
    answers = recorded("opensearch-2.19.5")
    nodes = answers["nodes"]["nodes"]
    nodes["other"] = copy.deepcopy(next(iter(nodes.values())))
    nodes["third"] = {**copy.deepcopy(nodes["other"]), "name": "logs-hot-1"}
    nodes["nameless"] = {**copy.deepcopy(nodes["other"]), "name": 7}
    seen = {each.labels[4] for each in samples(answers) if each.metric is INFO}
    assert seen == {"logs-hot-1"}


def test_nodes_that_did_not_answer_are_counted() -> None:
    answers = recorded("opensearch-2.19.5")
    answers["nodes"]["_nodes"] = {"total": 3, "successful": 1, "failed": 2}
    assert values(samples(answers))["nodes_silent", *LABELS] == 2


@pytest.mark.parametrize(
    ("node", "pool"), [("logs-hot-0", "hot"), ("logs-hot-eu-12", "hot-eu"), ("other-hot-0", ""), ("logs-0", "")]
)
def test_the_pool_follows_from_the_name_of_a_member(node: str, pool: str) -> None:
    assert pool_of(node, "logs") == pool


ANSWERS = [recorded(name) for name in NAMES]
WAYS = [list(places(each)) for each in ANSWERS]


@given(st.data())
def test_missing_and_garbled_fields_never_raise_and_never_become_a_value(data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(ANSWERS) - 1))
    original = values(samples(ANSWERS[index]))
    damaged = copy.deepcopy(ANSWERS[index])
    for way in data.draw(st.lists(st.sampled_from(WAYS[index]), min_size=1, max_size=6)):
        damaged = damage(damaged, way, data.draw(GARBAGE | st.just(MISSING)))
    answers = damaged if isinstance(damaged, dict) else {}
    found = [*health_samples(answers.get("health"), WHOSE), *node_samples(answers.get("nodes"), WHOSE)]
    assert len({(each.metric.name, each.labels) for each in found}) == len(found)
    for key, value in values(found).items():
        assert value >= 0
        if key[0] not in ("node_info", "nodes_silent"):  # Their labels and difference follow from several fields.
            known = original.get(key)
            # A garbled name of a node moves its values to other labels, but makes none.
            assert known == value or (known is None and value in original.values())
    readable(answers.get("health"), answers.get("nodes"))


def test_the_filter_fits_into_the_first_line_of_a_request_and_leaves_nothing_out() -> None:
    steps = [way.split(".") for way in wanted().split(",")]
    assert len(wanted()) < 3000
    for metric in MEMBERS:
        for _, way in paths(metric):
            assert ["nodes", "*", *way[:2]] in steps
