"""JSON pointers into a body: `/a/0/b`, where `*` stands for all keys of an object or all items of a list.

`~0` and `~1` stand for `~` and `/` (RFC 6901).
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from stateward.api.values.base import Json


class NoPlaceError(LookupError):
    """A pointer to where nothing can be."""


def steps(pointer: str) -> list[str]:
    """Return the keys of a pointer."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def found(document: object, pointer: str) -> Iterator[object]:
    """Yield what a pointer leads to; nothing if there is nothing."""
    yield from _found(document, steps(pointer))


def _found(document: object, keys: list[str]) -> Iterator[object]:
    if not keys:
        yield document
        return
    first, rest = keys[0], keys[1:]
    for key, inner in _items(document):
        if first in ("*", key):
            yield from _found(inner, rest)


def _items(document: object) -> Iterator[tuple[str, object]]:
    if isinstance(document, Mapping):
        yield from cast("Mapping[str, object]", document).items()
    elif isinstance(document, list):
        yield from ((str(i), item) for i, item in enumerate(cast("list[object]", document)))


def placed(document: Json, pointer: str, value: object) -> Json:
    """Return a copy with a value at a place; objects on the way are made. Raises NoPlaceError where none can be."""
    return cast("Json", _placed(document, steps(pointer), value, pointer))


def _placed(document: Any, keys: list[str], value: object, pointer: str) -> object:
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if isinstance(document, list):
        items = cast("list[object]", document)
        if not first.isdecimal() or int(first) >= len(items):
            raise NoPlaceError(f"{pointer}: the list has no item {first}; it has {len(items)}")
        return [_placed(item, rest, value, pointer) if i == int(first) else item for i, item in enumerate(items)]
    if not isinstance(document, Mapping):
        raise NoPlaceError(f"{pointer}: there is a value where an object has to be, before {first!r}")
    fields = cast("Mapping[str, object]", document)
    return {**fields, first: _placed(fields.get(first, {}), rest, value, pointer)}


def without(document: object, pointer: str) -> object:
    """Return a copy without what a pointer leads to."""
    return _without(document, steps(pointer))


def _without(document: object, keys: list[str]) -> object:
    if not keys or not isinstance(document, Mapping):
        return document
    fields = cast("Mapping[str, object]", document)
    if len(keys) == 1:
        return {key: inner for key, inner in fields.items() if key != keys[0]}
    return {key: _without(inner, keys[1:]) if key == keys[0] else inner for key, inner in fields.items()}
