"""How stored and declared bodies compare: in the forms of databases, and exactly where rights are concerned."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.kinds.search_object import SearchObjectSpec
from stateward.engines.search.declared.comparison import contains, deviation, merged, normal, stored_body
from stateward.engines.search.declared.identity import Declared, declared

TEXTS = st.text("abc", max_size=3)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), TEXTS)
BODIES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))


def what(text: str, kind: str = "OpenSearchCluster") -> Declared:
    cluster = {"kind": kind, "name": "logs"}
    return declared(msgspec.convert({"cluster": cluster, "object": text}, SearchObjectSpec))


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ({"a": "1", "b": "true"}, {"a": 1, "b": True}),
        ({"a": 1.5}, {"a": "1.5"}),
        ({"a": 1, "more": 2}, {"a": 1.0}),
        ({"patterns": ["logs-*"]}, {"patterns": "logs-*"}),
        ({}, {"a": [], "b": {}, "c": None}),
        ({"a": [{"b": 1, "default": 0}]}, {"a": [{"b": 1}]}),
    ],
)
def test_a_stored_object_agrees_in_the_forms_of_databases(stored: Any, wanted: Any) -> None:
    assert contains(stored, wanted) is None


@pytest.mark.parametrize(
    ("stored", "wanted", "place"),
    [
        ({"a": 2}, {"a": 1}, "/a"),
        ({}, {"a": 1}, "/a"),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [2, 1]}}, "/a/b/0"),
        ({"a": [1]}, {"a": [1, 2]}, "/a"),
        ({"a": "x"}, {"a": {"b": 1}}, "/a"),
        ([], {"a": 1}, "/"),
        ([1], [1, 2], "/"),
        (1, 2, "/"),
    ],
)
def test_the_place_of_a_deviation_is_named(stored: Any, wanted: Any, place: str) -> None:
    assert contains(stored, wanted) == place


@given(BODIES)
def test_each_body_agrees_with_itself(body: Any) -> None:
    assert contains(body, body) is None


@given(st.dictionaries(TEXTS, BODIES), st.dictionaries(TEXTS, BODIES))
def test_a_merged_body_has_all_that_is_declared_and_keeps_other_fields(stored: Any, wanted: Any) -> None:
    both: Any = merged(stored, wanted)
    assert contains(both, wanted) is None
    assert all(both[key] == stored[key] for key in stored.keys() - wanted.keys())


@pytest.mark.parametrize(
    "settings",
    [
        {"number_of_shards": 3},
        {"index": {"number_of_shards": "3"}},
        {"index.number_of_shards": 3},
    ],
)
def test_settings_of_templates_agree_nested_dotted_and_without_their_prefix(settings: Any) -> None:
    template = what("indexTemplate/logs")
    stored = normal(template, {"template": {"settings": {"index": {"number_of_shards": "3"}}}})
    assert deviation(template, stored, normal(template, {"template": {"settings": settings}})) is None


def test_a_role_has_no_right_that_is_not_declared() -> None:
    role = what("role/reader")
    wanted = normal(role, {"cluster_permissions": ["b", "a"]})
    same = {"reserved": False, "hidden": False, "cluster_permissions": ["a", "b"], "index_permissions": []}
    more = {**same, "index_permissions": [{"index_patterns": ["*"], "allowed_actions": ["*"]}]}
    assert deviation(role, normal(role, same), wanted) is None
    assert deviation(role, normal(role, more), wanted) == "/index_permissions"
    less = {**same, "cluster_permissions": ["a"]}
    assert deviation(role, normal(role, less), wanted) == "/cluster_permissions"
    none = {key: value for key, value in same.items() if key != "cluster_permissions"}
    assert deviation(role, normal(role, none), wanted) == "/cluster_permissions"


ES = "ElasticsearchCluster"


@pytest.mark.parametrize(
    ("text", "kind", "wanted", "stored"),
    [
        (
            "role/r",
            ES,
            {"indices": [{"names": "logs-*", "privileges": ["read"], "query": {"term": {"a": 1}}}]},
            {
                "cluster": [],
                "indices": [
                    {
                        "names": ["logs-*"],
                        "privileges": ["read"],
                        "query": '{"term":{"a":1}}',
                        "allow_restricted_indices": False,
                    }
                ],
                "remote_indices": [],
                "applications": [],
                "run_as": [],
                "metadata": {},
                "transient_metadata": {"enabled": True},
            },
        ),
        (
            "role/r",
            ES,
            {"remote_indices": [{"clusters": ["a"], "names": ["b"], "privileges": ["read"]}]},
            {
                "remote_indices": [
                    {"clusters": ["a"], "names": ["b"], "privileges": ["read"], "allow_restricted_indices": False}
                ]
            },
        ),
        (
            "roleMapping/m",
            ES,
            {"role_templates": [{"template": {"source": "{{username}}"}}], "rules": {"field": {"username": "*"}}},
            {
                "enabled": True,
                "role_templates": [{"template": '{"source":"{{username}}"}', "format": "string"}],
                "rules": {"field": {"username": "*"}},
                "metadata": {},
            },
        ),
        (
            "storedScript/s",
            ES,
            {"script": {"lang": "mustache", "source": {"query": {"match_all": {}}}}},
            {"script": {"lang": "mustache", "source": '{"query":{"match_all":{}}}', "options": {}}},
        ),
        ("alias/i/a", ES, {"routing": "1"}, {"index_routing": "1", "search_routing": "1"}),
        ("alias/i/a", ES, {"routing": "1", "search_routing": "2"}, {"index_routing": "1", "search_routing": "2"}),
    ],
)
def test_what_a_database_adds_and_rewrites_is_no_difference(text: str, kind: str, wanted: Any, stored: Any) -> None:
    of = what(text, kind)
    assert deviation(of, normal(of, stored), normal(of, wanted)) is None


RETRY: dict[str, Any] = {"count": 3, "backoff": "exponential", "delay": "1m"}


def policy(retry: dict[str, Any] | None) -> dict[str, Any]:
    """Return a policy with one action, which is tried again if it fails."""
    action: dict[str, Any] = {"delete": {}} if retry is None else {"delete": {}, "retry": retry}
    return {"policy": {"states": [{"name": "old", "actions": [action]}]}}


@pytest.mark.parametrize(
    ("wanted", "stored", "place"),
    [
        (None, RETRY, None),
        ({}, RETRY, None),
        ({"count": 3}, RETRY, None),
        (RETRY, RETRY, None),
        # The database leaves it out.
        (RETRY, None, None),
        ({"delay": "1m"}, None, None),
        ({"count": 5}, None, "/retry"),
        # Another client has changed it.
        (None, {**RETRY, "count": 5}, None),
        ({"delay": "1m"}, {**RETRY, "count": 5}, None),
        ({"count": 3}, {**RETRY, "count": 5}, "/retry/count"),
        (RETRY, {**RETRY, "count": 5}, "/retry/count"),
        ({"count": 5}, RETRY, "/retry/count"),
    ],
)
def test_a_declared_default_is_declared(wanted: Any, stored: Any, place: str | None) -> None:
    """The disaster this prevents: another client changes a value that is declared, and it counts as left out."""
    of = what("ismPolicy/keep")
    found = deviation(of, normal(of, policy(stored)), normal(of, policy(wanted)))
    assert found == (None if place is None else f"/policy/states/0/actions/0{place}")


def test_another_value_than_the_default_is_a_difference() -> None:
    role = what("role/r", ES)
    wanted = {"indices": [{"names": ["a"], "privileges": ["read"]}]}
    stored = {"indices": [{"names": ["a"], "privileges": ["read"], "allow_restricted_indices": True}]}
    place = "/indices/0/allow_restricted_indices"
    assert deviation(role, normal(role, stored), normal(role, wanted)) == place
    assert deviation(role, normal(role, wanted), normal(role, stored)) == place
    other = {"indices": [{"names": ["a"], "privileges": ["read"], "query": '{"term":{"a":2}}'}]}
    assert deviation(role, normal(role, other), normal(role, wanted)) == "/indices/0/query"
    assert deviation(role, normal(role, {"indices": [{"query": "no JSON"}]}), normal(role, wanted)) is not None


@pytest.mark.parametrize(
    ("text", "kind", "answer", "body"),
    [
        ("indexTemplate/a", "OpenSearchCluster", {"index_templates": [{"index_template": {"x": 1}}]}, {"x": 1}),
        ("ismPolicy/a", "OpenSearchCluster", {"_seq_no": 3, "policy": {"x": 1}}, {"policy": {"x": 1}}),
        ("ilmPolicy/a", "ElasticsearchCluster", {"a": {"version": 3, "policy": {"x": 1}}}, {"policy": {"x": 1}}),
        ("alias/i/a", "OpenSearchCluster", {"i": {"aliases": {"a": {"x": 1}}}}, {"x": 1}),
        ("storedScript/a", "OpenSearchCluster", {"found": True, "script": {"x": 1}}, {"script": {"x": 1}}),
        ("enrichPolicy/a", "ElasticsearchCluster", {"policies": [{"config": {"x": 1}}]}, {"x": 1}),
        ("ingestPipeline/a", "OpenSearchCluster", {}, None),
        ("audit", "OpenSearchCluster", {"_readonly": [], "config": {"x": 1}}, {"x": 1}),
        ("authentication", "OpenSearchCluster", {"config": {"dynamic": {}}}, {"dynamic": {}}),
    ],
)
def test_the_object_is_found_in_the_answer(text: str, kind: str, answer: Any, body: Any) -> None:
    assert stored_body(what(text, kind), answer, {}) == body


def test_in_an_answer_of_an_unknown_form_the_object_is_what_has_all_declared_keys() -> None:
    cluster = {"kind": "ElasticsearchCluster", "name": "logs"}
    spec = msgspec.convert({"cluster": cluster, "path": "/_ml/filters/safe"}, SearchObjectSpec)
    answer: dict[str, Any] = {"count": 1, "filters": [{"filter_id": "safe", "items": ["a"], "description": "d"}]}
    assert stored_body(declared(spec), answer, {"items": ["a"]}) == answer["filters"][0]
    assert stored_body(declared(spec), answer, dict.fromkeys(answer["filters"][0])) == answer["filters"][0]
    assert stored_body(declared(spec), answer, {"unknown": 1}) == answer
