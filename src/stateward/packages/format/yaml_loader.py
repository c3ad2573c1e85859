"""Builds the values of YAML within limits: only what JSON can express, and nothing that is lost in silence.

An alias costs nothing to read and everything to expand: ten lines of lists of aliases exceed any memory, and an alias
to its own parent has no end. So the expanded size is limited, and so are length, depth and nodes; four million
characters may have two million nodes, and aliases any number. They are counted before any of them is created. Two equal
keys in an object are refused.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml
from yaml.constructor import ConstructorError
from yaml.error import Mark
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from stateward.packages.format import yaml_scalars
from stateward.packages.format.work_budget import LARGEST_OUTPUT
from stateward.packages.format.yaml_scalars import TAG

_HALF = re.compile("[\ud800-\udfff]")
"""Half of a character: an escape of YAML can write it, and nothing that is sent or stored can."""


MOST_NODES = 200_000
"""Scalars, lists, objects and documents of one text with its aliases written out; the largest custom resource
definitions have 30,000."""
DEEPEST = 200
"""Lists and objects within each other."""


def bound(text: str, most: int) -> int:
    """Return the nodes of a text with its aliases written out.

    Raises ConstructorError for one with more of them, or deeper, than may be read. The disaster this prevents: objects
    that are merged (`<<`) from aliases of aliases take seconds for each 300 characters.
    """
    if len(text) > LARGEST_OUTPUT:
        raise ConstructorError(None, None, f"has {len(text)} characters, and at most {LARGEST_OUTPUT} are read")
    nodes, opened, anchors = 0, list[tuple[str | None, int]](), dict[str, int]()
    for event in yaml.parse(text, yaml.CSafeLoader):
        mark: Any = event.start_mark
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                anchors[anchor] = nodes - before
            continue
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, nodes))
        if isinstance(event, yaml.DocumentStartEvent):
            anchors.clear()
        if isinstance(event, yaml.NodeEvent | yaml.DocumentStartEvent):
            nodes += anchors.get(str(event.anchor), 1) if isinstance(event, yaml.AliasEvent) else 1
        if nodes > most:
            said = f"is too much: it has more than {most} nodes with its aliases written out, which is the limit"
            raise ConstructorError(None, None, said, mark)
        if len(opened) > DEEPEST:
            said = f"is nested deeper than {DEEPEST} levels, which is the limit"
            raise ConstructorError(None, None, said, mark)
    return nodes


class Loader(yaml.CSafeLoader):
    """Reads JSON's values only."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, Any]]] = {}  # noqa: RUF012 - PyYAML's own way

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._size = 0

    def get_node(self) -> Node | None:
        """Return the next document; raises ConstructorError for one with too much in its aliases."""
        return self._bounded(super().get_node())

    def get_single_node(self) -> Node | None:
        """Return the only document; raises ConstructorError for one with too much in its aliases."""
        return self._bounded(super().get_single_node())

    def _bounded(self, node: Node | None) -> Node | None:
        if node is not None:
            self._size += _written_out(node, {}).size
            if self._size > LARGEST_OUTPUT:
                raise ConstructorError(None, None, "its aliases expand to too much text")
        return node

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        """Return the value of a node; raises ConstructorError for one that JSON cannot hold."""
        value: Any = super().construct_object(node, deep=deep)  # pyright: ignore[reportUnknownMemberType]
        if isinstance(value, float) and not math.isfinite(value):
            raise ConstructorError(None, None, "JSON has no such number", node.start_mark)
        if isinstance(value, str) and _HALF.search(value):
            raise ConstructorError(None, None, "UTF-8 cannot encode this text", node.start_mark)
        return value

    def tag_of(self, text: str) -> str:
        """Return the tag that a text has without quotes and without a tag."""
        find: Callable[..., str] = self.resolve  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return find(ScalarNode, text, (True, False))


class _Extent(NamedTuple):
    """The size of a node with its aliases written out, in characters and elements, and how deep it is."""

    size: int
    depth: int


