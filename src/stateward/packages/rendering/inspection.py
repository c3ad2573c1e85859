"""Finds names that cannot exist, and calls that cannot work, in every branch of a template without rendering it.

The walk follows what is known of each value: `.` within `with`, `range` and named templates, variables from their
declaration on, `index`, and objects that `dict` makes. Of a value that depends on the values of an installation nothing
is known, and nothing is said. Unknown functions and variables are found earlier, by the parser, in every branch too.

The number of a function's arguments is judged by the engine's own record of it. The piped value is the last one. If it
may be no value at all, as an `index` in vain, it may also not count.

A name counts as existing in a whole file that asks for it with `hasKey`, or that adds names to the object (`set`,
`merge`). The work is limited: after `MOST_WORK` parts of a template the walk ends with what it has found.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from gotpl.parse.nodes import (
    ActionNode,
    BlockNode,
    BoolNode,
    CharacterNode,
    CommandNode,
    ComplexNode,
    DotNode,
    FieldNode,
    IdentifierNode,
    IfNode,
    ListNode,
    NilNode,
    NumberNode,
    ParenthesizedNode,
    PipeNode,
    RangeNode,
    StringNode,
    TemplateCallNode,
    VariableNode,
    WithNode,
)
from gotpl.parse.parser import parse_template

from stateward.packages.rendering.functions import always_made, misuse, names
from stateward.packages.rendering.shapes import ANYTHING, NOTHING, Names, Nothing, Plain, Shape, made_of

MOST_WORK = 50_000
"""Parts of one template that are looked at, each time that a named template is called."""
_CONSTANTS = (BoolNode, CharacterNode, ComplexNode, NilNode, NumberNode, StringNode)
_ADDING = frozenset({"set", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"})


@dataclass(frozen=True, slots=True)
class Finding:
    """A name that does not exist, or a wrong call, in a line that counts from 1; `doubtful`: renders as no value."""

    line: int
    message: str
    doubtful: bool = False


def inspect(source: str, root: Names) -> list[Finding]:
    """Return what a valid template names and calls in vain, by line; `root` is what it knows."""
    tree, encoded = parse_template(source, functions=names()), source.encode()
    walk = _Walk(encoded, {found.name: found.body for found in tree.definitions})
    for _ in range(2):  # What the first walk learns of names and variables also counts for what stands before.
        walk.begin()
        with suppress(_Enough, RecursionError):
            walk.all_of(tree.root, root)
    found = {replace(finding, line=encoded.count(b"\n", 0, finding.line) + 1) for finding in walk.found}
    return sorted(found, key=lambda finding: (finding.line, finding.message))


class _Enough(Exception):  # noqa: N818 - a limit, named as such
    """The template has more parts than are looked at."""


@dataclass(slots=True)
class _Variable:
    """What a variable holds, and where it is declared (-1: by the engine)."""

    shape: Shape
    at: int = -1


_Scope = dict[str, _Variable]


@dataclass(frozen=True, slots=True)
class _Piped:
    """What a command makes; not always `made` if it may be no value at all, which is no argument of the next one."""

    shape: Shape
    made: bool


@dataclass(slots=True)
class _Walk:
    """One template; `found` has positions in place of lines."""

    source: bytes
    definitions: dict[str, ListNode]
    found: list[Finding] = field(default_factory=list[Finding])
    grown: set[Names] = field(default_factory=set[Names])
    varying: set[int] = field(default_factory=set[int])
    asked: set[tuple[Names, str]] = field(default_factory=set[tuple[Names, str]])
    seen: set[tuple[str, Shape]] = field(default_factory=set[tuple[str, Shape]])
    calls: list[str] = field(default_factory=list[str])
    work: int = 0

    def begin(self) -> None:
        """Forget what one walk found, and keep what it learned."""
        self.found, self.seen, self.calls, self.work = [], set(), [], 0

    def all_of(self, root: ListNode, shape: Shape) -> None:
        """Walk the template, and the named ones that it never calls."""
        self.nodes(root, shape, {"$": _Variable(shape)})
        for name in self.definitions:
            if not any(known == name for known, _ in self.seen):
                self.named(name, ANYTHING, 0)

    def nodes(self, of: ListNode | None, dot: Shape, scope: _Scope) -> None:
        inner = dict(scope)
        for node in of.nodes if of is not None else ():
            self.work += 1
            if self.work > MOST_WORK:
                raise _Enough
            self.node(node, dot, inner)

    def node(self, node: Any, dot: Shape, scope: _Scope) -> None:
        match node:
            case ActionNode():
                self.pipe(node.pipeline, dot, scope)
            case IfNode() | WithNode() | RangeNode():
                self.branch(node, dot, dict(scope))
            case TemplateCallNode():
                given = self.pipe(node.pipeline, dot, scope) if node.pipeline else NOTHING
                self.named(node.name, given, node.start)
            case BlockNode():
                self.definitions.setdefault(node.name, node.body)
                self.named(node.name, self.pipe(node.pipeline, dot, scope), node.start)
            case _:
                pass

    def branch(self, node: IfNode | WithNode | RangeNode, dot: Shape, scope: _Scope) -> None:
        if isinstance(node, RangeNode):
            self.pipe(node.pipeline, dot, scope, element=True)
            inside: Shape = ANYTHING
        else:
            value = self.pipe(node.pipeline, dot, scope)
            inside = value if isinstance(node, WithNode) else dot
        self.nodes(node.body, inside, scope)
        self.nodes(node.else_body, dot, scope)

    def named(self, name: str, dot: Shape, at: int) -> None:
        body = self.definitions.get(name)
        if body is None:
            self.say(
                at, f"there is no template {name!r}; this file defines {', '.join(sorted(self.definitions)) or 'none'}"
            )
        elif (name, dot) not in self.seen and name not in self.calls:
            self.seen.add((name, dot))
            self.calls.append(name)
            self.nodes(body, dot, {"$": _Variable(dot)})
            self.calls.pop()

    def pipe(self, pipe: PipeNode, dot: Shape, scope: _Scope, *, element: bool = False) -> Shape:
        value: _Piped | None = None
        for command in pipe.commands:
            value = self.command(command, dot, scope, value)
        made = ANYTHING if element or value is None else value.shape
        for declared in pipe.declarations:
            if not pipe.is_assignment:
                varies = declared.start in self.varying
                scope[declared.name] = _Variable(ANYTHING if varies else made, declared.start)
            elif (known := scope.get(declared.name)) is not None and known.shape != made:
                self.varying.add(known.at)
                known.shape = ANYTHING
        return made

    def command(self, command: CommandNode, dot: Shape, scope: _Scope, piped: _Piped | None) -> _Piped:
        self.work += 1
        first, *rest = command.arguments
        counts = [len(rest)] if piped is None else [len(rest) + 1] + ([] if piped.made else [len(rest)])
        if not isinstance(first, IdentifierNode):
            known = len(self.found)
            shape = self.term(first, dot, scope)
            if all(counts) and len(self.found) == known:
                shown = self.source[first.start : first.end].decode()
                self.say(first.start, f"{shown} is a value: it takes no argument, and nothing can be piped into it")
            for term in rest:
                self.term(term, dot, scope)
            return _Piped(shape, isinstance(shape, Plain | Names) or isinstance(first, _CONSTANTS))
        self.count(first, counts)
        shapes = [self.term(term, dot, scope) for term in rest] + ([] if piped is None else [piped.shape])
        texts = [term.value if isinstance(term, StringNode) else None for term in rest]
        return _Piped(self.call(first.name, texts, shapes, first.start), always_made(first.name))

    def count(self, function: IdentifierNode, counts: Sequence[int]) -> None:
        """Say what is wrong with a call if no number that its arguments may have is right."""
        wrong = [misuse(function.name, count) for count in counts]
        if all(wrong):
            self.say(function.start, wrong[0])

    def term(self, term: Any, dot: Shape, scope: _Scope) -> Shape:
        match term:
            case DotNode():
                return dot
            case FieldNode():
                return self.follow(dot, term.fields, term.start)
            case VariableNode():
                known = scope.get(term.name)
                return self.follow(known.shape, term.fields, term.start) if known else ANYTHING
            case IdentifierNode():
                self.count(term, [0])
                return self.call(term.name, [], [], term.start)
            case ParenthesizedNode():
                return self.follow(self.pipe(term.pipeline, dot, scope), term.fields, term.start)
            case _:
                return ANYTHING

    def follow(self, shape: Shape, fields: tuple[str, ...], at: int) -> Shape:
        for name in fields:
            if isinstance(shape, Nothing):
                self.say(at, f"there is no value to take {name!r} of: the template is called without one")
                return ANYTHING
            if isinstance(shape, Plain):
                self.say(at, f"there is no {name!r} in {shape.called}")
                return ANYTHING
            shape = self.member(shape, name, at) if isinstance(shape, Names) else ANYTHING
        return shape

    def member(self, of: Names, name: str, at: int, *, doubtful: bool = False) -> Shape:
        shape = of.find(name)
        if shape is None and of not in self.grown and (of, name) not in self.asked:
            self.say(at, of.lacks(name), doubtful=doubtful)
        return shape or ANYTHING

    def call(self, name: str, texts: list[str | None], shapes: list[Shape], at: int) -> Shape:
        """Return what a function makes; `texts` are its arguments where they are written out."""
        of = shapes[0] if shapes else ANYTHING
        if name == "dict":
            return _dict(texts, shapes)
        if name in _ADDING:
            self.grown.update(shape for shape in shapes[:1] if isinstance(shape, Names))
        if name == "hasKey" and isinstance(of, Names) and len(texts) > 1 and texts[1] is not None:
            self.asked.add((of, texts[1]))
        if name in {"index", "get"} and len(texts) == len(shapes):
            for key in texts[1:]:
                of = self.member(of, key, at, doubtful=True) if isinstance(of, Names) and key is not None else ANYTHING
            return of
        return ANYTHING

    def say(self, at: int, message: str, *, doubtful: bool = False) -> None:
        self.found.append(Finding(at, message, doubtful))


def _dict(texts: list[str | None], shapes: list[Shape]) -> Shape:
    names = texts[::2]
    if len(texts) != len(shapes) or len(shapes) % 2 or None in names:
        return ANYTHING
    return made_of((name, shape) for name, shape in zip(names, shapes[1::2], strict=True) if name is not None)
