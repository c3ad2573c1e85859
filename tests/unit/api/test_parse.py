"""A user's document is read, or each error names its path and the accepted values."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster
from stateward.api.parse import InvalidDocumentError, convert_cluster, decode_cluster
from tests.unit.api.documents import Document, document, elasticsearch


def problems(of: object) -> dict[str, str]:
    with pytest.raises(InvalidDocumentError) as caught:
        convert_cluster(of)
    return {problem.path: problem.message for problem in caught.value.problems}


def pools(**fields: Any) -> Document:
    return document(pools=[{"name": "all", "replicas": 3, **fields}])


def test_a_good_document_is_read() -> None:
    of = decode_cluster(msgspec.json.encode(document(volumes={"whenScaled": "Delete"})))
    assert [pool.name for pool in of.spec.pools] == ["managers", "hot", "gateway"]
    assert of.spec.volumes is not None
    assert of.spec.volumes.when_scaled is Retention.DELETE


def test_each_kind_is_read_as_itself() -> None:
    assert type(convert_cluster(document())) is OpenSearchCluster
    assert type(convert_cluster(elasticsearch())) is ElasticsearchCluster


def test_what_was_read_is_written_without_defaults() -> None:
    written = msgspec.to_builtins(convert_cluster(document()))
    assert written["spec"] == document()["spec"]


def test_metadata_of_a_stored_object_may_have_more_than_is_read() -> None:
    stored = document()
    stored["metadata"] |= {"managedFields": [], "ownerReferences": [], "generation": 3}
    assert convert_cluster(stored).metadata.generation == 3


def test_a_null_is_a_field_left_out_as_on_the_api_server() -> None:
    of = convert_cluster(document(update=None, pools=[{"name": "a", "replicas": 1, "storage": {"size": None}}]))
    assert of.spec.update is None
    assert of.spec.pools[0].storage is not None
    assert of.spec.pools[0].storage.size == "10Gi"


def test_a_null_in_a_map_is_an_entry_left_out() -> None:
    of = convert_cluster(document(service={"labels": {"a": None, "b": "c"}}))
    assert isinstance(of, OpenSearchCluster)
    assert of.spec.service is not None
    assert of.spec.service.labels == {"b": "c"}


def test_a_null_in_settings_stays() -> None:
    of = convert_cluster(document(config={"a": None}))
    assert isinstance(of, OpenSearchCluster)
    assert of.spec.config == {"a": None}


@pytest.mark.parametrize(
    ("of", "path", "words"),
    [
        (pools(replica=1), "spec.pools[0].replica", "did you mean replicas?"),
        (pools(zzz=1), "spec.pools[0].zzz", "known are name, storage"),
        (document(poolz=[]), "spec.poolz", "did you mean pools?"),
        (pools(replicas="3"), "spec.pools[0].replicas", "must be a whole number"),
        (pools(replicas=True), "spec.pools[0].replicas", "must be a whole number"),
        (pools(replicas=-1), "spec.pools[0].replicas", "must be 0 or more"),
        (pools(replicas=501), "spec.pools[0].replicas", "must be 500 or less"),
        (pools(name="Hot"), "spec.pools[0].name", "begin with a letter"),
        (pools(name="h" * 31), "spec.pools[0].name", "30 or fewer characters, not 31"),
        (pools(roles="data"), "spec.pools[0].roles", "must be a list"),
        (pools(roles=[1]), "spec.pools[0].roles[0]", "must be text: put it in quotes"),
        (pools(roles=[""]), "spec.pools[0].roles[0]", "1 or more characters"),
        (pools(roles=[None]), "spec.pools[0].roles[0]", "must be text"),
        (pools(config=[]), "spec.pools[0].config", "must be an object"),
        (pools(config={1: 2}), "spec.pools[0].config[1]", "keys must be text"),
        (pools(storage={"grow": {"max": "1Ti", "when": "85%"}}), "spec.pools[0].storage.grow.when", "from 10% to 84%"),
        (pools(storage={"grow": {"max": "1Ti", "by": "4%"}}), "spec.pools[0].storage.grow.by", "from 5% to 100%"),
        (pools(storage={"grow": {"max": "1TB"}}), "spec.pools[0].storage.grow.max", "for example 500Mi, 20Gi or 1.5Ti"),
        (pools(storage={"grow": {}}), "spec.pools[0].storage.grow.max", "is required"),
        (pools(storage={"size": "20GB"}), "spec.pools[0].storage.size", "for example 500Mi, 20Gi"),
        (pools(storage={"ephemeral": "yes"}), "spec.pools[0].storage.ephemeral", "must be true or false"),
        (pools(storage="20Gi"), "spec.pools[0].storage", "must be an object"),
        (document(version=2.19), "spec.version", "must be text: put it in quotes"),
        (document(version="2.19"), "spec.version", "three numbers"),
        (document(pools=[]), "spec.pools", "1 or more items"),
        (document(pools=None), "spec.pools", "is required: The pools of members."),
        (document(update={"maxUnavailable": 1.5}), "spec.update.maxUnavailable", "a whole number or text"),
        (document(update={"maxUnavailable": True}), "spec.update.maxUnavailable", "a whole number or text"),
        (document(volumes={"whenScaled": "Keep"}), "spec.volumes.whenScaled", "must be one of Retain, Delete"),
        (document(service={"labels": {"a": 1}}), "spec.service.labels[a]", "must be text"),
        ({**document(), "kind": "SolrCluster"}, "kind", "must be OpenSearchCluster or ElasticsearchCluster"),
        ({**elasticsearch(), "apiVersion": "v1"}, "apiVersion", "must be stateward.dev/v1alpha1"),
        ({**elasticsearch(), "spec": {"version": "8.19.4"}}, "spec.pools", "is required"),
        ({**document(), "apiVersion": "v1"}, "apiVersion", "must be stateward.dev/v1alpha1"),
        ({**document(), "metadata": {}}, "metadata.name", "is required"),
        ({**document(), "metadata": []}, "metadata", "must be an object"),
        ([], "", "must be an object"),
    ],
)
def test_a_deviation_is_named_with_what_is_accepted(of: object, path: str, words: str) -> None:
    found = problems(of)
    assert list(found) == [path]
    assert words in found[path]


def test_all_deviations_are_named_at_once() -> None:
    of = document(version=2, pools=[{"name": "A", "replica": 1}], paused=True)
    assert set(problems(of)) == {
        "spec.version",
        "spec.pools[0].name",
        "spec.pools[0].replica",
        "spec.pools[0].replicas",
        "spec.paused",
    }


def test_the_error_reads_as_one_line_for_each_problem() -> None:
    with pytest.raises(InvalidDocumentError, match=r"^spec\.version: '2': must be three numbers"):
        convert_cluster(document(version="2"))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b'{"a": "\xff"}'])
def test_bytes_that_are_no_object_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidDocumentError):
        decode_cluster(data)


def test_the_operator_reads_a_stored_object_of_a_later_version_leniently() -> None:
    later = document(something_new={"a": 1})
    assert msgspec.convert(later, OpenSearchCluster).spec.version == "2.19.5"


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"pools": [{"name": "a", "replicas": 3}, {"name": "a", "replicas": 3}]}, "pools[1].name"),
        ({"pools": [{"name": "a", "replicas": 3, "roles": ["data", "ingest", "data"]}]}, "pools[0].roles[2]"),
        ({"members": {"keep": ["a-0", "b-0", "a-0"]}}, "members.keep[2]"),
        ({"plugins": [{"name": "a"}, {"name": "a"}]}, "plugins[1].name"),
        ({"replacement": {"onTaints": [{"key": "x"}, {"key": "x"}]}}, "replacement.onTaints[1].key"),
        ({"dashboards": {"routes": {"hosts": ["a.example", "a.example"]}}}, "dashboards.routes.hosts[1]"),
    ],
)
def test_what_the_schema_lists_by_keys_or_as_a_set_is_listed_once(spec: dict[str, Any], path: str) -> None:
    """The API server refuses it by the same marks of the schema."""
    assert problems(document(**spec))[f"spec.{path}"] == "must be listed once"


def test_entries_with_other_keys_are_other_entries() -> None:
    taints = [{"key": "x", "after": "5m"}, {"key": "y", "after": "5m"}]
    convert_cluster(document(replacement={"onTaints": taints}))
