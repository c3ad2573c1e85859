"""Policies, transforms and definitions of machine learning in end-to-end tests, on a real Elasticsearch.

No package registry has the modules with their endpoints. A plug-in of the sandbox gives them endpoints: Elasticsearch's
own classes read, check, change and print the definitions, and nothing runs them. Its parts of text analysis make the
database store roles and users.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from tests.e2e.declared.objects import SearchObjects, applied, stalled
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import Client

PLUGINS = {"plugins": [{"name": "definitions"}], "pluginSource": {"image": "stateward.dev/elasticsearch-plugins:1"}}
_DAY = {"rollover": {"max_age": "24h", "max_primary_shard_size": "50gb"}}
_WEEK = {"rollover": {"max_age": "7d", "max_primary_shard_size": "50gb"}}
_LATER = {
    "warm": {"min_age": "2d", "actions": {"shrink": {"number_of_shards": 1}}},
    "delete": {"actions": {"delete": {}}},
}
_SNAPSHOTS = {
    "schedule": "0 30 1 * * ?",
    "name": "<nightly-{now/d}>",
    "repository": "files",
    "config": {"indices": "orders-*"},
    "retention": {"expire_after": "30d", "min_count": 5},
}
_SUM = {"total": {"sum": {"field": "price"}}}
_PIVOT = {"group_by": {"customer": {"terms": {"field": "customer"}}}, "aggs": _SUM}
_TRANSFORM: dict[str, Any] = {
    "source": {"index": "orders"},
    "dest": {"index": "totals"},
    "sync": {"time": {"field": "@timestamp", "delay": "60s"}},
    "pivot": {**_PIVOT, "max_page_search_size": 200},
}
_DETECTOR = {"function": "mean", "field_name": "price"}
_ANALYSIS = {"bucket_span": "900s", "detectors": [_DETECTOR], "model_prune_window": "30d"}
_CHANGED_DETECTOR = {**_DETECTOR, "detector_description": "edited"}
_CHANGED_ANALYSIS = {**_ANALYSIS, "detectors": [_CHANGED_DETECTOR], "model_prune_window": "40d"}
_JOB: dict[str, Any] = {
    "analysis_config": _ANALYSIS,
    "data_description": {"time_field": "@timestamp"},
    "results_index_name": "prices",
}
_FEED: dict[str, Any] = {"job_id": "prices", "indices": "orders", "query": {"term": {"shop": "a"}}}
_ANALYTICS: dict[str, Any] = {
    "source": {"index": "orders"},
    "dest": {"index": "outliers"},
    "analysis": {"outlier_detection": {}},
    "analyzed_fields": ["price"],
}
_USERS = {"match": {"indices": "users", "match_field": "email", "enrich_fields": ["name"]}}


@dataclass(frozen=True)
class Definition:
    """One definition: before and after an edit, and what another client does to it."""

    what: str
    path: str
    inner: tuple[str | int, ...]
    """The keys that lead to it in an answer."""
    body: dict[str, Any]
    edited: dict[str, Any]
    expected: dict[str, Any]
    """The fields that tell that the edit is in the database."""
    disturbed: tuple[str, str, dict[str, Any] | None]
    """Method, end of the path and body of another client's request."""

    async def has(self, person: Client) -> bool:
        """Return whether the database has what the edit declares."""
        status, answer = await person.ask(self.path)
        if status != 200:
            return False
        for key in self.inner:
            answer = answer[key]
        return {key: answer[key] for key in self.expected} == self.expected


