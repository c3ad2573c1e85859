"""How deeply a spec is nested: what is free of a schema can be nested without end, and what reads it cannot."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.problem import Problem

LEVELS = 50
"""Levels below a field of the spec; pod templates need about ten."""


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield the first field that is nested too deeply, found without recursion."""
    waiting: list[tuple[str, Any, int]] = [("spec", cluster.spec, 0)]
    while waiting:
        path, value, depth = waiting.pop()
        if depth > LEVELS:
            yield Problem(path, "...", f"must be nested no deeper than {LEVELS} levels")
            return
        waiting += [(f"{path}{name}", inner, depth + 1) for name, inner in _inside(value)]


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
