"""The schema says what the types say: structural, explained, and true to the decoder."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec
from stateward.api.schema.crd import root_schema
from stateward.api.schema.custom_resources import OPENSEARCH
from stateward.api.schema.rules import RULES
from stateward.api.schema.schema import SchemaError, schema_of
from stateward.api.schema.structure import check_structure, without_nulls
from stateward.api.values.base import Record
from tests.support.fuzz import fuzzed
from tests.unit.api.documents import Document, document
from tests.unit.api.structural import faults

SCHEMA = root_schema(OPENSEARCH)
STRUCTURAL = {
    *("type", "format", "description", "properties", "required", "items", "additionalProperties", "enum"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"),
    *("x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "default"),
}


def nodes(schema: Document, path: str = "") -> Iterator[tuple[str, Document]]:
    """Yield every schema within a schema, by path."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from nodes(schema[name], f"{path}[]")


def test_every_node_is_structural() -> None:
    for path, node in nodes(SCHEMA):
        assert set(node) <= STRUCTURAL, path
        kinds = {"type", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"} & set(node)
        assert kinds, path


def test_every_field_is_explained() -> None:
    missing = [
        f"{path}.{name}"
        for path, node in nodes(SCHEMA)
        for name, inner in node.get("properties", {}).items()
        if not inner.get("description") and not f"{path}.{name}".startswith(".metadata")
    ]
    assert missing == []


def test_no_default_is_written_into_a_spec() -> None:
    assert [path for path, node in nodes(SCHEMA) if "default" in node] == [".status"]


def test_lists_of_named_things_are_merged_by_name() -> None:
    keys = {path: node.get("x-kubernetes-list-map-keys") for path, node in nodes(SCHEMA) if node.get("type") == "array"}
    assert keys[".spec.pools"] == ["name"]
    assert keys[".status.pools"] == ["name"]
    assert keys[".status.memberStates"] == ["name"]
    assert keys[".status.conditions"] == ["type"]


def test_everything_that_a_rule_reads_has_a_largest_size() -> None:
    """Without bounds the API server must assume the worst and refuses the rules for their cost."""
    read = {".pools", ".pools[].name", ".pools[].roles", ".pools[].roles[]", ".pools[].storage.size"}
    read |= {".pools[].storage.storageClass", ".version", ".image", ".update.order", ".update.order[]"}
    read |= {".pools[].storage.grow.max"}
    bounds = {path: {"maxLength", "maxItems"} & set(node) for path, node in nodes(SCHEMA["properties"]["spec"])}
    assert [path for path in sorted(read) if not bounds[path]] == []


class Child(Record):
    """A thing inside."""

    count: Annotated[int, Meta(description="How many.", ge=0)]


class Parent(Record):
    """A thing."""

    text: Annotated[str, Meta(description="Words.", pattern="^a", max_length=3)]
    maybe: Annotated[int | None, Meta(description="A number or nothing.")] = None
    child: Child | None = None
    children: Annotated[list[Child], Meta(description="Many.")] = []  # noqa: RUF012
    words: Annotated[dict[str, str], Meta(description="By name.")] = {}  # noqa: RUF012
    any: Annotated[dict[str, Any], Meta(description="Anything.")] = {}  # noqa: RUF012


def test_each_type_has_its_schema() -> None:
    child = {
        "description": "A thing inside.",
        "type": "object",
        "required": ["count"],
        "properties": {"count": {"type": "integer", "format": "int64", "minimum": 0, "description": "How many."}},
    }
    assert schema_of(Parent, {}) == {
        "description": "A thing.",
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "maxLength": 3, "pattern": "^a", "description": "Words."},
            "maybe": {"type": "integer", "format": "int64", "description": "A number or nothing."},
            "child": child,
            "children": {"type": "array", "items": child, "description": "Many."},
            "words": {"type": "object", "additionalProperties": {"type": "string"}, "description": "By name."},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "description": "Anything."},
        },
    }


