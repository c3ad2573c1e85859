"""What a released version accepts, all later ones of the same API version accept: old files stay valid."""

import copy
from pathlib import Path
from typing import Any

import pytest

from stateward.api.parse import convert_cluster
from stateward.api.schema.crd import crd
from stateward.api.schema.custom_resources import CLUSTER_KINDS, KINDS
from stateward.api.validation import errors, validate
from stateward.api.values.base import Json
from tests.unit.upgrade.definitions import definitions, manifests, released, taken

ACCEPTED: dict[tuple[str, str, str], str] = {}
"""What may be taken after all, with the reason: by the version, the plural, and the sentence of `taken`.

For example a new rule that only concerns fields which that version did not have.
"""
VERSIONS = pytest.mark.parametrize("folder", released(), ids=lambda folder: folder.name)
NOW = {kind.plural: crd(kind) for kind in KINDS}


@VERSIONS
def test_the_crds_accept_all_that_those_of_a_released_version_accept(folder: Path) -> None:
    """If this fails for a version that is not released yet, freeze it again: remove the folder first."""
    before = definitions(folder)
    assert before.keys() <= NOW.keys()
    lost = [(folder.name, name, said) for name, old in before.items() for said in taken(old, NOW[name])]
    assert [each for each in lost if each not in ACCEPTED] == []


@VERSIONS
def test_clusters_in_manifests_of_a_released_version_are_valid(folder: Path) -> None:
    kinds = {kind.name for kind in CLUSTER_KINDS}
    found = [each for each in manifests(folder) if each["kind"] in kinds]
    assert {each["kind"] for each in found} == kinds
    for each in found:
        assert errors(validate(convert_cluster(each))) == [], each["metadata"]["name"]


def edited(path: str, change: dict[str, Any], *without: str) -> Json:
    """Return the CRD of OpenSearch clusters with a part of its spec changed."""
    document = copy.deepcopy(NOW["osclusters"])
    node = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for part in filter(None, path.split(".")):
        node = node["items"] if part == "[]" else node["properties"][part]
    node.update(change)
    for name in without:
        node["properties"].pop(name)
    return document


@pytest.mark.parametrize(
    ("path", "change", "without", "said"),
    [
        ("", {}, ["pools"], "spec.pools is gone"),
        ("pools.[]", {}, ["config"], "spec.pools[].config is gone"),
        ("pools.[].name", {"maxLength": 3}, [], "spec.pools[].name: maxLength was"),
        ("pools.[].replicas", {"minimum": 2}, [], "spec.pools[].replicas: minimum was"),
        ("version", {"type": "integer"}, [], "spec.version: the type was string"),
        ("version", {"pattern": "^2"}, [], "spec.version: pattern was"),
        ("version", {"enum": ["2.19.5"]}, [], "spec.version: accepted are only"),
        ("volumes.whenDeleted", {"enum": ["Retain"]}, [], "spec.volumes.whenDeleted: accepted are only"),
        ("update", {"required": ["paused"]}, [], "spec.update: ['paused'] is required"),
        ("update", {"x-kubernetes-validations": [{"rule": "self.paused"}]}, [], "spec.update: there is a new rule"),
    ],
)
def test_what_is_taken_is_named(path: str, change: dict[str, Any], without: list[str], said: str) -> None:
    found = list(taken(NOW["osclusters"], edited(path, change, *without)))
    assert len(found) == 1
    assert found[0].startswith(said)


def test_another_name_and_a_version_that_is_not_served_are_named() -> None:
    other = copy.deepcopy(NOW["osclusters"])
    other["spec"]["names"]["shortNames"] = []
    other["spec"]["versions"][0]["served"] = False
    assert [each.split(" has")[0] for each in taken(NOW["osclusters"], other)] == [
        "names.shortNames",
        "v1alpha1 is not served",
    ]


def test_what_is_added_takes_nothing() -> None:
    wider = edited("", {})
    spec = wider["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["new"] = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    assert list(taken(NOW["osclusters"], wider)) == []
