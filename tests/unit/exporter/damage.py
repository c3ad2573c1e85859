"""Damages answers of databases: fields that are missing, and garbage in their place."""

import math
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

GARBAGE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(max_value=-1)
    | st.floats(max_value=-0.5)
    | st.sampled_from([math.inf, math.nan, 10**400])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MISSING = object()


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each part of a document."""
    yield way
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*way, key))


def damage(document: Any, way: tuple[Any, ...], value: Any) -> Any:
    """Return a document with another value at a place, or without it."""
    if not way:
        return None if value is MISSING else value
    key, *rest = way
    if isinstance(document, dict) and key in document:
        if value is MISSING and not rest:
            return {name: part for name, part in document.items() if name != key}
        return {**document, key: damage(document[key], tuple(rest), value)}
    if isinstance(document, list) and isinstance(key, int) and key < len(document):
        return [damage(part, tuple(rest), value) if at == key else part for at, part in enumerate(document)]
    return document
