"""Which object a resource means, and what it may not mean."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search_object import SearchObject, SearchObjectSpec
from stateward.api.schema.structure import check_structure
from stateward.engines.search.declared.identity import UnclearError, declared, identities, problems
from stateward.engines.search.declared.paths import PATHS, kind_at_path

ROOT = Path(__file__).parents[5]


def spec(**fields: Any) -> SearchObjectSpec:
    cluster = {"kind": fields.pop("kind", "OpenSearchCluster"), "name": "logs"}
    return msgspec.convert({"cluster": cluster, **fields}, SearchObjectSpec)


def shape_problems(**fields: Any) -> list[str]:
    """Return what the schema refuses before anything else looks at it."""
    body = {"metadata": {"name": "x"}, "spec": {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}, **fields}}
    return [problem.path for problem in check_structure(body, SearchObject)]


def said(**fields: Any) -> list[str]:
    return [str(problem) for problem in problems(spec(**fields))]


def test_an_object_has_a_path_by_its_kind() -> None:
    what = declared(spec(object="indexTemplate/logs"))
    assert what.filled(what.kind.path) == "/_index_template/logs"


def test_an_alias_is_named_with_its_index() -> None:
    what = declared(spec(object="alias/logs-000001/logs"))
    assert what.filled(what.kind.path) == "/logs-000001/_alias/logs"


def test_a_kind_belongs_to_its_product() -> None:
    assert not said(object="ilmPolicy/keep", kind="ElasticsearchCluster", body={"policy": {}})
    (problem,) = said(object="ilmPolicy/keep")
    assert "OpenSearchCluster has no such kind; known are actionGroup, alias" in problem


@pytest.mark.parametrize("text", ["indexTemplate", "indexTemplate/a/b", "alias/logs", "clusterSettings/x"])
def test_a_name_has_as_many_parts_as_its_kind_needs(text: str) -> None:
    (problem,) = said(object=text, body={"a.b": 1})
    assert "must be" in problem


@pytest.mark.parametrize(
    "text",
    [
        "role/../internalusers/admin",
        "role/a%2Fb",
        "role/a?x=1",
        "role/_all",
        "role/*",
        "alias/.security/x",
        "role/a/../b",
    ],
)
def test_names_cannot_leave_their_place_in_the_path(text: str) -> None:
    assert "spec.object" in shape_problems(object=text)


@pytest.mark.parametrize(
    "path",
    [
        "/_plugins/_security/api/internalusers/me",
        "/_plugins/_security/api/securityconfig/config",
        "/_cluster/voting_config_exclusions/x",
        "/_snapshot/store/one",
        "/_all/_close",
        "/logs/_doc/1",
        "/_ltr/_featureset/",
        "/_ltr/_featureset/a/b",
        "/_nodes/n1/shutdown",
    ],
)
def test_a_path_leads_to_definitions_only(path: str) -> None:
    assert shape_problems(path=path) or said(path=path), path


def test_a_path_of_a_kind_is_declared_by_that_kind() -> None:
    (problem,) = said(path="/_plugins/_security/api/roles/reader")
    assert "use spec.object: role/reader" in problem


def test_a_path_of_the_list_is_accepted() -> None:
    assert not said(path="/_ltr/_featureset/shop", body={"featureset": {}})
    assert not said(path="/_ml/filters/safe", kind="ElasticsearchCluster", body={"items": []})


def test_the_paths_that_are_given_as_examples_are_accepted() -> None:
    reference = (ROOT / "docs/reference/searchobject.md").read_text()
    guide = (ROOT / "docs/search-objects.md").read_text()
    crd = (ROOT / "charts/stateward/files/crds/stateward.dev_searchobjects.yaml").read_text()
    for text in (reference, guide, crd):
        examples = set(re.findall(r"example[^/]{1,3}(/_[-a-z_/]+)", text))
        assert examples
        for path in examples:
            assert any(kind_at_path(product, path) for product in PATHS), path


@pytest.mark.parametrize("fields", [{}, {"object": "role/a", "path": "/_ltr/_featureset/a"}])
def test_either_an_object_or_a_path_is_given(fields: dict[str, str]) -> None:
    with pytest.raises(UnclearError):
        declared(spec(**fields))


@pytest.mark.parametrize(
    "name", ["stateward-operator", "stateward-probe", "stateward_probe", "stateward-metrics", "stateward-metrics-1"]
)
@pytest.mark.parametrize("kind", ["role", "roleMapping"])
def test_the_rights_of_the_operator_cannot_be_declared(kind: str, name: str) -> None:
    assert said(object=f"{kind}/{name}")


@pytest.mark.parametrize(
    "body",
    [
        {"cluster.routing.allocation.enable": "none"},
        {"cluster": {"routing": {"rebalance": {"enable": "none"}}}},
        {"persistent": {"cluster.metadata.stateward.limit": "x"}},
        {"persistent": {"cluster.routing.allocation.exclude._name": "a"}},
        {"xpack.security.enabled": False},
        {"cluster.*": None},
        {"*": None},
        {"cluster.routing": {}},
        {"cluster": {"routing": {"*": None}}},
        {"transient": {"search.max_buckets": 1}},
        {},
    ],
)
def test_settings_that_stateward_needs_cannot_be_declared(body: dict[str, Any]) -> None:
    assert said(object="clusterSettings", body=body)


@pytest.mark.parametrize(
    "path", ["/cluster.routing.allocation.enable", "/cluster/routing/rebalance/enable", "/cluster.*", "/transient/a"]
)
def test_a_value_of_a_secret_brings_no_other_setting_in(path: str) -> None:
    value = {"secretName": "keys", "key": "k", "path": path}
    assert said(object="clusterSettings", body={"search.max_buckets": 1}, values=[value])


def test_settings_of_shard_allocation_that_stateward_leaves_alone_can_be_declared() -> None:
    body = {
        "cluster.routing.allocation.disk.watermark.low": "80%",
        "cluster.routing.allocation.awareness.attributes": "z",
    }
    assert not said(object="clusterSettings", body=body)


@pytest.mark.parametrize("key", ["indices", "index", "aliases", "alias", "must_exist"])
def test_an_alias_concerns_the_index_that_it_names(key: str) -> None:
    assert said(object="alias/logs-1/logs", body={key: [".security"]})
    value = {"secretName": "keys", "key": "k", "path": f"/{key}"}
    assert said(object="alias/logs-1/logs", body={}, values=[value])
    assert not said(object="alias/logs-1/logs", body={"filter": {"term": {"a": 1}}, "is_write_index": True})


def test_only_roles_and_mappings_of_the_operator_are_its_own() -> None:
    assert not said(object="indexTemplate/stateward-operator")


def test_each_setting_is_claimed_by_itself() -> None:
    found = identities(spec(object="clusterSettings", body={"search": {"max_buckets": 1}, "a.b": 2}))
    assert found == {"clusterSettings/search.max_buckets", "clusterSettings/a.b"}
    nested = {"persistent": {"search": {"max_buckets": 1}}}
    assert identities(spec(object="clusterSettings", body=nested)) == {"clusterSettings/search.max_buckets"}
    value = {"secretName": "keys", "key": "k", "path": "/c.d"}
    with_value = spec(object="clusterSettings", body={"a.b": 1}, values=[value])
    assert identities(with_value) == {"clusterSettings/a.b", "clusterSettings/c.d"}


def test_merging_needs_that_the_object_is_retained() -> None:
    assert said(object="indexTemplate/logs", existing="Merge")
    assert not said(object="indexTemplate/logs", existing="Merge", deletionPolicy="Retain")


def test_only_policies_of_index_state_management_apply_to_existing_indices() -> None:
    assert said(object="indexTemplate/logs", applyToExisting=True)
    assert not said(object="ismPolicy/keep", applyToExisting=True)


def test_a_value_needs_a_place_in_the_body() -> None:
    value = {"secretName": "keys", "key": "k", "path": "/type/inner"}
    (problem,) = said(object="snapshotRepository/s", body={"type": "fs"}, values=[value])
    assert "spec.values[0].path" in problem
    again = {**value, "path": "/settings/a"}
    assert said(object="snapshotRepository/s", body={}, values=[again, again])
