"""Reading JSON that others wrote: what is not there, or is something else, reads as empty."""

from typing import Any, cast

from stateward.api.values.base import Json


def obj(value: Any) -> Json:
    """Return an object; an empty one for anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def objs(value: Any) -> list[Json]:
    """Return the objects of a list."""
    return [obj(item) for item in items(value)]


def at(body: Any, *path: str) -> Any:
    """Return the value at a path of an object; None if the path does not exist."""
    for name in path:
        body = obj(body).get(name)
    return body


def text(value: Any) -> str:
    """Return text; an empty one for anything else."""
    return value if isinstance(value, str) else ""
