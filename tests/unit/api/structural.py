"""What an API server does with a structural schema, as far as these schemas go: an independent reading for tests."""

import re
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
_BY_TYPE = {int: {"minimum"}, str: {"pattern"}}
_MATCHES = re.compile(r"self\.matches\(r'(.*)'\)")


def faults(schema: Schema, value: Any, path: str = "") -> list[str]:
    """Return the paths at which a strict API server refuses a value; rules between fields are not evaluated."""
    if "x-kubernetes-int-or-string" in schema:
        good = isinstance(value, int | str) and not isinstance(value, bool)
        return _within({k: v for k, v in schema.items() if k in _BY_TYPE[type(value)]}, value, path) if good else [path]
    if "type" in schema and (not isinstance(value, _TYPES[schema["type"]]) or _is_wrong_bool(schema, value)):
        return [path]
    return _within(schema, value, path) + _inside(schema, value, path)


def _is_wrong_bool(schema: Schema, value: Any) -> bool:
    return isinstance(value, bool) and schema["type"] != "boolean"


_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "enum": lambda value, bound: value in bound,
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "minLength": lambda value, bound: len(value) >= bound,
    "maxLength": lambda value, bound: len(value) <= bound,
    "minItems": lambda value, bound: len(value) >= bound,
    "maxItems": lambda value, bound: len(value) <= bound,
    "pattern": lambda value, bound: re.search(bound, value) is not None,
    "required": lambda value, bound: all(value.get(name) is not None for name in bound),
}


def _within(schema: Schema, value: Any, path: str) -> list[str]:
    broken = [name for name, holds in _BOUNDS.items() if name in schema and not holds(value, schema[name])]
    patterns = [_MATCHES.fullmatch(rule["rule"]) for rule in schema.get("x-kubernetes-validations", [])]
    broken += [match[1] for match in patterns if match and not re.search(match[1], value)]
    return [path] if broken else []


def _inside(schema: Schema, value: Any, path: str) -> list[str]:
    if isinstance(value, list):
        return [f for i, item in enumerate(value) for f in faults(schema["items"], item, f"{path}[{i}]")]
    if not isinstance(value, dict) or "x-kubernetes-preserve-unknown-fields" in schema:
        return []
    found: list[str] = []
    for name, inner in value.items():
        below = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
        if below is None:
            found.append(f"{path}.{name}")
        elif inner is not None:
            found += faults(below, inner, f"{path}.{name}")
    return found
