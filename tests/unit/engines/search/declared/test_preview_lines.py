"""The lines of a preview: also what a write would remove."""

from dataclasses import replace
from typing import Any

import pytest

from stateward.api.kinds.search_object import Claim, Existing
from stateward.engines.search.declared.desired import Desired, Memory, Observed
from stateward.engines.search.declared.identity import Declared
from stateward.engines.search.declared.kinds import KINDS
from stateward.engines.search.declared.paths import kind_at_path
from stateward.engines.search.declared.preview import ObjectPreview, preview

ONE = frozenset({"2.19.3"})
Lines = list[tuple[str, Any, Any]]


def desired(kind: str, body: dict[str, Any], product: str = "OpenSearchCluster", claim: str = Claim.OWNED) -> Desired:
    what = Declared(KINDS[product][kind], f"{kind}/a", {"name": "a", "index": "i"})
    return Desired(what, body, body, "digest", "prod/mine", Memory(claim, "before"))


def lines(found: ObjectPreview) -> Lines:
    return [(change.path, change.before, change.after) for change in found.changes]


def template(body: dict[str, Any]) -> Observed:
    return Observed({"index_templates": [{"name": "a", "index_template": body}]}, ONE)


STORED = {
    "index_patterns": ["a-*"],
    "priority": 3,
    "composed_of": [],
    "_meta": {"stateward.dev/search-object": "prod/mine"},
    "template": {"settings": {"index": {"codec": "best"}}, "mappings": {"properties": {}}, "aliases": {"x": {"r": 1}}},
}
WANTED = {"index_patterns": ["a-*"], "template": {"settings": {"number_of_shards": 1}}}
REMOVED: Lines = [
    ("/template/settings/index.number_of_shards", None, 1),
    ("/template/settings/index.codec", "best", None),
    ("/template/mappings", {"properties": {}}, None),
    ("/template/aliases", {"x": {"r": 1}}, None),
    ("/priority", 3, None),
]


@pytest.mark.parametrize("claim", ["", Claim.OWNED])
def test_what_a_write_drops_is_shown(claim: str) -> None:
    of = replace(desired("indexTemplate", WANTED, claim=claim), existing=Existing.ADOPT)
    assert lines(preview(of, template(STORED), "now")) == REMOVED


@pytest.mark.parametrize("claim", ["", Claim.MERGED])
def test_what_a_merge_keeps_is_not_shown(claim: str) -> None:
    of = replace(desired("indexTemplate", WANTED, claim=claim), existing=Existing.MERGE)
    assert lines(preview(of, template(STORED), "now")) == REMOVED[:1]


def test_rights_that_a_role_loses_are_shown() -> None:
    rights = {"index_patterns": ["a"], "allowed_actions": ["read"], "dls": None, "masked_fields": ["m"]}
    stored = {"reserved": False, "cluster_permissions": ["x"], "index_permissions": [rights], "tenant_permissions": []}
    wanted = {"index_permissions": [{"index_patterns": ["a"], "allowed_actions": ["read"]}]}
    found = preview(desired("role", wanted), Observed({"a": stored}, ONE), "now")
    assert lines(found) == [("/index_permissions/0/masked_fields", ["m"], None), ("/cluster_permissions", ["x"], None)]


def test_lists_of_another_length_are_shown_whole() -> None:
    stored = {"processors": [{"set": {"field": "a"}}, {"set": {"field": "b"}}]}
    wanted = {"processors": [{"set": {"field": "b"}}]}
    found = preview(desired("ingestPipeline", wanted), Observed({"a": stored}, ONE), "now")
    assert lines(found) == [("/processors", stored["processors"], wanted["processors"])]


def test_a_setting_that_gets_its_default_back_is_shown() -> None:
    of = desired("clusterSettings", {"search.max_buckets": 5})
    of = replace(of, memory=replace(of.memory, settings=frozenset({"search.max_buckets", "search.slow"})))
    settings = {"search.max_buckets": "5", "search.slow": "1", "search.others": "2"}
    found = preview(of, Observed({"persistent": settings, "transient": {}}, ONE), "now")
    assert lines(found) == [("/search.slow", "1", None)]


def test_defaults_that_the_database_writes_are_not_shown_as_removed() -> None:
    action = {"retry": {"count": 3, "backoff": "exponential", "delay": "1m"}, "delete": {}}
    stored = {"policy": {"states": [{"name": "a", "actions": [action], "transitions": []}], "schema_version": 21}}
    wanted = {"policy": {"description": "d", "states": [{"name": "a", "actions": [{"delete": {}}]}]}}
    found = preview(desired("ismPolicy", wanted), Observed({"_seq_no": 1, **stored}, ONE), "now")
    assert lines(found) == [("/policy/description", None, "d")]


def test_an_object_at_a_path_is_found_though_the_edit_has_another_key() -> None:
    kind = kind_at_path("ElasticsearchCluster", "/_query_rules/a")
    assert kind is not None
    what = Declared(kind, "/_query_rules/a")
    body = {"rules": [{"rule_id": "1"}], "more": 1}
    of = Desired(what, body, body, "digest", "prod/mine", Memory(Claim.OWNED, "before"))
    answer = {"count": 1, "sets": [{"rules": [{"rule_id": "1"}], "gone": 2}]}
    assert lines(preview(of, Observed(answer, ONE), "now")) == [("/more", None, 1), ("/gone", 2, None)]
