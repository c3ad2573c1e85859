"""How deeply a spec is nested: what is free of a schema can be nested without end, and what reads it cannot."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.problem import Problem

LEVELS = 50
"""Levels below a field of the spec; pod templates need about ten."""

_Place = tuple["_Place | None", str]
"""Where a value is: the place that it is in, and its own part of the path."""


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield the first field that is nested too deeply, found without recursion."""
    waiting: list[tuple[_Place, Any, int]] = [((None, "spec"), cluster.spec, 0)]
    while waiting:
        place, value, depth = waiting.pop()
        if depth > LEVELS:
            yield Problem(_path(place), "...", f"must be nested no deeper than {LEVELS} levels")
            return
        waiting += [((place, name), inner, depth + 1) for name, inner in _inside(value)]


def _path(place: "_Place | None") -> str:
    """Return a place as a path; it is written out for one value only, because a name may be as long as the spec."""
    parts = list[str]()
    while place is not None:
        place, name = place
        parts.append(name)
    return "".join(reversed(parts))


def _inside(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, msgspec.Struct):
        return [(path, getattr(value, name)) for name, path in _fields(type(value))]
    if isinstance(value, Mapping):
        return [(f".{name}", inner) for name, inner in cast("Mapping[str, Any]", value).items()]
    return [(f"[{i}]", inner) for i, inner in enumerate(cast("list[Any]", value))] if isinstance(value, list) else []


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a type, by their names in Python and as parts of a path: to ask for them takes long."""
    return tuple((field.name, f".{field.encode_name}") for field in msgspec.structs.fields(kind))
