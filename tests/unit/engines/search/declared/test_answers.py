"""What Elasticsearch 8.19.4 answers to a GET of a definition, recorded from its own classes, agrees with what was sent.

The sandbox has these classes without their endpoints; `sandbox/plugins/xpack-definitions` gives them some.
"""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search_object import Claim, SearchObjectSpec
from stateward.engines.search.declared.decision import Decision, Do, decide
from stateward.engines.search.declared.desired import Desired, Memory, Observed
from stateward.engines.search.declared.identity import declared

LIFECYCLE = (
    {
        "hot": {"actions": {"rollover": {"max_age": "168h", "max_docs": "1000"}, "readonly": {}}},
        "warm": {"min_age": "2d", "actions": {"shrink": {"number_of_shards": 1}, "allocate": {"require": {"a": "b"}}}},
        "cold": {"min_age": "7d", "actions": {"searchable_snapshot": {"snapshot_repository": "r"}}},
        "delete": {"min_age": "90d", "actions": {"delete": {}}},
    },
    {
        "hot": {"min_age": "0ms", "actions": {"rollover": {"max_age": "168h", "max_docs": 1000}, "readonly": {}}},
        "warm": {
            "min_age": "2d",
            "actions": {
                "shrink": {"number_of_shards": 1, "allow_write_after_shrink": False},
                "allocate": {"include": {}, "exclude": {}, "require": {"a": "b"}},
            },
        },
        "cold": {
            "min_age": "7d",
            "actions": {"searchable_snapshot": {"snapshot_repository": "r", "force_merge_index": True}},
        },
        "delete": {"min_age": "90d", "actions": {"delete": {"delete_searchable_snapshot": True}}},
    },
)
SNAPSHOTS = {
    "name": "<n-{now/d}>",
    "schedule": "0 30 1 * * ?",
    "repository": "r",
    "config": {"indices": "a-*"},
    "retention": {"expire_after": "48h"},
}
PIVOT = {"group_by": {"customer": {"terms": {"field": "customer"}}}}
TRANSFORM: tuple[dict[str, Any], dict[str, Any]] = (
    {
        "source": {"index": "orders"},
        "dest": {"index": "totals"},
        "frequency": "60s",
        "sync": {"time": {"field": "@timestamp", "delay": "60s"}},
        "pivot": {**PIVOT, "max_page_search_size": 200, "aggs": {"total": {"sum": {"field": "price"}}}},
        "settings": {"docs_per_second": 500},
    },
    {
        "id": "t",
        "version": "10.0.0",
        "create_time": 1795784552298,
        "source": {"index": ["orders"], "query": {"match_all": {}}},
        "dest": {"index": "totals"},
        "frequency": "60s",
        "sync": {"time": {"field": "@timestamp", "delay": "60s"}},
        "pivot": {**PIVOT, "aggregations": {"total": {"sum": {"field": "price"}}}, "max_page_search_size": 200},
        "settings": {"docs_per_second": 500.0},
    },
)
UPDATED_TRANSFORM = {
    **TRANSFORM[1],
    "pivot": {**PIVOT, "aggregations": {"total": {"sum": {"field": "price"}}}},
    "settings": {"max_page_search_size": 200, "docs_per_second": 500.0},
}
"""Elasticsearch moves a setting with the first update, whatever it changes."""
DETECTOR = {"function": "low_count"}
JOB: tuple[dict[str, Any], dict[str, Any]] = (
    {
        "groups": ["b", "a"],
        "analysis_config": {"bucket_span": "3600s", "model_prune_window": "30d", "detectors": [DETECTOR]},
        "data_description": {"time_field": "t"},
        "analysis_limits": {"model_memory_limit": "1.5gb"},
        "background_persist_interval": "7200s",
        "results_index_name": "mine",
    },
    {
        "job_id": "j",
        "job_type": "anomaly_detector",
        "job_version": "12.0.0",
        "create_time": 1795784601837,
        "groups": ["b", "a"],
        "analysis_config": {
            "bucket_span": "3600s",
            "detectors": [{"detector_description": "low_count", **DETECTOR, "detector_index": 0}],
            "influencers": [],
            "model_prune_window": "30d",
        },
        "analysis_limits": {"model_memory_limit": "1536mb", "categorization_examples_limit": 4},
        "data_description": {"time_field": "t", "time_format": "epoch_ms"},
        "background_persist_interval": "7200s",
        "model_snapshot_retention_days": 10,
        "results_index_name": "custom-mine",
        "allow_lazy_open": False,
    },
)
BUCKETS = {"date_histogram": {"field": "t", "fixed_interval": "60m"}, "aggs": {"t": {"max": {"field": "t"}}}}
FEED = (
    {"job_id": "j", "indexes": "orders", "aggs": {"b": BUCKETS}, "max_empty_searches": 10},
    {
        "datafeed_id": "f",
        "job_id": "j",
        "query_delay": "86602ms",
        "chunking_config": {"mode": "manual", "time_span": "3600000000ms"},
        "query": {"match_all": {}},
        "indices": ["orders"],
        "aggregations": {"b": BUCKETS},
        "scroll_size": 1000,
        "delayed_data_check_config": {"enabled": True},
        "max_empty_searches": 10,
    },
)
ANALYTICS: tuple[dict[str, Any], dict[str, Any]] = (
    {
        "source": {"index": "orders"},
        "dest": {"index": "out"},
        "analysis": {"outlier_detection": {}},
        "analyzed_fields": ["a", "b"],
        "model_memory_limit": "2048mb",
    },
    {
        "id": "x",
        "source": {"index": ["orders"], "query": {"match_all": {}}},
        "dest": {"index": "out", "results_field": "ml"},
        "analysis": {"outlier_detection": {"compute_feature_influence": True, "outlier_fraction": 0.05}},
        "analyzed_fields": {"includes": ["a", "b"], "excludes": []},
        "model_memory_limit": "2048mb",
        "allow_lazy_start": False,
        "max_num_threads": 1,
    },
)
USERS = {"match_field": "email", "enrich_fields": ["name"], "query": {"match": {"a": "b"}}}
SENT_AND_ANSWERED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("ilmPolicy/a", {"policy": {"phases": LIFECYCLE[0]}}, {"a": {"version": 1, "policy": {"phases": LIFECYCLE[1]}}}),
    ("snapshotPolicy/a", SNAPSHOTS, {"a": {"version": 1, "policy": SNAPSHOTS, "stats": {"policy": "a"}}}),
    ("/_transform/t", TRANSFORM[0], {"count": 1, "transforms": [TRANSFORM[1]], "errors": []}),
    ("/_transform/t", TRANSFORM[0], {"count": 1, "transforms": [UPDATED_TRANSFORM], "errors": []}),
    ("/_ml/anomaly_detectors/j", JOB[0], {"count": 1, "jobs": [JOB[1]]}),
    ("/_ml/datafeeds/f", FEED[0], {"count": 1, "datafeeds": [FEED[1]]}),
    ("/_ml/data_frame/analytics/x", ANALYTICS[0], {"count": 1, "data_frame_analytics": [ANALYTICS[1]]}),
    (
        "/_ml/filters/f",
        {"description": "safe", "items": ["b", "a"]},
        {"count": 1, "filters": [{"filter_id": "f", "description": "safe", "items": ["a", "b"]}]},
    ),
    (
        "/_ml/calendars/k",
        {"job_ids": ["b", "a"]},
        {"count": 1, "calendars": [{"calendar_id": "k", "job_ids": ["a", "b"]}]},
    ),
    (
        "enrichPolicy/e",
        {"match": {"indices": "users", **USERS}},
        {"policies": [{"config": {"match": {"name": "e", "indices": ["users"], **USERS}}}]},
    ),
]


