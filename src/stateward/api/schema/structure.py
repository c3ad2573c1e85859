"""Checks that a JSON document has the shape of a record, and reports every deviation by its path.

The decoder of msgspec stops at the first error and ignores unknown fields. Users want all errors at once, and the hint
that `replica:` probably means `replicas:`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from functools import cache
from typing import cast

import msgspec.inspect as mi

from stateward.api.kinds.shapes import check_shape
from stateward.api.schema.schema import description_of, extra_of
from stateward.api.values.base import Json, Metadata, Record
from stateward.api.values.problem import Problem

_ONCE = "must be listed once"


def check_structure(document: object, record: type[Record], path: str = "") -> list[Problem]:
    """Return every deviation of a document from a record's shape."""
    return list(_check(_info(record), document, path))


@cache
def _info(record: type[Record]) -> mi.Type:
    return mi.type_info(record)


def without_nulls(document: object, schema: Json) -> object:
    """Return the document without nulls for fields of the schema: the API server drops them, too."""
    if isinstance(document, list):
        return [without_nulls(item, schema.get("items", {})) for item in cast("list[object]", document)]
    if not isinstance(document, Mapping):
        return document
    known = cast("dict[str, Json]", schema.get("properties", {}))
    others = cast("Json | None", schema.get("additionalProperties"))
    members = cast("Json", document).items()
    kept = {name: inner for name, inner in members if inner is not None or not (name in known or others)}
    return {name: without_nulls(inner, known.get(name, others or {})) for name, inner in kept.items()}


def _check(info: mi.Type, value: object, path: str, accepts: str = "") -> Iterator[Problem]:
    match info:
        case mi.Metadata():
            yield from _check(info.type, value, path, str(extra_of(info).get("accepts", "")))
            yield from check_shape(extra_of(info).get("shape", {}), value, path)
            yield from _again(extra_of(info), value, path)
        case mi.UnionType():
            yield from _union(info, value, path, accepts)
        case mi.StructType():
            yield from _struct(info, value, path)
        case mi.ListType():
            yield from _list(info, value, path)
        case mi.DictType():
            yield from _dict(info, value, path)
        case _:
            yield from _scalar(info, value, path, accepts)


def _again(extra: Json, value: object, path: str) -> Iterator[Problem]:
    """Yield the entries of a list that it has already, by their keys or, in a set, as a whole."""
    keys = cast("Sequence[str]", extra.get("map_keys", ()))
    if not isinstance(value, list) or not (keys or extra.get("list_type") == "set"):
        return
    seen = set[str]()
    for i, item in enumerate(cast("list[object]", value)):
        entry: Json = cast("Json", item) if keys and isinstance(item, Mapping) else {}
        if not entry.keys() >= set(keys):
            continue
        shown: list[object] = [entry[key] for key in keys] if keys else [item]
        if repr(shown) in seen:
            at = f".{keys[0]}" if len(keys) == 1 else ""
            yield Problem(f"{path}[{i}]{at}", shown[0] if len(shown) == 1 else shown, _ONCE)
        seen.add(repr(shown))


def _union(info: mi.UnionType, value: object, path: str, accepts: str) -> Iterator[Problem]:
    kinds = [kind for kind in info.types if not isinstance(kind, mi.NoneType)]
    if len(kinds) == 1:
        yield from _check(kinds[0], value, path, accepts)
    elif not isinstance(value, int | str) or isinstance(value, bool):
        yield Problem(path, value, "must be a whole number or text")


def _struct(info: mi.StructType, value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem(path, value, "must be an object")
        return
    members = cast("Json", value)
    fields = {field.encode_name: field for field in info.fields}
    for name, inner in members.items():
        at = f"{path}.{name}" if path else str(name)
        if name in fields:
            yield from _check(fields[name].type, inner, at)
        elif info.cls is not Metadata:
            yield Problem(at, inner, _unknown(str(name), list(fields)))
    for name, field in fields.items():
        if field.required and name not in members:
            yield Problem(f"{path}.{name}" if path else name, None, _required(description_of(field.type)))


def _required(description: str) -> str:
    return f"is required: {description}" if description else "is required"


def _unknown(name: str, fields: list[str]) -> str:
    meant = get_close_matches(name, fields, n=1)
    hint = f"did you mean {meant[0]}?" if meant else f"known are {', '.join(fields)}"
    return f"is not a known field; {hint}"


def _list(info: mi.ListType, value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield Problem(path, value, "must be a list")
        return
    items = cast("list[object]", value)
    for i, item in enumerate(items):
        yield from _check(info.item_type, item, f"{path}[{i}]")
    yield from _size(path, items, len(items), (info.min_length, info.max_length), "items")


def _dict(info: mi.DictType, value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem(path, value, "must be an object")
        return
    for name, inner in cast("Mapping[object, object]", value).items():
        if not isinstance(name, str):
            yield Problem(f"{path}[{name}]", name, "keys must be text: put it in quotes")
        yield from _check(info.value_type, inner, f"{path}[{name}]")


def _scalar(info: mi.Type, value: object, path: str, accepts: str) -> Iterator[Problem]:
    match info:
        case mi.StrType():
            yield from _text(info, value, path, accepts)
        case mi.IntType():
            yield from _number(info, value, path)
        case mi.BoolType() if not isinstance(value, bool):
            yield Problem(path, value, "must be true or false")
        case mi.EnumType():
            yield from _choice(info.cls, value, path)
        case _:
            pass


def _text(info: mi.StrType, value: object, path: str, accepts: str) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield Problem(path, value, "must be text: put it in quotes" if value is not None else "must be text")
    elif info.pattern is not None and re.search(info.pattern, value) is None:
        yield Problem(path, value, accepts or f"must match {info.pattern}")
    else:
        yield from _size(path, value, len(value), (info.min_length, info.max_length), "characters")


def _number(info: mi.IntType, value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, int) or isinstance(value, bool):
        yield Problem(path, value, "must be a whole number")
    elif info.ge is not None and value < info.ge:
        yield Problem(path, value, f"must be {info.ge} or more")
    elif info.le is not None and value > info.le:
        yield Problem(path, value, f"must be {info.le} or less")


def _choice(kinds: type[Enum], value: object, path: str) -> Iterator[Problem]:
    accepted = [str(member.value) for member in kinds]
    if not isinstance(value, str) or value not in accepted:
        yield Problem(path, value, f"must be one of {', '.join(accepted)}")


def _size(path: str, value: object, size: int, bounds: tuple[int | None, int | None], what: str) -> Iterator[Problem]:
    least, most = bounds
    if least is not None and size < least:
        yield Problem(path, value, f"must have {least} or more {what}")
    if most is not None and size > most:
        yield Problem(path, value, f"must have {most} or fewer {what}, not {size}")