class Undescribed(Record):
    """A thing."""

    text: str = ""


class Mixed(Record):
    """A thing."""

    value: Annotated[int | bool | str, Meta(description="Many kinds.")] = 0


class Literally(Record):
    """A thing."""

    value: Annotated[Literal["a"], Meta(description="One kind.")] = "a"


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Undescribed, "Undescribed.text has no description"),
        (Mixed, "Mixed.value: a union of 3 kinds"),
        (Literally, "no structural schema for LiteralType"),
    ],
)
def test_what_no_schema_can_say_is_refused(record: type[Record], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema_of(record, {})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 600)
    | st.sampled_from(["", "a", "hot", "20Gi", "2.19.5", "data", "50%"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "size", "a.b"]), inner, max_size=2)
    ),
    max_leaves=4,
)
SAMPLES = [
    document(),
    document(
        image="os:2.19.5",
        config={"a": 1},
        podTemplate={"spec": {"a": 1}, "metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}},
        pools=[{"name": "all", "replicas": 3, "resources": {"limits": {"memory": "2Gi", "cpu": 1}, "claims": [{}]}}],
        update={"maxUnavailable": "50%", "paused": True, "order": ["hot"], "minLiveCopies": 2, "singleCopy": "Wait"},
        volumes={"whenDeleted": "Delete", "whenScaled": "Retain", "whenShrunk": "Refuse"},
        service={"type": "NodePort", "labels": {"a": "b"}, "annotations": {}, "spec": {}},
    ),
    {
        **document(),
        "status": {
            "observedGeneration": 1,
            "members": {"ready": 1},
            "pools": [{"name": "hot"}],
            "memberStates": [{"name": "logs-hot-0"}],
            "conditions": [{"type": "Ready", "status": "True"}],
            "bootstrap": {"member": "a", "volume": "b", "formed": True},
        },
    },
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value below the object's identity."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if key not in {"apiVersion", "kind", "metadata"}:
            yield (*path, key)
            yield from places(inner, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy with one value replaced; `...` removes it."""
    head, *rest = path
    if isinstance(value, list):
        kept = [changed(x, tuple(rest), new) if rest and i == head else x for i, x in enumerate(value)]
        return kept if rest else [*kept[:head], *([] if new is ... else [new]), *kept[head + 1 :]]
    if rest:
        return {**value, head: changed(value[head], tuple(rest), new)}
    return {k: v for k, v in value.items() if k != head} | ({} if new is ... else {head: new})


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Draw a document with a few values replaced, removed or added anywhere."""
    of = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(sorted(places(of), key=str) or [("spec",)]))
        beside = draw(st.sampled_from(["name", "size", "zzz", "roles", "a", "claims"]))
        into = (*path[:-1], beside) if type(path[-1]) is str and draw(st.booleans()) else path
        of = changed(of, into, draw(JSON | st.just(...)))
    return of


@fuzzed(100)
@given(documents())
def test_the_schema_accepts_what_the_decoder_accepts(of: Document) -> None:
    pruned = without_nulls(of, SCHEMA)
    assert (faults(SCHEMA, of) == []) == (check_structure(pruned, OpenSearchCluster) == [])


@fuzzed(100)
@given(documents())
def test_what_has_no_deviation_is_decoded(of: Document) -> None:
    pruned = without_nulls(of, SCHEMA)
    if not check_structure(pruned, OpenSearchCluster):
        assert isinstance(msgspec.convert(pruned, OpenSearchCluster), OpenSearchCluster)


def test_rules_belong_to_records_of_the_kind() -> None:
    assert OpenSearchSpec in RULES
    found = [path for path, node in nodes(SCHEMA) if "x-kubernetes-validations" in node]
    assert {"", ".spec", ".spec.pools[].storage", ".spec.update", ".spec.version", ".spec.config"} <= set(found)
