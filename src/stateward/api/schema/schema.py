"""Converts typed records to structural OpenAPI v3 schemas, as CustomResourceDefinitions need them.

Neither msgspec's own JSON schemas (`$ref`, `anyOf` with null) nor those of other libraries are structural. Defaults are
not written, so that unset fields stay unset. An optional field is not `nullable`: the API server drops a null there,
which means the same as an unset field. A field without a description is refused: `kubectl explain` explains all.

`Meta(extra={...})` adds what Python's types cannot express: `map_keys` (the list is merged by these keys), `list_type`,
`accepts` (the sentence shown instead of the pattern), `shape` (the outer shape of raw JSON, see `shapes`) and `owned`
(settings that are refused).
"""

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any, cast

import msgspec.inspect as mi

from stateward.api.schema.rule import Rule
from stateward.api.schema.rules import owned_rule
from stateward.api.values.base import Json, Record
from stateward.api.values.settings import Owned, Shape

Rules = Mapping[type[Record], tuple[Rule, ...]]

_SHAPES: Mapping[Shape, Json] = {
    Shape.SCALAR: {"x-kubernetes-int-or-string": True},
    Shape.FLAG: {"type": "boolean"},
    Shape.LIST: {"type": "array", "items": {"type": "string"}},
}
_PRESERVED: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class SchemaError(TypeError):
    """A type without a structural schema, or a field without a description."""


def schema_of(record: type[Record], rules: Rules) -> Json:
    """Return the structural schema of a record; raise `SchemaError` if there is none."""
    return _of(mi.type_info(record), rules, record.__name__)


def field_schema(record: type[Record], name: str, rules: Rules) -> Json:
    """Return the structural schema of one field of a record."""
    info = cast("mi.StructType", mi.type_info(record))
    return next(_field(field, rules, record) for field in info.fields if field.name == name)


def description_of(info: mi.Type) -> str:
    """Return the description of a field; empty without one."""
    said = cast("Json", info.extra_json_schema or {}) if isinstance(info, mi.Metadata) else {}
    return str(said.get("description", ""))


def extra_of(info: mi.Type) -> Json:
    """Return the content of a field's `Meta(extra=...)`."""
    return cast("Json", info.extra or {}) if isinstance(info, mi.Metadata) else {}


def _of(info: mi.Type, rules: Rules, at: str) -> Json:
    match info:
        case mi.Metadata():
            schema = _annotated(info, rules, at)
        case mi.UnionType():
            schema = _union(info, rules, at)
        case mi.StructType():
            schema = _struct(info, rules)
        case mi.ListType():
            items = _of(info.item_type, rules, f"{at}[]")
            schema = {"type": "array", **_bounds(info.min_length, info.max_length, "Items"), "items": items}
        case mi.DictType():
            schema = _mapping(info, rules, at)
        case _:
            schema = _scalar(info, at)
    return schema


def _scalar(info: mi.Type, at: str) -> Json:
    match info:
        case mi.StrType():
            pattern = {} if info.pattern is None else {"pattern": info.pattern}
            return {"type": "string", **_bounds(info.min_length, info.max_length, "Length"), **pattern}
        case mi.IntType():
            bounds = {"minimum": info.ge, "maximum": info.le}
            return {"type": "integer", "format": "int64"} | {k: v for k, v in bounds.items() if v is not None}
        case mi.EnumType():
            return {"type": "string", "enum": _values(info.cls)}
        case mi.BoolType():
            return {"type": "boolean"}
        case mi.AnyType():
            return {"x-kubernetes-preserve-unknown-fields": True}
        case _:
            raise SchemaError(f"{at}: no structural schema for {type(info).__name__}")


def _struct(info: mi.StructType, rules: Rules) -> Json:
    cls = cast("type[Record]", info.cls)
    properties = {field.encode_name: _field(field, rules, cls) for field in info.fields}
    schema: Json = {"description": inspect.getdoc(cls), "type": "object"}
    if required := [field.encode_name for field in info.fields if field.required]:
        schema["required"] = required
    schema["properties"] = properties
    if cls in rules:
        schema["x-kubernetes-validations"] = [rule.document() for rule in rules[cls]]
    return schema


def _field(field: mi.Field, rules: Rules, cls: type[Record]) -> Json:
    at = f"{cls.__name__}.{field.name}"
    schema = _of(field.type, rules, at)
    if not schema.get("description"):
        raise SchemaError(f"{at} has no description")
    return schema


def _annotated(info: mi.Metadata, rules: Rules, at: str) -> Json:
    schema = _of(info.type, rules, at)
    extra = extra_of(info)
    if "accepts" in extra:
        _explain_pattern(schema, str(extra["accepts"]))
    if "map_keys" in extra:
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(extra["map_keys"])}
    if "list_type" in extra:
        schema["x-kubernetes-list-type"] = extra["list_type"]
    if "shape" in extra:
        schema = {"type": "object", **extra["shape"]}
    if "owned" in extra:
        _refuse(schema, extra["owned"])
    return {**schema, "description": description_of(info) or schema.get("description", "")}


def _explain_pattern(schema: Json, accepts: str) -> None:
    """Put a rule in the pattern's place: the API server would show the expression and nothing else."""
    rule = Rule(f"self.matches(r'{schema.pop('pattern')}')", accepts, shown="self")
    schema["x-kubernetes-validations"] = [rule.document()]


def _refuse(schema: Json, owned: Mapping[str, Owned]) -> None:
    """Name the owned settings, so that rules can see them and `kubectl explain` can say why they are refused."""
    schema["properties"] = {
        key: {"description": f"Cannot be set: {setting.reason}.", **_SHAPES[setting.shape]}
        for key, setting in owned.items()
    }
    schema["x-kubernetes-validations"] = [owned_rule(key, setting).document() for key, setting in owned.items()]


def _union(info: mi.UnionType, rules: Rules, at: str) -> Json:
    kinds = [kind for kind in info.types if not isinstance(kind, mi.NoneType)]
    if len(kinds) == 1:
        return _of(kinds[0], rules, at)
    if {type(kind) for kind in kinds} == {mi.IntType, mi.StrType}:
        return {"x-kubernetes-int-or-string": True}
    raise SchemaError(f"{at}: a union of {len(kinds)} kinds")


def _mapping(info: mi.DictType, rules: Rules, at: str) -> Json:
    if isinstance(info.value_type, mi.AnyType):
        return dict(_PRESERVED)
    return {"type": "object", "additionalProperties": _of(info.value_type, rules, f"{at}{{}}")}


def _bounds(least: int | None, most: int | None, what: str) -> Json:
    bounds = {f"min{what}": least, f"max{what}": most}
    return {key: value for key, value in bounds.items() if value is not None}


def _values(cls: type[Enum]) -> list[Any]:
    return [member.value for member in cls]