def _written_out(node: Node, known: dict[int, _Extent | None]) -> _Extent:
    if id(node) in known:
        extent = known[id(node)]
        if extent is None:
            raise ConstructorError(None, None, "holds itself", node.start_mark)
        return extent
    known[id(node)] = None
    if isinstance(node, ScalarNode):
        found = _Extent(max(1, len(node.value)), 0)
    else:
        size, depth = 1, 0
        for part in _parts(node):
            extent = _written_out(part, known)
            size, depth = size + extent.size, max(depth, extent.depth)
        if depth >= DEEPEST:
            said = f"is nested deeper than {DEEPEST} levels with its aliases, which is the limit"
            raise ConstructorError(None, None, said, node.start_mark)
        found = _Extent(size, depth + 1)
    known[id(node)] = found
    return found


def _parts(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [part for member in node.value for part in member]
    return node.value


def _text_keys(loader: Loader, node: MappingNode) -> Iterator[dict[str, Any]]:
    """Build an object; keys become text, as in JSON."""
    _collection(node, MappingNode, "an object")
    value: dict[str, Any] = {}
    yield value
    _refuse_equal_keys(loader, node)
    loader.flatten_mapping(node)
    for key_node, inner in node.value:
        value[_key(loader, key_node)] = loader.construct_object(inner)


def _key(loader: Loader, node: Node) -> str:
    key = loader.construct_object(node, deep=True)
    if isinstance(key, dict | list):
        raise ConstructorError(None, None, "a key must be text", node.start_mark)
    return key if isinstance(key, str) else node.value


class EqualKeysError(ConstructorError):
    """An object has a key twice; `first` is the line of the first one."""

    def __init__(self, key: str, first: int, mark: Mark) -> None:
        said = f"has the key {key!r} twice, first in line {first}; one of the two would be lost"
        super().__init__(None, None, said, mark)
        self.key = key


def _refuse_equal_keys(loader: Loader, node: MappingNode) -> None:
    """Refuse two equal keys; what is merged in (`<<`) may have a key that the object has too."""
    lines: dict[str, int] = {}
    for key_node, _ in node.value:
        if key_node.tag == f"{TAG}merge":
            continue
        name = _key(loader, key_node)
        if name in lines:
            raise EqualKeysError(name, lines[name], key_node.start_mark)
        lines[name] = key_node.start_mark.line + 1


def _list(loader: Loader, node: SequenceNode) -> Iterator[list[Any]]:
    _collection(node, SequenceNode, "a list")
    value: list[Any] = []
    yield value
    value.extend([loader.construct_object(item) for item in node.value])


def _collection(node: Node, kind: type[CollectionNode], called: str) -> None:
    if not isinstance(node, kind):
        raise ConstructorError(None, None, f"must be {called}", node.start_mark)


def _unknown(_loader: Loader, node: Node) -> Any:
    said = f"has the tag {node.tag!r}, which is unknown here; leave it out"
    raise ConstructorError(None, None, said, node.start_mark)


def _scalar(build: Callable[[ScalarNode, yaml_scalars.Resolve], Any]) -> Callable[[Loader, Any], Any]:
    def built(loader: Loader, node: Node) -> Any:
        if not isinstance(node, ScalarNode):
            raise ConstructorError(None, None, "must be a single value", node.start_mark)
        return build(node, loader.tag_of)

    return built


for _tag, _pattern, _first in yaml_scalars.RESOLVERS:
    Loader.add_implicit_resolver(_tag, _pattern, _first)  # pyright: ignore[reportUnknownMemberType]
_BUILD: dict[str | None, Callable[[Loader, Any], Any]] = {
    None: _unknown,
    "null": _scalar(yaml_scalars.null),
    "bool": _scalar(yaml_scalars.flag),
    "int": _scalar(yaml_scalars.whole),
    "float": _scalar(yaml_scalars.number),
    "timestamp": _scalar(lambda node, _: yaml_scalars.moment(node)),
    "binary": _scalar(lambda node, _: yaml_scalars.binary(node)),
    "merge": _scalar(lambda node, _: node.value),
    **dict.fromkeys(("map", "set"), _text_keys),
    **dict.fromkeys(("seq", "omap", "pairs"), _list),
}
for _name, _build in _BUILD.items():
    Loader.add_constructor(_name and TAG + _name, _build)
