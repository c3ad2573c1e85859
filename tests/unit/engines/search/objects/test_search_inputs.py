"""A member's inputs: what changes them, and what must not."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values.base import Json
from stateward.engines import opensearch
from stateward.engines.search.objects.inputs import inputs
from stateward.engines.search.spec.pools import find
from stateward.planning.model.observation import Inputs
from tests.unit.engines.search_clusters import SPEC, cluster, with_pool


def of(spec: Json | OpenSearchCluster, pool: str = "hot", version: str = "2.19.5") -> Inputs:
    made = spec if isinstance(spec, OpenSearchCluster) else cluster(spec)
    return inputs(find(opensearch.OPENSEARCH, made, pool), version)


def changed(before: Inputs, after: Inputs) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_only_what_was_requested_is_an_input() -> None:
    assert of(SPEC).keys() == {"version", "roles", "storage/holds", "resources"}
    assert of({"version": "2.19.5", "pools": [{"name": "all", "replicas": 3}]}, "all").keys() == {"version"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {**SPEC, "config": {"indices.query.bool.max_clause_count": 2048}},
            {"config/indices.query.bool.max_clause_count"},
        ),
        ({**SPEC, "image": "own/opensearch:2.19.5"}, {"image"}),
        ({**SPEC, "podTemplate": {"metadata": {"labels": {"team": "a"}}}}, {"template/labels"}),
        ({**SPEC, "podTemplate": {"spec": {"priorityClassName": "high"}}}, {"template/priorityClassName"}),
        (
            {**SPEC, "podTemplate": {"spec": {"containers": [{"name": "exporter", "image": "e:1"}]}}},
            {"template/containers/exporter"},
        ),
        (
            {**SPEC, "podTemplate": {"spec": {"initContainers": [{"name": "sysctl", "image": "s:1"}]}}},
            {"template/initContainers/sysctl"},
        ),
        (with_pool("hot", resources={"limits": {"memory": "8Gi"}}), {"resources"}),
        (with_pool("hot", roles=["data"]), {"roles"}),
        (with_pool("hot", roles=["data", "cluster_manager"]), {"roles", "storage/holds"}),
        (with_pool("hot", storage={"ephemeral": True}), {"storage/ephemeral"}),
        (with_pool("hot", config={"node": {"attr": {"temp": "hot"}}}), {"config/node.attr.temp"}),
    ],
)
def test_an_edit_changes_its_own_input_and_no_other(spec: Json, expected: set[str]) -> None:
    assert changed(of(SPEC), of(spec)) == expected


@pytest.mark.parametrize(
    "spec",
    [
        with_pool("hot", replicas=30),
        with_pool("managers", replicas=5, resources={"limits": {"memory": "8Gi"}}),
        with_pool("hot", storage={"size": "100Gi", "storageClass": "fast"}),
        {**SPEC, "update": {"maxUnavailable": "50%", "paused": True, "order": ["hot"]}},
        {**SPEC, "service": {"type": "LoadBalancer", "annotations": {"a": "b"}}},
        {**SPEC, "volumes": {"whenScaled": "Delete"}},
        {**SPEC, "pools": [*SPEC["pools"], {"name": "more", "replicas": 2}]},
        {**SPEC, "pools": SPEC["pools"][::-1]},
        {**SPEC, "config": {}, "podTemplate": {}},
        with_pool("hot", config=None, podTemplate={"spec": {}}),
        with_pool("hot", roles=["ingest", "data"]),
        with_pool("hot", resources={"limits": {"memory": "4096Mi"}}),
    ],
)
def test_what_does_not_matter_to_a_member_changes_nothing(spec: Json) -> None:
    assert changed(of(SPEC), of(spec)) == set()


def test_labels_of_the_cluster_are_no_input() -> None:
    document = {"metadata": {"name": "logs", "labels": {"team": "a"}, "annotations": {"x": "y"}}, "spec": SPEC}
    labelled = cluster(document["spec"])
    assert of(labelled) == of(SPEC)


def test_a_new_version_changes_the_version_alone_also_where_the_image_names_it() -> None:
    old = cluster(SPEC, version="2.17.1", image="registry/own:2.17.1-ours@sha256:" + "a" * 64)
    new = cluster(SPEC, version="2.19.5", image="registry/own:2.19.5-ours@sha256:" + "b" * 64)
    assert of(new, version="2.17.1") == of(old, version="2.17.1")
    assert changed(of(old, version="2.17.1"), of(new, version="2.19.5")) == {"version"}


def test_a_setting_moves_between_cluster_and_pool_without_a_restart() -> None:
    setting = {"thread_pool.write.queue_size": 500}
    template = {"spec": {"tolerations": [{"key": "x"}]}}
    above = {**SPEC, "config": setting, "podTemplate": template}
    below = with_pool("hot", config=setting, podTemplate=template)
    assert of(above) == of(below)


def test_naming_the_default_roles_takes_no_new_member() -> None:
    silent = {"version": "2.19.5", "pools": [{"name": "all", "replicas": 3}]}
    roles = ["cluster_manager", "data", "ingest", "remote_cluster_client"]
    spoken = {"version": "2.19.5", "pools": [{"name": "all", "replicas": 3, "roles": roles}]}
    assert changed(of(silent, "all"), of(spoken, "all")) == {"roles"}


def test_both_names_of_the_manager_role_are_one() -> None:
    assert of(with_pool("managers", roles=["master"]), "managers") == of(SPEC, "managers")


def test_a_digest_is_ten_hexadecimal_digits_and_keyed_by_name() -> None:
    found = of({**SPEC, "config": {"a.x": "same", "b.x": "same"}})
    assert all(len(digest) == 10 and int(digest, 16) >= 0 for digest in found.values())
    assert found["config/a.x"] != found["config/b.x"]


def nested(flat: dict[str, Any]) -> Json:
    result: Json = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        place = result
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return result


KEYS = st.sampled_from(["a.b", "a.c.d", "a.c.e", "f.g", "h.i"])
VALUES = st.one_of(st.booleans(), st.integers(0, 9), st.sampled_from(["x", "10mb"]), st.lists(st.sampled_from("xy")))


@settings(deadline=None)
@given(st.dictionaries(KEYS, VALUES), st.randoms(use_true_random=False))
def test_settings_mean_the_same_nested_dotted_and_in_any_order(flat: dict[str, Any], random: Any) -> None:
    shuffled = list(flat.items())
    random.shuffle(shuffled)
    written = of({**SPEC, "config": nested(dict(shuffled))})
    assert of({**SPEC, "config": flat}) == of({**SPEC, "config": dict(shuffled)}) == written


@settings(deadline=None)
@given(st.dictionaries(KEYS, VALUES, min_size=1), st.data())
def test_an_edit_of_one_setting_is_seen_and_only_that(flat: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(flat)))
    value = data.draw(st.sampled_from(["other", ["x", "y", "z"], 77]))
    before, after = of({**SPEC, "config": flat}), of({**SPEC, "config": {**flat, key: value}})
    assert changed(before, after) == ({f"config/{key}"} if flat[key] != value else set())


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c"]), unique=True), st.randoms(use_true_random=False))
def test_the_order_of_containers_and_volumes_says_nothing(names: list[str], random: Any) -> None:
    volumes = [{"name": name, "emptyDir": {}} for name in names]
    containers = [
        {"name": name, "image": name, "ports": [{"containerPort": 1}, {"containerPort": 2}]} for name in names
    ]
    template = {"spec": {"volumes": volumes, "containers": containers}}
    other = copy.deepcopy(template)
    for items in other["spec"].values():
        random.shuffle(items)
    for container in other["spec"]["containers"]:
        container["ports"].reverse()  # pyright: ignore[reportAttributeAccessIssue]
    assert of({**SPEC, "podTemplate": template}) == of({**SPEC, "podTemplate": other})
