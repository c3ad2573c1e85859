"""Checks values of the chart against its schema, as Helm does: the same file means the same with and without Helm.

Only what the schema uses of JSON Schema is here. A test compares it with a complete implementation.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, cast

from stateward.api.values.base import Json
from stateward.api.values.problem import Problem

_TYPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda value: isinstance(value, str), "must be text: put it in quotes"),
    "boolean": (lambda value: isinstance(value, bool), "must be true or false, without quotes"),
    "integer": (lambda value: _is_number(value) and value == int(value), "must be a whole number, without quotes"),
    "array": (lambda value: isinstance(value, list), "must be a list"),
    "object": (lambda value: isinstance(value, dict), "must be an object"),
}
"""For each type whether a value is of it, and what is accepted."""


def problems(schema: Json, value: Any, path: str = "") -> Iterator[Problem]:
    """Yield what a schema refuses of a value."""
    fits, accepted = _TYPES.get(schema.get("type", ""), (_anything, ""))
    if not fits(value):
        yield Problem(path, value, accepted)
        return
    if value not in schema.get("enum", [value]):
        accepted = ", ".join(each or "nothing" for each in schema["enum"])
        yield Problem(path, value, f"must be one of {accepted}")
    if isinstance(value, str):
        yield from _text(schema, value, path)
    elif isinstance(value, list):
        yield from _list(schema, cast("list[Any]", value), path)
    elif isinstance(value, dict):
        yield from _object(schema, cast("Json", value), path)
    elif _is_number(value):
        yield from _number(schema, value, path)


def _anything(value: Any) -> bool:  # noqa: ARG001 - whatever it is
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(schema: Json, value: str, path: str) -> Iterator[Problem]:
    if len(value) < schema.get("minLength", 0):
        yield Problem(path, value, "must not be empty")
    pattern: str = schema.get("pattern", "")
    # In Python alone, $ also matches before a line break at the end.
    if not re.search(f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern, value):
        yield Problem(path, value, f"must match {pattern}")


def _number(schema: Json, value: float, path: str) -> Iterator[Problem]:
    if value < schema.get("minimum", value):
        yield Problem(path, value, f"must be {schema['minimum']} or more")
    if value > schema.get("maximum", value):
        yield Problem(path, value, f"must be {schema['maximum']} or less")


def _list(schema: Json, value: list[Any], path: str) -> Iterator[Problem]:
    if len(value) < schema.get("minItems", 0):
        yield Problem(path, value, f"must have {schema['minItems']} items or more")
    if schema.get("uniqueItems") and any(each in value[:at] for at, each in enumerate(value)):
        yield Problem(path, value, "must have no item twice")
    yield from chain.from_iterable(
        problems(schema.get("items", {}), each, f"{path}[{i}]") for i, each in enumerate(value)
    )


def _object(schema: Json, value: Json, path: str) -> Iterator[Problem]:
    if len(value) < schema.get("minProperties", 0):
        yield Problem(path, value, "must not be empty")
    yield from (
        Problem(_below(path, name), None, "is required") for name in schema.get("required", ()) if name not in value
    )
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, inner in value.items():
        if name in known or isinstance(more, dict):
            yield from problems(cast("Json", known.get(name, more)), inner, _below(path, name))
        elif more is False:
            yield Problem(_below(path, name), None, "the chart has no such value")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
