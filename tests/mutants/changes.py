"""The decisions of a module, and how each can be broken: comparisons, conditions, and answers of predicates.

A change replaces one expression and nothing else, so its line and its text say all of it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
"""Each comparison and what it becomes."""


class Change(Struct, frozen=True):
    """One broken decision."""

    file: str
    """Path from the root of the checkout."""
    function: str
    line: int
    before: str
    after: str
    start: int
    end: int
    """Offsets of the expression in the file, in bytes."""

    @property
    def key(self) -> str:
        """What names the change when lines move."""
        return f"{self.file}:{self.function}: {self.before} -> {self.after}"

    def applied(self, source: bytes) -> bytes:
        """Return the source with the decision broken."""
        return source[: self.start] + f"({self.after})".encode() + source[self.end :]


def changes(root: Path, file: Path) -> Iterator[Change]:
    """Yield all changes of a file, in the order of its lines."""
    source = file.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    name = str(file.relative_to(root))
    for function, node, broken in decisions(ast.parse(source), ""):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        yield Change(name, function, node.lineno, ast.unparse(node), ast.unparse(broken), start, end)


def decisions(tree: ast.AST, function: str) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Yield the expressions of functions that decide, each with what it becomes."""
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(node, ast.expr) and function:
            yield from ((function, node, broken) for broken in breaks(node))
        if inner and isinstance(node, ast.Return) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, bool):
                yield inner, node.value, ast.Constant(not node.value.value)
            continue
        yield from decisions(node, inner)


def breaks(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what an expression becomes when its decision is broken."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in SWAPS:
            yield ast.Compare(left, [SWAPS[type(operator)]()], [right])
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
            yield from (
                ast.BoolOp(operator, [v for v in values if v is not value]) if len(values) > 2 else other
                for value, other in zip(values, reversed(values), strict=True)
            )
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case _:
            return
