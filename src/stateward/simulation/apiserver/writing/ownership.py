"""Ownership of fields: documents as sets of paths, and how a write changes which manager owns what.

A path is made of field names; an item of a list that merges by key is `Item(values of its keys)`, an item of a set is
`Element(value)`. Everything else (scalars, atomic lists, empty objects) is owned as a whole.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from stateward.simulation.apiserver.documents import Doc
from stateward.simulation.apiserver.kinds import ATOMIC, kind_of, list_keys
from stateward.simulation.apiserver.store import Fields, Manager, Path


class Item(NamedTuple):
    """An item of a list that merges by key."""

    values: tuple[object, ...]


class Element(NamedTuple):
    """An item of a list that is a set."""

    value: object


MISSING = object()
"""The value at a path that does not exist."""

_UNOWNED = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}


def item_of(keys: tuple[tuple[str, object], ...], item: Mapping[str, Any]) -> Item:
    """Return the identity of an item of a merging list."""
    return Item(tuple(item.get(key, default) for key, default in keys))


def leaves(kind: str, doc: Doc) -> dict[Path, Any]:
    """Return every field that a manager can own, with its value; each item of a merging list is a field too."""
    return {path: value for path, value in _walk(kind, doc, ()) if path not in _UNOWNED}


def _walk(kind: str, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value and (not path or path[-1] not in ATOMIC):
        for name, inner in cast("Doc", value).items():
            yield from _walk(kind, inner, (*path, name))
        return
    keys = list_keys(kind, path) if isinstance(value, list) and path else None
    items = cast("list[Any]", value)
    if keys is None:
        yield path, value
    elif keys:
        for item in items:
            place = (*path, item_of(keys, item))
            yield place, None
            yield from _walk(kind, item, place)
    else:
        for element in items:
            yield (*path, Element(element)), None


def find(kind: str, doc: Any, path: Path) -> Any:
    """Return the value at a path of a document, or MISSING."""
    value: Any = doc
    for depth, part in enumerate(path):
        if isinstance(part, Item):
            keys = list_keys(kind, path[:depth]) or ()
            inside = cast("list[Any]", value or [])
            value = next((item for item in inside if item_of(keys, item) == part), MISSING)
        elif isinstance(part, Element):
            value = part.value if part.value in cast("list[Any]", value or []) else MISSING
        else:
            value = cast("Any", value.get(part, MISSING) if isinstance(value, dict) else MISSING)
        if value is MISSING:
            return MISSING
    return value


def after_update(
    kind: str, before: Doc, after: Doc, managers: Mapping[Manager, Fields], writer: Manager
) -> dict[Manager, Fields]:
    """Return the ownership after an ordinary write: the writer owns what it changed; a removed field has no owner."""
    if not kind_of(kind).tracked:
        return {}
    # Documents share their unchanged parts, so only the other parts are walked.
    old = leaves(kind, {name: value for name, value in before.items() if after.get(name) is not value})
    new = leaves(kind, {name: value for name, value in after.items() if before.get(name) is not value})
    changed = frozenset(path for path, value in new.items() if path not in old or old[path] != value)
    gone = frozenset(old) - frozenset(new)
    result = {manager: fields - changed - gone for manager, fields in managers.items()}
    result[writer] = result.get(writer, frozenset()) | changed
    return {manager: fields for manager, fields in result.items() if fields}
