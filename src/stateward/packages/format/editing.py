"""The JSON schema of installations of one package: editors complete the values with it, and say what is wrong."""

from typing import Any, cast

from stateward.api.schema.crd import root_schema
from stateward.api.schema.custom_resources import INSTALLATION
from stateward.api.values.base import API_VERSION, Json
from stateward.packages.format.records import Package
from stateward.packages.format.schema import DIALECT, schema


def installation_schema(package: Package) -> Json:
    """Return the schema of a whole Installation of a package."""
    whole = cast("Json", _plain(root_schema(INSTALLATION)))
    values = {name: inner for name, inner in schema(package).items() if name not in {"$schema", "title"}}
    spec: Json = whole["properties"]["spec"]
    about = spec["properties"]["parameters"]["description"]
    spec["properties"]["parameters"] = {"description": about, **values}
    spec["required"] = [*spec.get("required", ()), *(["parameters"] if values["required"] else [])]
    spec["additionalProperties"] = False
    head = {"apiVersion": {"const": API_VERSION}, "kind": {"const": INSTALLATION.name}}
    return {
        "$schema": DIALECT,
        "title": f"Installation of {package.name} {package.version}",
        **whole,
        "required": ["apiVersion", "kind", *whole["required"]],
        "properties": whole["properties"] | head,
    }


def _plain(schema: Any) -> Any:
    """Leave out what only API servers understand."""
    if isinstance(schema, list):
        return [_plain(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("Json", schema).items()
    return {name: _plain(inner) for name, inner in members if not name.startswith("x-kubernetes-")}
