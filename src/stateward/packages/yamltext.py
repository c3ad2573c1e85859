"""YAML as Kubernetes' tools read it: into what JSON can say, and nothing else.

PyYAML follows an older rule book: it makes a date of `2020-01-01`, 3,785,400 of `1051:30:00` and text of `1e3`. kubectl
keeps the first two as text and reads the third as a number; so does this.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode

_TAG = "tag:yaml.org,2002:"


class NotYaml(ValueError):  # noqa: N818 - says what the text is not
    """A text that is no YAML; `line` counts from 1, 0 where it is not known."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class _Loader(yaml.SafeLoader):
    """Reads JSON's values only."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own way

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        value: Any = super().construct_object(node, deep=deep)  # pyright: ignore[reportUnknownMemberType]
        if isinstance(value, float) and not math.isfinite(value):
            raise ConstructorError(None, None, "there is no such number in JSON", node.start_mark)
        return value


def _number(_loader: yaml.SafeLoader, node: ScalarNode) -> int:
    text = node.value.replace("_", "")
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if re.fullmatch("0[0-7]+", digits):
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _as_written(_loader: yaml.SafeLoader, node: ScalarNode) -> str:
    return node.value


def _text_keys(loader: "_Loader", node: MappingNode) -> Iterator[dict[str, Any]]:
    """Build an object; keys become text, as in JSON."""
    value: dict[str, Any] = {}
    yield value
    loader.flatten_mapping(node)
    for key_node, inner in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, dict | list):
            raise ConstructorError(None, None, "a key must be text", key_node.start_mark)
        name = key if isinstance(key, str) else key_node.value
        value[name] = loader.construct_object(inner, deep=True)


def _resolve(tag: str, pattern: str, first: list[str]) -> None:
    _Loader.add_implicit_resolver(_TAG + tag, re.compile(pattern), first)  # pyright: ignore[reportUnknownMemberType]


_resolve("null", r"^(~|null|Null|NULL|)$", ["~", "n", "N", ""])
_resolve(
    "bool", r"^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$", list("yYnNtTfFoO")
)
_resolve("int", r"^[-+]?(0b[01_]+|0o?[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$", list("-+0123456789"))
_resolve(
    "float",
    r"^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$",
    list("-+0123456789."),
)
_resolve("merge", r"^<<$", ["<"])
_Loader.add_constructor(_TAG + "int", _number)
_Loader.add_constructor(_TAG + "map", _text_keys)
_Loader.add_constructor(_TAG + "merge", _as_written)


def documents(text: str) -> list[Any]:
    """Return the documents of a YAML text; raises NotYaml."""
    try:
        return list(yaml.load_all(text, _Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise NotYaml(error.problem or str(error), mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise NotYaml(" ".join(str(error).split())) from error


def document(text: str) -> Any:
    """Return the only document of a YAML text; raises NotYaml."""
    found = documents(text)
    if len(found) > 1:
        raise NotYaml(f"holds {len(found)} documents and not one")
    return found[0] if found else None


def written(text: str) -> Any:
    """Return a document in which every value is the text that was written, without nulls; raises NotYaml.

    A version without quotes (`5.10`) is not a number, whatever it looks like.
    """
    document(text)
    return _written(yaml.compose(text, _Loader))


def _written(node: Node | None) -> Any:
    if node is None or node.tag == _TAG + "null":
        return None
    if isinstance(node, yaml.MappingNode):
        _Loader("").flatten_mapping(node)
        members = ((key.value, _written(value)) for key, value in node.value)
        return {key: value for key, value in members if value is not None}
    if isinstance(node, yaml.SequenceNode):
        return [_written(item) for item in node.value]
    return node.value


class _Dumper(yaml.SafeDumper):
    """Writes out what occurs twice, and puts quotes around what a reader would take for something else than text."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


def to_yaml(value: object) -> str:
    """Return a value as YAML, keys in order."""
    return yaml.dump(value, Dumper=_Dumper, default_flow_style=False, sort_keys=True, allow_unicode=True, width=10**9)
