"""Checks the shape of a loaded file leniently, as the tools of the format always have.

Texts may be written as numbers, flags as texts, and unknown fields are ignored: existing packages are accepted
unchanged. A deviation without a possible meaning is reported with its path.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec.inspect as mi

from stateward.api.values.base import Record
from stateward.api.values.problem import Problem


def check_shape(document: object, record: type[Record]) -> list[Problem]:
    """Return every deviation that makes a document unusable as a record."""
    return list(_check(mi.type_info(record), document, ""))


def _check(info: mi.Type, value: object, path: str) -> Iterator[Problem]:
    match info:
        case mi.StructType():
            yield from _struct(info, value, path)
        case mi.UnionType():
            yield from _union(info, value, path)
        case mi.VarTupleType():
            yield from _list(info, value, path)
        case mi.DictType():
            yield from _dict(info, value, path)
        case _:
            yield from _scalar(info, value, path)


def _struct(info: mi.StructType, value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem(path, value, "must be an object")
        return
    members = cast("Mapping[str, Any]", value)
    for field in info.fields:
        at = f"{path}.{field.encode_name}" if path else field.encode_name
        if field.encode_name in members:
            yield from _check(field.type, members[field.encode_name], at)
        elif field.required:
            yield Problem(at, None, "is required")


def _union(info: mi.UnionType, value: object, path: str) -> Iterator[Problem]:
    kinds = [kind for kind in info.types if not isinstance(kind, mi.NoneType)]
    if value is not None:
        yield from _check(kinds[0], value, path)


def _list(info: mi.VarTupleType, value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield Problem(path, value, "must be a list")
        return
    for i, item in enumerate(cast("list[object]", value)):
        yield from _check(info.item_type, item, f"{path}[{i}]")


def _dict(info: mi.DictType, value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield Problem(path, value, "must be an object")
        return
    for name, inner in cast("Mapping[str, object]", value).items():
        yield from _check(info.value_type, inner, f"{path}.{name}")


def _scalar(info: mi.Type, value: object, path: str) -> Iterator[Problem]:
    match info:
        case mi.EnumType():
            accepted = [str(member.value) for member in info.cls]
            if value not in accepted:
                yield Problem(path, value, f"must be one of {', '.join(accepted)}")
        case mi.StrType():
            if not isinstance(value, str):
                yield Problem(path, value, "must be text")
        case mi.BoolType():
            if str(value).lower() not in {"true", "false"}:
                yield Problem(path, value, "must be true or false")
        case mi.IntType():
            # msgspec takes no leading zeros, and YAML takes them for base 8.
            if not re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", str(value)):
                yield Problem(path, value, "must be a whole number of at most 18 digits, without zeros before it")
        case _:
            pass
