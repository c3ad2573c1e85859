"""Pod templates merge as Kubernetes merges them."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.api.values.base import Json
from stateward.engines.pods.merge import compose, merge

BASE: Json = {
    "metadata": {"labels": {"a": "1"}},
    "spec": {
        "containers": [
            {"name": "main", "image": "m:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "side", "image": "s:1"},
        ],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "tolerations": [{"key": "x"}],
        "nodeSelector": {"disk": "ssd"},
    },
}


@pytest.mark.parametrize(
    ("patch", "path", "expected"),
    [
        ({"metadata": {"labels": {"b": "2"}}}, ["metadata", "labels"], {"a": "1", "b": "2"}),
        ({"spec": {"nodeSelector": {"disk": None}}}, ["spec", "nodeSelector"], {}),
        ({"spec": {"nodeSelector": {"$patch": "replace", "zone": "a"}}}, ["spec", "nodeSelector"], {"zone": "a"}),
        ({"spec": {"tolerations": [{"key": "y"}]}}, ["spec", "tolerations"], [{"key": "y"}]),
        (
            {"spec": {"volumes": [{"name": "more", "emptyDir": {}}]}},
            ["spec", "volumes"],
            [{"name": "data", "emptyDir": {}}, {"name": "more", "emptyDir": {}}],
        ),
        (
            {"spec": {"containers": [{"name": "side", "$patch": "delete"}, {"name": "new", "image": "n"}]}},
            ["spec", "containers"],
            [BASE["spec"]["containers"][0], {"name": "new", "image": "n"}],
        ),
        (
            {"spec": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "o"}]}},
            ["spec", "containers"],
            [{"name": "only", "image": "o"}],
        ),
    ],
)
def test_one_patch(patch: Json, path: list[str], expected: object) -> None:
    result: Any = merge(BASE, patch)
    for part in path:
        result = result[part]
    assert result == expected


def test_a_container_is_found_by_name_and_its_variables_too() -> None:
    patch = {
        "spec": {"containers": [{"name": "main", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]}]}
    }
    main = merge(BASE, patch)["spec"]["containers"][0]
    assert main["image"] == "m:1"
    assert [(e["name"], e["value"]) for e in main["env"]] == [("A", "1"), ("B", "3"), ("C", "4")]


def test_ports_differ_by_number_and_protocol() -> None:
    base = {"ports": [{"containerPort": 53, "name": "tcp"}]}
    patch = {
        "ports": [{"containerPort": 53, "protocol": "UDP", "name": "udp"}, {"containerPort": 53, "protocol": "TCP"}]
    }
    assert merge(base, patch)["ports"] == [
        {"containerPort": 53, "name": "tcp", "protocol": "TCP"},
        {"containerPort": 53, "protocol": "UDP", "name": "udp"},
    ]


def test_mounts_are_found_by_path() -> None:
    base = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    patch = {"volumeMounts": [{"name": "other", "mountPath": "/data"}]}
    assert merge(base, patch)["volumeMounts"] == [{"name": "other", "mountPath": "/data"}]


@pytest.mark.parametrize("before", [[None], [1, {"name": "a"}], ["x"]])
@pytest.mark.parametrize("after", [[], [{"name": "b"}]])
def test_a_list_with_items_that_are_no_objects_is_replaced_and_ends_no_round(before: Any, after: Any) -> None:
    first, second = {"spec": {"ports": before}}, {"spec": {"ports": after}}
    assert merge(merge(BASE, first), second)["spec"]["ports"] == after
    assert merge(BASE, compose(first, second))["spec"]["ports"] == after


def test_nothing_that_was_given_is_changed() -> None:
    before = copy.deepcopy(BASE)
    merge(BASE, {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "$patch": "delete"}]}]}})
    assert before == BASE


SCALARS = st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["x", "y"]))
NAMES = st.sampled_from(["a", "b", "c"])


def items(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[list[Json]]:
    """Lists with a merge key: each name once, some of them deletions."""
    entry = st.tuples(NAMES, inner, st.sampled_from([None, None, "delete"]))
    return st.lists(entry, max_size=3, unique_by=lambda e: e[0]).map(
        lambda entries: [
            {"name": name, "$patch": directive} if directive else {**body, "name": name}
            for name, body, directive in entries
        ]
    )


def patches(*, directives: bool = True) -> st.SearchStrategy[Json]:
    leaf: st.SearchStrategy[Json] = st.dictionaries(NAMES, SCALARS, max_size=2)
    nested: st.SearchStrategy[Json] = st.dictionaries(NAMES, st.one_of(SCALARS, leaf), max_size=3)
    keyed = st.fixed_dictionaries({}, optional={"containers": items(leaf), "env": items(leaf), "spec": nested})
    both = st.builds(joined, nested, keyed)
    return st.one_of(both, both.map(replacing_object), both.map(replacing_list)) if directives else both


def joined(one: Json, two: Json) -> Json:
    return {**one, **two}


def replacing_object(body: Json) -> Json:
    return {**body, "spec": {"$patch": "replace", **leaf_without_nulls(body)}}


def replacing_list(body: Json) -> Json:
    return {**body, "containers": [{"$patch": "replace"}, *plain_items(body)]}


def leaf_without_nulls(body: Json) -> Json:
    return {key: value for key, value in body.items() if isinstance(value, int | str)}


def plain_items(body: Json) -> list[Json]:
    return [item for item in body.get("containers", []) if "$patch" not in item]


BASES = patches(directives=False).map(lambda patch: merge({}, patch))


def normal(value: Any) -> Any:
    """Lists with keys compare without order: a deleted and re-added item may come back at another place."""
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
        return sorted((normal(item) for item in value), key=lambda item: item["name"])
    return value


@settings(deadline=None)
@given(BASES, patches())
def test_merging_twice_is_merging_once(base: Json, patch: Json) -> None:
    once = merge(base, patch)
    assert normal(merge(once, patch)) == normal(once)


@settings(deadline=None)
@given(BASES, patches(), patches())
def test_a_composed_patch_does_what_both_do_in_turn(base: Json, first: Json, second: Json) -> None:
    assert normal(merge(base, compose(first, second))) == normal(merge(merge(base, first), second))


@settings(deadline=None)
@given(BASES)
def test_an_empty_patch_changes_nothing(base: Json) -> None:
    assert merge(base, {}) == base
    assert merge({}, base) == base


@settings(deadline=None)
@given(patches())
def test_what_is_merged_holds_no_directives(patch: Json) -> None:
    assert "$patch" not in str(merge(BASE, patch))


@pytest.mark.parametrize("key", [{}, [], {"a": [1]}, 1.5, None])
def test_a_key_that_is_no_name_is_left_for_the_api_server_to_refuse(key: object) -> None:
    patch = {"spec": {"containers": [{"name": "main", "volumeMounts": [{"mountPath": key}], "ports": [{}]}]}}
    merged: Any = merge(BASE, patch)
    assert merged["spec"]["containers"][0]["volumeMounts"] == [{"mountPath": key} if key is not None else {}]
    assert compose(patch, patch) == patch
