"""How deeply a spec is nested, and how much is in it: what is free of a schema has no limits, and what reads it has."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.problem import Problem

LEVELS = 50
"""Levels below a field of the spec; pod templates need about ten."""

MOST = 50_000
"""Values in a spec; one with a hundred pools has about five thousand.

The disaster this prevents: a list in a pod template has half a million numbers, each check of the spec looks at all of
them, and the operator has no time for other clusters.
"""

_Place = tuple["_Place | None", str]
"""Where a value is: the place that it is in, and its own part of the path."""


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield the first field that is nested too deeply, or with which there are too many; found without recursion."""
    waiting: list[tuple[_Place, Any, int]] = [((None, "spec"), cluster.spec, 0)]
    left = MOST
    while waiting:
        place, value, depth = waiting.pop()
        if depth > LEVELS:
            yield Problem(_path(place), "...", f"must be nested no deeper than {LEVELS} levels")
            return
        left -= len(cast("list[Any]", value)) if isinstance(value, Mapping | list) else 0
        if left < 0:
            yield Problem(_path(place), "...", f"is too much: a spec may have {MOST:,} values")
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
