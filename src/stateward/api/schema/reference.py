"""The reference page of a kind, in Markdown, from its record: one table per record with every field."""

import inspect
from collections.abc import Iterator, Mapping
from typing import cast

import msgspec
import msgspec.inspect as mi

from stateward.api.schema.crd import ROOT_FIELDS
from stateward.api.schema.custom_resources import ELASTICSEARCH, OPENSEARCH, Kind
from stateward.api.schema.rules import RULES
from stateward.api.schema.schema import description_of, extra_of
from stateward.api.values import dashboard_settings, settings
from stateward.api.values.base import API_VERSION, Json, Record
from stateward.api.values.settings import Owned

_HEAD = "<!-- Generated from the types in src/stateward/api; renew it with `make docs`. -->\n"


def page(kind: Kind) -> str:
    """Return the page of a kind."""
    sections = [_record(record) for record in _reached(kind.record)]
    more = [*_owned(), ""] if kind in (OPENSEARCH, ELASTICSEARCH) else []
    return "\n".join([_HEAD, _introduction(kind), *sections, *more])


def _introduction(kind: Kind) -> str:
    names = ", ".join(f"`kubectl get {name}`" for name in (*kind.short, kind.plural))
    return (
        f"# {kind.name}\n\n{_doc(kind.record)}\n\n"
        f"`apiVersion: {API_VERSION}`, `kind: {kind.name}`; {names}.\n"
        f"The same text is in the cluster: `kubectl explain {kind.singular}.spec`. A field that is not set has its\n"
        "default, now and after an update of Stateward; nothing is filled in when an object is stored.\n\n"
        f"```yaml\n{kind.example}```\n"
    )


def _record(record: type[Record]) -> str:
    rows = "\n".join(row for field in _fields(record) for row in _rows(field))
    messages = [(_where(rule.field), rule.message.replace("<", "&lt;")) for rule in RULES.get(record, ())]
    rules = "".join(f"- {where}{message}.\n" for where, message in messages)
    checked = f"\nChecked when it is applied:\n\n{rules}" if rules else ""
    table = f"| field | type | default | description |\n| --- | --- | --- | --- |\n{rows}\n"
    return f"## {record.__name__}\n\n{_doc(record)}\n\n{table}{checked}"


def _where(field: str | None) -> str:
    return f"`{field.lstrip('.')}`: " if field else ""


def _rows(field: mi.Field) -> Iterator[str]:
    about = description_of(field.type) or ROOT_FIELDS[field.name]
    yield _row(f"`{field.encode_name}`", _type(field.type), _default(field), about + _accepts(field.type))
    for name, inner in _named(extra_of(field.type).get("shape", {}), field.encode_name):
        yield _row(f"`{name}`", _SHAPES[inner["type"]], "", inner["description"])


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _named(shape: Json, path: str) -> Iterator[tuple[str, Json]]:
    for name, inner in shape.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from _named(inner, f"{path}.{name}")


def _accepts(info: mi.Type) -> str:
    accepts = extra_of(info).get("accepts")
    return f" It {accepts}." if accepts else ""


_SHAPES = {"object": "object", "array": "list", "string": "text", "boolean": "true or false"}
_SCALARS = {"StrType": "text", "IntType": "number", "BoolType": "true or false"}


def _type(info: mi.Type) -> str:
    match info:
        case mi.Metadata():
            text = _type(info.type)
        case mi.StructType():
            text = _linked(info.cls.__name__)
        case mi.ListType():
            text = f"list of {_type(info.item_type)}"
        case mi.UnionType():
            text = " or ".join(_type(kind) for kind in info.types if not isinstance(kind, mi.NoneType))
        case mi.EnumType():
            text = " or ".join(f"`{member.value}`" for member in info.cls)
        case mi.DictType():
            text = "map of text" if isinstance(info.value_type, mi.StrType) else "object"
        case _:
            text = _SCALARS[type(info).__name__]
    return text


def _linked(name: str) -> str:
    return name if name == "Metadata" else f"[{name}](#{name.lower()})"


def _default(field: mi.Field) -> str:
    if field.required:
        return "required"
    if field.default_factory is not msgspec.NODEFAULT or field.default in (None, ""):
        return ""
    if isinstance(field.default, msgspec.Struct):
        return ""
    return f"`{msgspec.json.encode(field.default).decode().strip(chr(34))}`"


def _reached(record: type[Record]) -> list[type[Record]]:
    """Return the record and all that its fields lead to, each once, in the order of reading."""
    found = [record]
    for field in _fields(record):
        for inner in _records_in(field.type):
            found += [other for other in _reached(inner) if other not in found]
    return found


def _records_in(info: mi.Type) -> Iterator[type[Record]]:
    match info:
        case mi.Metadata():
            yield from _records_in(info.type)
        case mi.ListType():
            yield from _records_in(info.item_type)
        case mi.UnionType():
            for kind in info.types:
                yield from _records_in(kind)
        case mi.StructType() if info.cls.__name__ != "Metadata":
            yield cast("type[Record]", info.cls)
        case _:
            pass


def _fields(record: type[Record]) -> tuple[mi.Field, ...]:
    return cast("mi.StructType", mi.type_info(record)).fields


def _doc(record: type[Record]) -> str:
    return inspect.getdoc(record) or ""


def _owned() -> list[str]:
    """Return the settings of the configuration files of a search cluster that Stateward owns."""
    return [
        _owned_in("config", settings.OWNED, settings.FAMILIES),
        "",
        _owned_in("dashboards.config", dashboard_settings.OWNED, dashboard_settings.FAMILIES),
    ]


def _owned_in(field: str, owned: Mapping[str, Owned], families: Mapping[str, str]) -> str:
    rows = [f"| `{key}` | {one.reason} |" for key, one in owned.items()]
    rows += [f"| `{family}*` | {reason} |" for family, reason in families.items()]
    table = "\n".join(rows)
    return f"## Settings that cannot be set in `{field}`\n\n| setting | why |\n| --- | --- |\n{table}"
