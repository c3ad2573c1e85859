"""Random edits: a field of the schema with a valid or an invalid value.

The schema is that of the CustomResourceDefinition, so a new field is drawn as soon as it exists. The
schema alone decides whether an edit is valid; the operator must report conflicts with rules between fields or with the
state of the world.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, cast

from msgspec import Struct

from stateward.api.schema.crd import root_schema
from stateward.api.schema.custom_resources import CLUSTER_KINDS
from stateward.api.values.base import Json

FAR = 3
"""The largest distance of a drawn number from its minimum: 500 members test no more than 3."""
WORDS = ("hot", "managers", "data", "ingest", "drawn", "logs-hot-0", "logs-managers-0")
"""Values for free texts; some are names of existing objects."""
RAW: Mapping[str, Json] = {
    "config": {"indices.drawn": 1},
    "spec": {"terminationGracePeriodSeconds": 60},
    "labels": {"drawn": "yes"},
    "annotations": {"drawn": "yes"},
    "requests": {"memory": "2Gi"},
    "limits": {"memory": "2Gi"},
}
"""Contents of free-form objects, by the field's name."""


class DrawnEdit(Struct, frozen=True):
    """One edit: the field, its new value, whether the schema accepts it, and the resulting spec."""

    path: str
    value: Any
    valid: bool
    spec: Json

    def __str__(self) -> str:
        """Return one clause."""
        return f"{self.path} = {self.value!r}, which is {'' if self.valid else 'not '}valid"


class Field(Struct, frozen=True):
    """A place in a document."""

    schema: Json
    holder: Any
    key: Any
    path: str
    required: bool = False


@cache
def spec_schema(kind: str) -> Json:
    """Return the schema of the spec of a kind of cluster."""
    found = next(known for known in CLUSTER_KINDS if known.name == kind)
    return root_schema(found)["properties"]["spec"]


def draw(kind: str, spec: Json, rng: random.Random, excluded_fields: frozenset[str] = frozenset()) -> DrawnEdit:
    """Return an edit of a copy of a spec; all fields are equally likely, except those in `excluded_fields`."""
    document = {"spec": deepcopy(spec)}
    field = rng.choice(list(fields(kind, document, excluded_fields)))
    valid = rng.random() < 0.5
    path, value = accepted(field, rng) if valid else refused(field, rng)
    return DrawnEdit(path, value, valid, document["spec"])


def faults(kind: str, spec: Json) -> Iterator[DrawnEdit]:
    """Yield each edit that the schema refuses, one for each kind of error."""
    for number, field in enumerate(fields(kind, {"spec": spec})):
        for fault in range(len(list(_faults(field)))):
            document = {"spec": deepcopy(spec)}
            path, value, write = list(_faults(list(fields(kind, document))[number]))[fault]
            write()
            yield DrawnEdit(path, value, False, document["spec"])


def fields(kind: str, document: Json, excluded_fields: frozenset[str] = frozenset()) -> Iterator[Field]:
    """Yield every field of the schema in a document, including unset ones."""
    open_ends = [Field(spec_schema(kind), document, "spec", "spec")]
    while open_ends:
        inside = list(_inside(open_ends.pop(), excluded_fields))
        yield from inside
        open_ends += inside


def _inside(field: Field, excluded_fields: frozenset[str]) -> Iterator[Field]:
    schema, properties = field.schema, cast("dict[str, Json]", field.schema.get("properties", {}))
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if properties:
        value = _made(field)
        for name, inner in properties.items():
            if name not in excluded_fields:
                yield Field(inner, value, name, f"{field.path}.{name}", required=name in schema.get("required", ()))
    elif "items" in schema and isinstance(_held(field), list):
        held = _LaterItems(field) if isinstance(field.holder, _Later) else field.holder[field.key]
        for number in range(len(held)):
            yield Field(schema["items"], held, number, f"{field.path}[{number}]")


def _held(field: Field) -> Any:
    return field.holder[field.key] if isinstance(field.key, int) else field.holder.get(field.key)


def _made(field: Field) -> Json:
    """Return the object at a field; a missing one is created, with its required fields, when a field in it is set."""
    found = _held(field)
    if not isinstance(found, dict):
        rng = random.Random(0)  # noqa: S311 - required fields, always the same
        return _Later(field, value_of(field.schema, rng, field.path) if field.schema.get("required") else {})
    return _Later(field, cast("Json", found)) if isinstance(field.holder, _Later | _LaterItems) else cast("Json", found)


class _Later(dict[str, Any]):
    """An object that is added to its parent, which may be such an object too, when a field in it is set or removed."""

    def __init__(self, field: Field, content: Json) -> None:
        super().__init__(content)
        self._field = field

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self._field.holder[self._field.key] = dict(self)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._field.holder[self._field.key] = dict(self)


class _LaterItems(list[Any]):
    """A required list in such an object: the object is added when an item is set."""

    def __init__(self, field: Field) -> None:
        super().__init__(field.holder[field.key])
        self._field = field

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._field.holder[self._field.key] = list(self)


