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
"""Values in a spec; one with a hundred pools has about five thousand. What all pools share counts for each of them.

The disaster this prevents: a list in a pod template has half a million numbers, each check of the spec looks at all of
them, and the operator has no time for other clusters.
"""

LONG = 100
"""Characters of a text that count as one value more: what reads it takes as long."""

SHARED = ("pod_template", "config", "secure_settings", "plugins", "knobs")
"""Fields of the spec that become a part of each pool, and are so read once for each.

The disaster this prevents: a megabyte of settings is made into the files and templates of fifty pools, again for each
check, which takes minutes; the operator loses its lease, and no other cluster is managed.
"""

_Place = tuple["_Place | None", str]
"""Where a value is: the place that it is in, and its own part of the path."""


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield the first field that is nested too deeply, or with which there are too many; found without recursion."""
    waiting: list[tuple[_Place, Any, int, int]] = [((None, "spec"), cluster.spec, 0, 1)]
    left, pools = MOST, len(cluster.spec.pools)
    while waiting:
        place, value, depth, times = waiting.pop()
        if depth > LEVELS:
            yield Problem(_path(place), "...", f"must be nested no deeper than {LEVELS} levels")
            return
        left -= times * _size(value)
        if left < 0:
            yield Problem(_path(place), "...", _too_much(times))
            return
        for name, inner in _inside(value):
            often = pools if value is cluster.spec and name in _paths_of_shared(type(cluster.spec)) else times
            waiting.append(((place, name), inner, depth + 1, often))


def _too_much(times: int) -> str:
    shared = f", and what all {times} pools share counts {times} times" if times > 1 else ""
    return f"is too much: a spec may have {MOST:,} values{shared}"


def _size(value: Any) -> int:
    """Return how many values there are directly in one, with what long texts count for."""
    if isinstance(value, Mapping):
        return sum(1 + len(name) // LONG for name in cast("Mapping[str, Any]", value))
    if isinstance(value, list):
        return len(cast("list[Any]", value))
    return len(value) // LONG if isinstance(value, str) else 0


@cache
def _paths_of_shared(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the shared fields of a spec as parts of a path."""
    return frozenset(f".{field.encode_name}" for field in msgspec.structs.fields(kind) if field.name in SHARED)


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
