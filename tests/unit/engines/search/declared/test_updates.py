"""Objects of which Elasticsearch changes only some fields, or none."""

from dataclasses import replace
from typing import Any

import pytest

from stateward.api.kinds.search_object import Claim, Drift, Existing
from stateward.engines.search.declared.decision import Decision, Do, decide
from stateward.engines.search.declared.desired import Desired, Memory, Observed
from stateward.engines.search.declared.identity import Declared
from stateward.engines.search.declared.kinds import KINDS
from stateward.engines.search.declared.paths import kind_at_path
from stateward.engines.search.declared.preview import preview
from stateward.engines.search.declared.writes import Request

ONE = frozenset({"8.19.4"})
FILTER, JOB, FEED, ANALYTICS = (
    "/_ml/filters/a",
    "/_ml/anomaly_detectors/a",
    "/_ml/datafeeds/a",
    "/_ml/data_frame/analytics/a",
)
TRANSFORM, CALENDAR, INFERENCE = "/_transform/a", "/_ml/calendars/a", "/_inference/a"


def at(path: str, body: dict[str, Any], claim: str = Claim.OWNED, applied: str = "before") -> Desired:
    kind = kind_at_path("ElasticsearchCluster", path)
    assert kind is not None
    return Desired(Declared(kind, path), body, body, "digest", "prod/mine", Memory(claim, applied))


def done(desired: Desired, stored: dict[str, Any] | None) -> Decision:
    return decide(desired, Observed(None if stored is None else {"count": 1, "all": [stored]}, ONE), "now")


def sent(decision: Decision) -> Request:
    assert decision.request is not None, decision
    return decision.request


@pytest.mark.parametrize(
    ("path", "body", "stored", "expected"),
    [
        (
            FILTER,
            {"items": ["b", "c"], "description": "d"},
            {"filter_id": "a", "items": ["a", "b"], "description": "d"},
            {"add_items": ["c"], "remove_items": ["a"]},
        ),
        (FILTER, {"items": ["a"], "description": "new"}, {"items": ["a"]}, {"description": "new"}),
        (
            JOB,
            {
                "description": "new",
                "analysis_config": {"bucket_span": "900s"},
                "analysis_limits": {"model_memory_limit": "11MB"},
            },
            {
                "description": "old",
                "analysis_config": {"bucket_span": "15m"},
                "analysis_limits": {"model_memory_limit": "11mb"},
            },
            {"description": "new"},
        ),
        (FEED, {"job_id": "j", "aggs": {"x": 1}}, {"job_id": "j", "aggregations": {"x": 2}}, {"aggs": {"x": 1}}),
        (
            ANALYTICS,
            {"source": {"index": "i"}, "description": "new"},
            {"source": {"index": ["i"]}},
            {"description": "new"},
        ),
        (
            TRANSFORM,
            {"source": {"index": "i"}, "pivot": {"aggs": {"m": 1}}, "frequency": "2m"},
            {"source": {"index": ["i"]}, "pivot": {"aggregations": {"m": 1}}, "frequency": "60s"},
            {"frequency": "2m"},
        ),
    ],
)
def test_only_what_changes_is_sent_to_the_update(path: str, body: Any, stored: Any, expected: Any) -> None:
    request = sent(done(at(path, body), stored))
    assert (request.method, request.path) == ("POST", f"{path}/_update")
    assert {key: value for key, value in (request.body or {}).items() if key != "_meta"} == expected


@pytest.mark.parametrize(
    ("path", "body", "stored", "field"),
    [
        (TRANSFORM, {"pivot": {"aggs": {"m": 1}}}, {"pivot": {"aggregations": {"m": 2}}}, "pivot"),
        (
            JOB,
            {"analysis_config": {"bucket_span": "1h"}},
            {"analysis_config": {"bucket_span": "15m"}},
            "analysis_config",
        ),
        (CALENDAR, {"job_ids": ["a"]}, {"job_ids": ["b"]}, "job_ids"),
        (INFERENCE, {"service": "x"}, {"service": "y"}, "service"),
    ],
)
@pytest.mark.parametrize("claim", ["", Claim.OWNED])
def test_what_cannot_be_changed_is_said(path: str, body: Any, stored: Any, field: str, claim: str) -> None:
    desired = replace(at(path, body, claim), existing=Existing.ADOPT)
    decision = done(desired, stored)
    assert (decision.do, decision.reason) == (Do.STOP, "CannotChange")
    assert f"cannot change {field} of" in decision.message
    shown = preview(desired, Observed({"count": 1, "all": [stored]}, ONE), "now")
    assert (shown.does, shown.reason) == ("refuse", "CannotChange")


def test_an_enrich_policy_is_created_and_never_changed() -> None:
    kind = KINDS["ElasticsearchCluster"]["enrichPolicy"]
    body = {"match": {"indices": "users", "match_field": "email", "enrich_fields": ["city"]}}
    desired = Desired(
        Declared(kind, "enrichPolicy/a", {"name": "a"}),
        body,
        body,
        "digest",
        "prod/mine",
        Memory(Claim.OWNED, "before"),
    )
    same = {"match": {"name": "a", "indices": ["users"], "match_field": "email", "enrich_fields": ["city"]}}
    other = {"match": {**same["match"], "match_field": "name"}}
    policies = [Observed({"policies": [{"config": config}]}, ONE) for config in (same, other)]
    assert [decide(desired, each, "now").do for each in policies] == [Do.NOTHING, Do.STOP]
    assert sent(decide(desired, Observed(None, ONE), "now")).method == "PUT"


def test_what_is_stored_already_needs_no_write() -> None:
    for path, body in ((CALENDAR, {"job_ids": ["b", "a"]}), (FILTER, {"items": ["b", "a"]})):
        decision = done(at(path, body), {key: sorted(value) for key, value in body.items()})
        assert (decision.do, decision.claim) == (Do.NOTHING, Claim.OWNED)


def test_a_change_by_another_client_is_reported_before_anything_else() -> None:
    desired = replace(at(CALENDAR, {"job_ids": ["a"]}, applied="digest"), drift=Drift.REPORT)
    assert done(desired, {"job_ids": ["b"]}).reason == "Drifted"


def test_a_new_value_of_a_secret_is_sent_or_named() -> None:
    feed = {"job_id": "j", "query": {"a": 1}}
    desired = replace(at(FEED, feed), hidden=("/query/b",), sent={**feed, "query": {"a": 1, "b": "geheim"}})
    assert sent(done(desired, feed)).body == {"query": {"a": 1, "b": "geheim"}}
    inference = replace(at(INFERENCE, {"service": "x"}), hidden=("/service_settings/api_key",))
    assert done(inference, {"service": "x"}).reason == "CannotChange"
    adopted = replace(inference, memory=Memory(Claim.ADOPTING, ""))
    assert done(adopted, {"service": "x"}).do is Do.NOTHING


def test_a_field_that_an_update_keeps_is_not_shown_as_removed() -> None:
    observed = Observed({"count": 1, "all": [{"items": ["a"], "description": "d", "filter_id": "a"}]}, ONE)
    (change,) = preview(at(FILTER, {"items": ["b"]}), observed, "now").changes
    assert (change.path, change.before, change.after) == ("/items", ["a"], ["b"])