DEFINITIONS = {
    "lifecycle": Definition(
        "ilmPolicy/week",
        "_ilm/policy/week",
        ("week", "policy", "phases", "hot"),
        {"policy": {"phases": {"hot": {"actions": _DAY}, **_LATER}}},
        {"policy": {"phases": {"hot": {"actions": _WEEK}, **_LATER}}},
        {"actions": _WEEK, "min_age": "0ms"},
        ("PUT", "", {"policy": {"phases": {"hot": {"actions": _DAY}}}}),
    ),
    "nightly": Definition(
        "snapshotPolicy/nightly",
        "_slm/policy/nightly",
        ("nightly", "policy"),
        _SNAPSHOTS,
        {**_SNAPSHOTS, "schedule": "0 30 2 * * ?"},
        {"schedule": "0 30 2 * * ?"},
        ("DELETE", "", None),
    ),
    "totals": Definition(
        "/_transform/totals",
        "_transform/totals",
        ("transforms", 0),
        _TRANSFORM,
        {**_TRANSFORM, "pivot": {**_PIVOT, "max_page_search_size": 300}, "frequency": "120s", "description": "edited"},
        {"settings": {"max_page_search_size": 300}, "frequency": "120s", "description": "edited"},
        ("POST", "/_update", {"description": "by another", "frequency": "3m"}),
    ),
    "safe": Definition(
        "/_ml/filters/safe",
        "_ml/filters/safe",
        ("filters", 0),
        {"items": ["b.com", "a.com"]},
        {"items": ["c.com", "b.com"], "description": "edited"},
        {"items": ["b.com", "c.com"], "description": "edited"},
        ("POST", "/_update", {"add_items": ["d.com"], "remove_items": ["b.com"]}),
    ),
    "prices": Definition(
        "/_ml/anomaly_detectors/prices",
        "_ml/anomaly_detectors/prices",
        ("jobs", 0),
        _JOB,
        {**_JOB, "analysis_config": _CHANGED_ANALYSIS, "groups": ["b", "a"]},
        {
            "analysis_config": {
                **_CHANGED_ANALYSIS,
                "detectors": [{**_CHANGED_DETECTOR, "detector_index": 0}],
                "influencers": [],
            },
            "groups": ["b", "a"],
            "results_index_name": "custom-prices",
        },
        ("POST", "/_update", {"model_prune_window": "50d", "groups": ["c"]}),
    ),
    "feed": Definition(
        "/_ml/datafeeds/feed",
        "_ml/datafeeds/feed",
        ("datafeeds", 0),
        _FEED,
        {**_FEED, "frequency": "150s", "scroll_size": 500},
        {"frequency": "150s", "scroll_size": 500},
        ("POST", "/_update", {"scroll_size": 700}),
    ),
    "outliers": Definition(
        "/_ml/data_frame/analytics/outliers",
        "_ml/data_frame/analytics/outliers",
        ("data_frame_analytics", 0),
        _ANALYTICS,
        {**_ANALYTICS, "model_memory_limit": "1536mb"},
        {"model_memory_limit": "1536mb"},
        ("POST", "/_update", {"model_memory_limit": "3gb"}),
    ),
    "users": Definition(
        "enrichPolicy/users",
        "_enrich/policy/users",
        ("policies", 0, "config", "match"),
        _USERS,
        _USERS,
        {"indices": ["users"]},
        ("DELETE", "", None),
    ),
}


async def definitions_change(objects: SearchObjects, person: Client, operator: OperatorPods) -> None:
    """Require that definitions are created, edited by the requests that Elasticsearch has, corrected and deleted."""
    for name, each in DEFINITIONS.items():
        await objects.declare(name, each.what, each.body)
    for name in DEFINITIONS:
        await objects.until(name, applied)
    for name, each in DEFINITIONS.items():
        await objects.declare(name, each.what, each.edited)
    for name, each in DEFINITIONS.items():
        await objects.until(name, applied)
        assert await each.has(person), (name, await person.ask(each.path))
    await something_cannot_be_changed(objects)

    for each in DEFINITIONS.values():
        method, end, body = each.disturbed
        assert (await person.ask(each.path + end, method, body))[0] == 200
    await operator.kill()  # The next one compares everything at its start.
    async with asyncio.timeout(120):
        for each in DEFINITIONS.values():
            while not await each.has(person):
                await asyncio.sleep(0.5)
    for name in DEFINITIONS:
        await objects.until(name, applied)

    for name, each in DEFINITIONS.items():
        await objects.delete(name)
        assert (await person.ask(each.path))[0] == 404


async def something_cannot_be_changed(objects: SearchObjects) -> None:
    """Require that an edit that no request can make is told, and can be taken back."""
    each = DEFINITIONS["totals"]
    pivot = {**_PIVOT, "aggs": {"total": {"max": {"field": "price"}}}}
    await objects.declare("totals", each.what, {**each.edited, "pivot": pivot})
    found = await objects.until("totals", stalled("CannotChange"))
    assert "cannot change pivot of" in found.status.activity
    await objects.declare("totals", each.what, each.edited)
    await objects.until("totals", applied)