def decided(what: str, body: dict[str, Any], answer: dict[str, Any], applied: str) -> Decision:
    where = {"path": what} if what.startswith("/") else {"object": what}
    cluster = {"kind": "ElasticsearchCluster", "name": "c"}
    spec = msgspec.convert({"cluster": cluster, "body": body, **where}, SearchObjectSpec)
    desired = Desired(declared(spec), body, body, "digest", "prod/mine", Memory(Claim.OWNED, applied))
    return decide(desired, Observed(answer, frozenset({"8.19.4"})), "another form")


@pytest.mark.parametrize(("what", "body", "answer"), SENT_AND_ANSWERED)
def test_the_answer_agrees_with_what_was_sent(what: str, body: dict[str, Any], answer: dict[str, Any]) -> None:
    assert decided(what, body, answer, "digest").do is Do.NOTHING


DESCRIBED = ("/_transform/", "/_ml/anomaly", "/_ml/data_frame/", "/_ml/filters/")
"""Those that Elasticsearch changes, and that have a description."""


@pytest.mark.parametrize(
    ("what", "body", "answer"), [each for each in SENT_AND_ANSWERED if each[0].startswith(DESCRIBED)]
)
def test_an_edit_of_another_field_sends_that_one_alone(what: str, body: dict[str, Any], answer: dict[str, Any]) -> None:
    decision = decided(what, {**body, "description": "another"}, answer, "before")
    assert decision.request is not None, decision.message
    assert {key: value for key, value in (decision.request.body or {}).items() if key != "_meta"} == {
        "description": "another"
    }


