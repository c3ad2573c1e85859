"""Reads optional parts of JSON documents."""

from typing import Any, cast

Doc = dict[str, Any]
"""An object as JSON; never changed once it is stored."""


def part(doc: Doc, *path: str) -> Doc:
    """Return the object at a path; empty if there is none."""
    found: Any = doc
    for name in path:
        found = found.get(name)
        if not found:
            return {}
    return cast("Doc", found)


def items(doc: Doc, *path: str) -> list[Any]:
    """Return the list at a path; empty if there is none."""
    found = part(doc, *path[:-1]).get(path[-1])
    return cast("list[Any]", found or [])


def put(doc: Doc, path: tuple[str, ...], value: Any) -> Doc:
    """Return the document with a value at a path; unchanged parts are shared."""
    if not path:
        return cast("Doc", value)
    return {**doc, path[0]: put(part(doc, path[0]), path[1:], value) if len(path) > 1 else value}
