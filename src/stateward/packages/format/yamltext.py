"""YAML as Kubernetes' tools read it: only values that JSON can express.

PyYAML follows YAML 1.1: it reads `2020-01-01` as a date, `1051:30:00` as 3,785,400 and `1e3` as text. kubectl keeps the
first two as text and reads the third as a number; so does this module.

An alias costs nothing to read and everything to expand: ten lines of lists of aliases exceed any memory, and an alias
to its own parent has no end. So the expanded size is limited, and so are length, depth and nodes; four million
characters may have two million nodes, and they are counted before any of them is created.
"""

import math
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode

from stateward.packages.format.work_budget import LARGEST_OUTPUT

_TAG = "tag:yaml.org,2002:"
_HALF = re.compile("[\ud800-\udfff]")
"""Half of a character: an escape of YAML can write it, and nothing that is sent or stored can."""


_QUOTED = re.compile(r"(?P<own>'<[^']*>'|'\W')|'[^']*'|\"[^\"]*\"")
"""Parts of the text that the parser repeats; its own names, such as '<block end>', stay, and single characters such as
':'.
"""
HIDDEN = "..."


MOST_NODES = 200_000
"""Scalars, lists, objects, aliases and documents of one text; the largest custom resource definitions have 30,000."""
DEEPEST = 200
"""Lists and objects within each other."""


class NotYaml(ValueError):  # noqa: N818 - says what the text is not
    """The text is not YAML; `line` counts from 1, 0 if it is unknown. `public` contains nothing of the text."""

    def __init__(self, message: str, line: int = 0, public: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.public = public or _QUOTED.sub(lambda found: found["own"] or HIDDEN, message)


def _bound(text: str, most: int) -> int:
    """Return the nodes of a text; raises ConstructorError for one with more of them, or deeper, than may be read."""
    if len(text) > LARGEST_OUTPUT:
        raise ConstructorError(None, None, f"has {len(text)} characters, and at most {LARGEST_OUTPUT} are read")
    nodes = depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            continue
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        if isinstance(event, yaml.NodeEvent | yaml.DocumentStartEvent):
            nodes += 1
        if nodes > most:
            raise ConstructorError(None, None, f"has more than {most} nodes, which is the limit")
        if depth > DEEPEST:
            raise ConstructorError(None, None, f"is nested deeper than {DEEPEST} levels, which is the limit")
    return nodes


class _Loader(yaml.CSafeLoader):
    """Reads JSON's values only."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own way

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._size = 0

    def get_node(self) -> Node | None:
        return self._bounded(super().get_node())

    def get_single_node(self) -> Node | None:
        return self._bounded(super().get_single_node())

    def _bounded(self, node: Node | None) -> Node | None:
        if node is not None:
            self._size += _written_out(node, {})
            if self._size > LARGEST_OUTPUT:
                raise ConstructorError(None, None, "its aliases expand to too much text")
        return node

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        value: Any = super().construct_object(node, deep=deep)  # pyright: ignore[reportUnknownMemberType]
        if isinstance(value, float) and not math.isfinite(value):
            raise ConstructorError(None, None, "JSON has no such number", node.start_mark)
        if isinstance(value, str) and _HALF.search(value):
            raise ConstructorError(None, None, "UTF-8 cannot encode this text", node.start_mark)
        return value


def _written_out(node: Node, known: dict[int, int | None]) -> int:
    """Return the expanded size of a node in characters and elements."""
    if id(node) in known:
        size = known[id(node)]
        if size is None:
            raise ConstructorError(None, None, "holds itself", node.start_mark)
        return size
    known[id(node)] = None
    size = 1
    if isinstance(node, ScalarNode):
        size = max(1, len(node.value))
    elif isinstance(node, MappingNode):
        size += sum(_written_out(part, known) for member in node.value for part in member)
    else:
        size += sum(_written_out(item, known) for item in node.value)
    known[id(node)] = size
    return size


def _number(_loader: _Loader, node: ScalarNode) -> int | float:
    text = node.value.replace("_", "")
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    found = sign * (int(digits, 8) if re.fullmatch("0[0-7]+", digits) else int(digits, 0))
    if -(1 << 63) <= found < 1 << 64:
        return found
    try:
        return float(found)  # As kubectl does with what no integer of 64 bits can hold.
    except OverflowError:
        raise ConstructorError(None, None, "JSON has no such number", node.start_mark) from None


def _as_written(_loader: _Loader, node: ScalarNode) -> str:
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


def nodes(text: str, most: int = MOST_NODES) -> int:
    """Return how many nodes a YAML text has, of at most so many; raises NotYaml."""
    with _said(text):
        return _bound(text, most)


def documents(text: str, most: int = MOST_NODES) -> list[Any]:
    """Return the documents of a YAML text of at most so many nodes; raises NotYaml."""
    with _said(text):
        _bound(text, most)
        return list(yaml.load_all(text, _Loader))


@contextmanager
def _said(text: str) -> Generator[None]:
    """Say what is wrong with a text, in words and with a line of it."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # An error at the end is reported for a line after the last one, which does not exist in the text.
        line = min(mark.line + 1, len(text.splitlines())) if mark else 0
        raise NotYaml(error.problem or str(error), line) from error
    except RecursionError as error:
        raise NotYaml("is nested too deeply") from error
    except ValueError as error:
        raise NotYaml(" ".join(str(error).split()), public="a value that cannot be read") from error
    except yaml.YAMLError as error:
        raise NotYaml(" ".join(str(error).split())) from error


def document(text: str, most: int = MOST_NODES) -> Any:
    """Return the only document of a YAML text of at most so many nodes; raises NotYaml."""
    found = documents(text, most)
    if len(found) > 1:
        raise NotYaml(f"holds {len(found)} documents instead of one")
    return found[0] if found else None


def written(text: str) -> Any:
    """Return a document in which every value is the text as written, without nulls; raises NotYaml.

    An unquoted version (`5.10`) stays text, although it looks like a number.
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
