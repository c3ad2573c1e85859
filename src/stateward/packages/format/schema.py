"""The JSON schema of a package's parameters, for editors and for generators of values.

It accepts what is accepted when the values are used, except for two rules that a schema cannot express: that a text is
the YAML of a list or a map, and that a value must not change.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from stateward.api.values.base import Json
from stateward.packages.format.parameters import NUMBER, WHOLE, same, seen, text_of
from stateward.packages.format.records import Package, Parameter, ParameterType

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCHEMAS: Mapping[ParameterType, Json] = {
    ParameterType.STRING: {"type": ["string", "number", "boolean"]},
    ParameterType.INTEGER: {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": f"^{WHOLE}$"}]},
    ParameterType.NUMBER: {"anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{NUMBER}$"}]},
    ParameterType.BOOLEAN: {"enum": [True, False, "true", "false"]},
    ParameterType.ARRAY: {"type": ["array", "string"]},
    ParameterType.MAP: {"type": ["object", "string"]},
}


def schema(package: Package) -> Json:
    """Return the JSON schema of the values."""
    return {
        "$schema": DIALECT,
        "title": f"Parameters of {package.name} {package.version}",
        "type": "object",
        "properties": {name: _property(parameter) for name, parameter in package.parameters.items()},
        "required": [name for name, parameter in package.parameters.items() if parameter.owed],
        "additionalProperties": False,
    }


def _property(parameter: Parameter) -> Json:
    body = dict(_SCHEMAS[parameter.type]) if parameter.enum is None else {"enum": _spellings(parameter)}
    if not parameter.owed:
        body = _or_nothing(body)
    fixed = " It cannot be changed once it is installed." if parameter.immutable else ""
    about = {"title": parameter.display_name, "description": f"{parameter.description.strip()}{fixed}".strip()}
    body |= {name: text for name, text in about.items() if text}
    if parameter.default is not None:
        body["default"] = parameter.default
    return body


def _or_nothing(body: Json) -> Json:
    """Return a schema that accepts a name without a value, too: then the default counts."""
    if "enum" in body:
        return {"enum": [*body["enum"], None]}
    if "anyOf" in body:
        return {"anyOf": [*body["anyOf"], {"type": "null"}]}
    return {"type": [*body["type"], "null"]}


def _spellings(parameter: Parameter) -> list[Any]:
    """Return the choices in each way in which they may be written: as what they are, and as text."""
    found = list(parameter.enum or ())
    for choice in parameter.enum or ():
        if parameter.type in (ParameterType.ARRAY, ParameterType.MAP):
            others = [seen(parameter, choice)]
        else:
            others = [*_as_itself(choice)] if isinstance(choice, str) else [text_of(choice)]
        found += [other for other in others if not any(same(other, known) for known in found)]
    return found


def _as_itself(choice: str) -> list[Any]:
    """Return the number or flag that templates see as this text, if there is one."""
    try:
        value: Any = msgspec.json.decode(choice)
    except (msgspec.DecodeError, RecursionError):
        return []
    return [value] if isinstance(value, bool | int | float) and text_of(value) == choice else []
