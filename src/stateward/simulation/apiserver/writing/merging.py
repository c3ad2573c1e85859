"""Patches: JSON merge patch (RFC 7386) and JSON patch (RFC 6902), on immutable documents."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from stateward.simulation.apiserver.refusals import refusal


def merge_patch(target: Any, patch: Any) -> Any:
    """Return the target with a merge patch applied; unchanged parts are shared."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(cast("Mapping[str, Any]", target)) if isinstance(target, Mapping) else {}
    for name, value in cast("Mapping[str, Any]", patch).items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def json_patch(target: Any, operations: Sequence[Any]) -> Any:
    """Return the target with a JSON patch applied; raises Invalid if a test fails or a path is missing."""
    for operation in operations:
        path = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        target = _operate(target, path, operation)
    return target


def _operate(target: Any, path: list[str], operation: Mapping[str, Any]) -> Any:
    if operation["op"] == "test":
        if _at(target, path) != operation.get("value"):
            raise refusal(422, "Invalid", f"testing path {operation['path']} failed")
        return target
    if operation["op"] == "remove":
        return _without(target, path)
    if operation["op"] == "replace":
        _at(target, path)
        return _with(target, path, operation["value"], insert=False)
    if operation["op"] == "add":
        return _with(target, path, operation["value"], insert=True)
    raise refusal(400, "BadRequest", f"the operation {operation['op']!r} is not supported")


def _at(target: Any, path: list[str]) -> Any:
    for part in path:
        target = _child(target, part)
    return target


def _child(target: Any, part: str) -> Any:
    try:
        return cast("Any", target[int(part)] if isinstance(target, list) else target[part])
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise refusal(422, "Invalid", f"the path {part!r} does not exist") from error


def _with(target: Any, path: list[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(target, list):
        items = list(cast("list[Any]", target))
        place = len(items) if part == "-" else int(part)
        if rest or not insert:
            items[place] = _with(items[place], rest, value, insert=insert)
        else:
            items.insert(place, value)
        return items
    inner = _child(target, part) if rest else None
    return {**target, part: _with(inner, rest, value, insert=insert)}


def _without(target: Any, path: list[str]) -> Any:
    part, rest = path[0], path[1:]
    inner = _child(target, part)
    if isinstance(target, list):
        items = list(cast("list[Any]", target))
        items[int(part) : int(part) + 1] = [_without(inner, rest)] if rest else []
        return items
    kept = {name: value for name, value in target.items() if name != part}
    return {**kept, part: _without(inner, rest)} if rest else kept