# Valid values.


def accepted(field: Field, rng: random.Random) -> tuple[str, Any]:
    """Set a valid value, or remove an optional field; return the path and the value."""
    there = not isinstance(field.key, int) and field.key in field.holder
    if there and not field.required and rng.random() < 0.2:
        del field.holder[field.key]
        return field.path, None
    value = value_of(field.schema, rng, field.path)
    field.holder[field.key] = value
    return field.path, value


def value_of(schema: Json, rng: random.Random, path: str) -> Any:
    """Return a value that a schema accepts."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return "2Gi" if "pattern" in schema else rng.choice((1, 2, "50%"))
    makers: Mapping[str, Callable[[Json, random.Random, str], Any]] = {
        "string": _text,
        "integer": _number,
        "boolean": lambda _schema, rng, _path: rng.random() < 0.5,
        "array": _list,
        "object": _object,
    }
    return makers[schema.get("type", "object")](schema, rng, path)


def _text(schema: Json, rng: random.Random, _: str) -> str:
    pattern, said = pattern_of(schema)
    examples = re.split(r", | or ", said.partition("for example ")[2])
    known = [text for text in [*examples, *WORDS] if re.search(pattern, text)] if pattern else list(WORDS)
    most = schema.get("maxLength", len("logs-managers-0"))
    return rng.choice([text for text in known if len(text) <= most])


def _number(schema: Json, rng: random.Random, _: str) -> int:
    least = schema.get("minimum", 0)
    return rng.randint(least, min(least + FAR, schema.get("maximum", least + FAR)))


def _list(schema: Json, rng: random.Random, path: str) -> list[Any]:
    count = rng.randint(schema.get("minItems", 0), schema.get("minItems", 0) + 1)
    found = [value_of(schema["items"], rng, f"{path}[]") for _ in range(count)]
    keys = schema.get("x-kubernetes-list-map-keys")
    seen = {str(item if keys is None else [item.get(key) for key in keys]): item for item in found}
    return list(seen.values())


def _object(schema: Json, rng: random.Random, path: str) -> Json:
    name = path.rpartition(".")[2]
    if schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema:
        return deepcopy(RAW.get(name, {}))
    required = schema.get("required", ())
    chosen = {key for key in schema.get("properties", {}) if key in required or rng.random() < 0.15}
    properties = cast("dict[str, Json]", schema.get("properties", {}))
    return {key: value_of(properties[key], rng, f"{path}.{key}") for key in properties if key in chosen - UNMODELLED}


UNMODELLED = frozenset({"claims", "detection"})
"""Fields that are not drawn with others: their schema is that of Kubernetes."""


# Invalid values.


def refused(field: Field, rng: random.Random) -> tuple[str, Any]:
    """Set an invalid value; return the path of the error and the value."""
    found = list(_faults(field))
    path, value, write = rng.choice(found)
    write()
    return path, value


def _faults(field: Field) -> Iterator[tuple[str, Any, Callable[[], None]]]:
    schema, path = field.schema, field.path

    def put(value: Any) -> Callable[[], None]:
        return lambda: field.holder.__setitem__(field.key, value)

    for value in _wrong(schema):
        yield path, value, put(value)
    if field.required and field.key in field.holder:
        yield path, None, lambda: field.holder.__delitem__(field.key)
    if schema.get("properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
        inside = {**cast("Json", _held(field) or {}), "drawn": 1}
        yield f"{path}.drawn", 1, put(inside)


def _wrong(schema: Json) -> Iterator[Any]:
    """Yield values of another type, out of bounds, or that match no pattern."""
    if schema.get("x-kubernetes-int-or-string"):
        yield from ([], True)
    elif schema.get("type", "object") == "string":
        yield from (7, True)
        pattern, _ = pattern_of(schema)
        if "enum" in schema:
            yield "Sometimes"
        if "maxLength" in schema:
            yield "x" * (schema["maxLength"] + 1)
        yield from (text for text in ("Not A Name!", "?") if pattern and not re.search(pattern, text))
    elif schema.get("type") == "integer":
        yield from ("many", 1.5)
        yield from (schema[bound] + step for bound, step in (("minimum", -1), ("maximum", 1)) if bound in schema)
    elif schema.get("type") == "boolean":
        yield from ("maybe", 1)
    elif schema.get("type") == "array":
        yield from ("one", {})
        if schema.get("minItems"):
            yield []
    else:
        yield from ("much", 3)


def pattern_of(schema: Json) -> tuple[str, str]:
    """Return the pattern of a text and its error message; both are empty for a free text."""
    for rule in cast("list[Json]", schema.get("x-kubernetes-validations", [])):
        found = re.fullmatch(r"self\.matches\(r'(.*)'\)", str(rule["rule"]))
        if found:
            return found[1], str(rule["message"])
    return str(schema.get("pattern", "")), ""