def test_a_setting_of_a_pivot_is_changed_where_elasticsearch_keeps_it() -> None:
    body = {**TRANSFORM[0], "pivot": {**TRANSFORM[0]["pivot"], "max_page_search_size": 300}}
    for stored in (TRANSFORM[1], UPDATED_TRANSFORM):
        decision = decided("/_transform/t", body, {"count": 1, "transforms": [stored]}, "before")
        assert decision.request is not None, decision.message
        assert decision.request.body is not None
        assert decision.request.body["settings"] == {"docs_per_second": 500, "max_page_search_size": 300}
        assert "pivot" not in decision.request.body


def test_the_window_of_a_model_is_changed_by_its_own_field() -> None:
    body = {**JOB[0], "analysis_config": {**JOB[0]["analysis_config"], "model_prune_window": "40d"}}
    decision = decided("/_ml/anomaly_detectors/j", body, {"count": 1, "jobs": [JOB[1]]}, "before")
    assert decision.request is not None, decision.message
    assert decision.request.body == {"model_prune_window": "40d"}


def test_another_index_for_results_is_a_change_that_cannot_be_made() -> None:
    body = {**JOB[0], "results_index_name": "other"}
    decision = decided("/_ml/anomaly_detectors/j", body, {"count": 1, "jobs": [JOB[1]]}, "before")
    assert (decision.do, decision.reason) == (Do.STOP, "CannotChange")
    assert "cannot change results_index_name of" in decision.message


@pytest.mark.parametrize("pivot", [None, "nothing", {"max_page_search_size": 300}])
def test_a_body_that_no_database_takes_is_left_as_it_is(pivot: object) -> None:
    body = {**TRANSFORM[0], "pivot": pivot, "settings": "nothing"}
    decision = decided("/_transform/t", body, {"count": 1, "transforms": [TRANSFORM[1]]}, "before")
    assert decision.reason == "CannotChange"


@pytest.mark.parametrize(("declared_size", "stored_size"), [("1.5gb", "1536mb"), ("0.5kb", "512b"), ("2.0gb", "2gb")])
def test_a_part_of_a_unit_is_a_number_of_smaller_ones(declared_size: str, stored_size: str) -> None:
    limits = [{"analysis_limits": {"model_memory_limit": size}} for size in (declared_size, stored_size)]
    assert decided("/_ml/anomaly_detectors/j", limits[0], {"jobs": [limits[1]]}, "digest").do is Do.NOTHING
    other = {"jobs": [{"analysis_limits": {"model_memory_limit": "1.7b"}}]}
    assert decided("/_ml/anomaly_detectors/j", limits[0], other, "digest").do is Do.SEND


def test_rules_and_texts_of_detectors_are_changed_by_their_own_update() -> None:
    rules = [{"actions": ["skip_result"], "conditions": [{"applies_to": "actual", "operator": "lt", "value": 10}]}]
    detectors = [{**DETECTOR, "detector_description": "few", "custom_rules": rules}]
    body = {**JOB[0], "analysis_config": {**JOB[0]["analysis_config"], "detectors": detectors}}
    decision = decided("/_ml/anomaly_detectors/j", body, {"count": 1, "jobs": [JOB[1]]}, "before")
    assert decision.request is not None, decision.message
    change = {"detector_index": 0, "description": "few", "custom_rules": rules}
    assert decision.request.body == {"detectors": [change]}
    stored = {**JOB[1]["analysis_config"]["detectors"][0], **detectors[0]}
    answer = {"jobs": [{**JOB[1], "analysis_config": {**JOB[1]["analysis_config"], "detectors": [stored]}}]}
    assert decided("/_ml/anomaly_detectors/j", body, answer, "digest").do is Do.NOTHING


@pytest.mark.parametrize("detectors", [[{"function": "count"}], [DETECTOR, DETECTOR], [7], 7, None])
def test_other_detectors_are_a_change_that_cannot_be_made(detectors: object) -> None:
    body = {**JOB[0], "analysis_config": {**JOB[0]["analysis_config"], "detectors": detectors}}
    decision = decided("/_ml/anomaly_detectors/j", body, {"count": 1, "jobs": [JOB[1]]}, "before")
    assert decision.reason == "CannotChange"
    assert "cannot change analysis_config of" in decision.message
