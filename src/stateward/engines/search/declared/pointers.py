"""JSON pointers into a body: `/a/0/b`, where `*` stands for all keys of an object or all items of a list.

`~0` and `~1` stand for `~` and `/` (RFC 6901).
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, cast

from stateward.api.values.base import Json

GONE = object()
"""Instead of a value: there is none."""

Place = tuple["Place", str] | None
"""Where a value is: the place that it is in, and its own key; None for the whole body.

It is written out for one value only, because a key may be as long as the body, and be above all else in it.
"""


class NoPlaceError(LookupError):
    """A pointer to where nothing can be."""


def steps(pointer: str) -> list[str]:
    """Return the keys of a pointer."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def keys_of(place: Place) -> list[str]:
    """Return the keys that lead to a place."""
    keys = list[str]()
    while place is not None:
        place, key = place
        keys.append(key)
    return keys[::-1]


def written(place: Place) -> str:
    """Return a place as a pointer."""
    return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in keys_of(place))


def found(document: object, pointer: str) -> Iterator[object]:
    """Yield what a pointer leads to; nothing if there is nothing."""
    yield from (value for _, value in _places(document, steps(pointer), None))


def places(document: object, pointer: str) -> Iterator[tuple[str, object]]:
    """Yield each place that a pointer leads to, as a pointer without `*`, and what is there."""
    yield from ((written(place), value) for place, value in _places(document, steps(pointer), None))


def _places(document: object, keys: list[str], at: Place) -> Iterator[tuple[Place, object]]:
    if not keys:
        yield at, document
        return
    first, rest = keys[0], keys[1:]
    for key, inner in _items(document):
        if first in ("*", key):
            yield from _places(inner, rest, (at, key))


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
    """Return a copy without what a pointer leads to; items of lists stay."""
    return replaced(document, pointer, lambda _: GONE)


def replaced(document: object, pointer: str, change: Callable[[object], object]) -> object:
    """Return a copy with each value that a pointer leads to changed, or without it for `GONE`; items of lists stay."""
    return replaced_beside(document, GONE, pointer, lambda value, _: change(value))


def replaced_beside(
    document: object, other: object, pointer: str, change: Callable[[object, object], object]
) -> object:
    """Return a copy as `replaced` does; `change` also gets what another document has at the same place, or `GONE`."""
    return _replaced(document, other, steps(pointer), change)


def _replaced(document: object, other: object, keys: list[str], change: Callable[[object, object], object]) -> object:
    if not keys:
        return change(document, other)
    first, rest = keys[0], keys[1:]
    if isinstance(document, list):
        items, theirs = cast("list[object]", document), cast("list[object]", other) if isinstance(other, list) else []
        pairs = enumerate(zip_longest(items, theirs[: len(items)], fillvalue=GONE))
        return [
            _replaced(item, there, rest, change) if rest and first in ("*", str(i)) else item
            for i, (item, there) in pairs
        ]
    if not isinstance(document, Mapping):
        return document
    fields, beside = cast("Json", document), cast("Json", other) if isinstance(other, Mapping) else Json()
    made = {
        key: _replaced(inner, beside.get(key, GONE), rest, change) if first in ("*", key) else inner
        for key, inner in fields.items()
    }
    return {key: inner for key, inner in made.items() if inner is not GONE}


def moving(pointer: str, place: str) -> Callable[[object], object]:
    """Return what moves the value at a pointer to a place; one that is there already counts."""

    def moved(document: object) -> object:
        value, there = (next(found(document, each), GONE) for each in (pointer, place))
        left = without(document, pointer)
        if value is GONE or there is not GONE:
            return left
        try:
            return placed(cast("Json", left), place, value)
        except NoPlaceError:  # The database refuses such a body.
            return document

    return moved


def concealed(document: object, pointer: str) -> object:
    """Return a copy without what a pointer may lead to, in each form in which a database stores it.

    Of a list the value is left out of all items, because a stored list may have another length or order. Keys may be
    nested or dotted, with or without `index.`, and one item may be stored as a list of one. Where the document has a
    value before the end of the pointer, all of that value is left out.
    """
    return _concealed(document, [part for step in steps(pointer) for part in step.split(".")])


def _concealed(document: object, parts: list[str]) -> object:
    if isinstance(document, list):
        items = cast("list[object]", document)
        return [_concealed(item, parts) for item in items if _is_container(item)]
    if not isinstance(document, Mapping):
        return document
    left: Json = {}
    for key, inner in cast("Mapping[str, object]", document).items():
        # Each rest once: several forms leave the same one, and twice the work at each level has no end.
        rests = [list(rest) for rest in dict.fromkeys(map(tuple, _after(key, parts)))]
        if not any(_ends(inner, rest) for rest in rests):
            for rest in rests:
                inner = _concealed(inner, rest)  # noqa: PLW2901 - one form after the other
            left[key] = inner
    return left


def _after(key: str, parts: list[str]) -> Iterator[list[str]]:
    """Yield what follows in a pointer after a key of a document, for each form; the empty rest at its end."""
    mine = key.split(".")
    forms = [(mine, parts), (mine, [part for part in parts if not part.isdecimal()])]
    if "index" in (mine[0], parts[0]):
        forms += [(_bare(mine), _bare(theirs)) for _, theirs in list(forms)]
    for names, rest in forms:
        both = min(len(names), len(rest))
        if rest and names[:both] == rest[:both]:
            yield rest[both:]


def _bare(names: list[str]) -> list[str]:
    return names[1:] if names[:1] == ["index"] else names


def _ends(inner: object, rest: list[str]) -> bool:
    """Return whether a pointer with this rest may lead to a value itself, and not only to something in it."""
    if isinstance(inner, list):
        items = cast("list[object]", inner)
        return all(part.isdecimal() for part in rest) or not all(map(_is_container, items))
    return not rest or not isinstance(inner, Mapping)


def _is_container(item: object) -> bool:
    return isinstance(item, Mapping | list)
