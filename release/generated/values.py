"""The schema, the reference page and the README of the chart's values, from the comments and defaults in `values.yaml`.

The comment above a key is its description. Its type follows from the default; a comment line `@schema {...}` adds JSON
Schema, such as the accepted values.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import yaml
from msgspec import Struct

_MARK = "@schema "
_TYPES: dict[type, str] = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}


class Value(Struct, frozen=True):
    """One value of the chart; `children` are those of an object with a fixed set of keys."""

    path: str
    description: str
    default: object
    schema: dict[str, Any]
    children: tuple["Value", ...] = ()

    @property
    def name(self) -> str:
        """The key in its object."""
        return self.path.rpartition(".")[2]


def values(text: str) -> tuple[Value, ...]:
    """Return the values of the chart in order; raises ValueError for a value without a description."""
    root = yaml.compose(text, yaml.SafeLoader)
    return tuple(_children(cast("yaml.MappingNode", root), text.splitlines(), "", yaml.safe_load(text)))


def _children(node: yaml.MappingNode, lines: Sequence[str], path: str, defaults: dict[str, Any]) -> Iterator[Value]:
    for key, inner in node.value:
        name = str(key.value)
        description, schema = _comment(lines, key.start_mark.line)
        where, default = f"{path}{name}", defaults[name]
        fixed = isinstance(inner, yaml.MappingNode) and bool(inner.value) and "additionalProperties" not in schema
        if not description and not fixed:
            raise ValueError(f"values.yaml: {where} has no comment above it")
        below = tuple(_children(inner, lines, f"{where}.", default)) if fixed else ()
        yield Value(where, description, default, {"type": _TYPES[type(default)], **schema}, below)


def _comment(lines: Sequence[str], line: int) -> tuple[str, dict[str, Any]]:
    """Return the comment above a line, and the schema in it."""
    found: list[str] = []
    while line > 0 and lines[line - 1].strip().startswith("#"):
        line -= 1
        found.insert(0, lines[line].strip().removeprefix("#").strip())
    schema: dict[str, Any] = {}
    for text in (text for text in found if text.startswith(_MARK)):
        schema |= yaml.safe_load(text.removeprefix(_MARK))
    return " ".join(text for text in found if not text.startswith(_MARK)), schema


def schema(text: str) -> str:
    """Return `values.schema.json`: Helm refuses values that do not match it, also misspelled ones."""
    root = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the chart stateward"}
    # Helm adds `global`, which every chart shares with its parents.
    properties = {**_properties(values(text)), "global": {"type": "object"}}
    return json.dumps({**root, **_closed(properties)}, indent=2) + "\n"


def _properties(found: Sequence[Value]) -> dict[str, Any]:
    return {value.name: _schema_of(value) for value in found}


def _schema_of(value: Value) -> dict[str, Any]:
    described = {"description": value.description} if value.description else {}
    if value.children:
        return {**described, **_closed(_properties(value.children))}
    return {**described, **value.schema}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def page(text: str) -> str:
    """Return the reference page of the values."""
    return _HEADER + _table(text)


def readme(text: str) -> str:
    """Return the README of the chart, which is part of its archive."""
    return _README + _table(text)


def _table(text: str) -> str:
    rows = (
        f"| `{value.path}` | {_type(value)} | {_default(value)} | {value.description} |\n"
        for value in leaves(values(text))
    )
    return "| value | type | default | meaning |\n| --- | --- | --- | --- |\n" + "".join(rows)


def leaves(found: Sequence[Value]) -> Iterator[Value]:
    """Yield the values that a user sets, in order."""
    for value in found:
        yield from leaves(value.children) if value.children else (value,)


def _type(value: Value) -> str:
    choices: list[object] = value.schema.get("enum", [])
    return " or ".join(f"`{choice}`" for choice in choices) or str(value.schema["type"])


def _default(value: Value) -> str:
    text = json.dumps(value.default)
    return f"`{text}`" if len(text) <= 60 else "see `values.yaml`"


_HEADER = """\
<!-- Generated from charts/stateward/values.yaml; renew it with `make docs`. -->
# Helm values

Values of the chart `charts/stateward`. Helm refuses unknown values and wrong types (`values.schema.json`).
`stateward manifests --values FILE` accepts the same file without Helm. See [install and upgrade](../install.md).

"""
_README = """\
<!-- Generated from values.yaml; renew it with `make docs`. -->
# Stateward

A Kubernetes operator for OpenSearch, Elasticsearch and FoundationDB, which applies every change along the gentlest safe
path.

```sh
helm install stateward . -n stateward-system --create-namespace --set image.repository=registry.example/stateward
helm upgrade stateward . -n stateward-system --reset-then-reuse-values
helm uninstall stateward -n stateward-system
```

It needs Kubernetes 1.29 and Helm 3.17, or newer. An upgrade restarts no database. The CRDs are upgraded with the chart,
and stay when it is uninstalled, with all clusters; databases keep running. `docs/` of the source has all pages,
`docs/install.md` this subject.

## Values

Helm refuses unknown values and wrong types (`values.schema.json`).

"""
