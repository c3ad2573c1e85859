"""The reference page of labels, annotations and finalizers: from the constants of the product and their docstrings."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from release.generated.reasons import cell

FOR_USERS = frozenset(
    {
        *(
            "allowed-for-pods",
            "apply-pending",
            "bootstrap-again",
            "restart-on-change",
            "restart-paused",
            "restart-phase",
        ),
        *("restart-pools", "restart-window", "restarted-at", "run-plan", "skip-restart", "stopped", "wave"),
    }
)
"""What users may set; all others are Stateward's own."""
_NOT_ON_OBJECTS = frozenset({"API_VERSION"})

_HEAD = """\
<!-- Generated from the constants in src/stateward and their docstrings; renew it with `make docs`. -->

# Labels and annotations

All names begin with `stateward.dev/`. Select objects by them, and set only those of the first table. Pod templates and
Services in a spec may set none of them but `restarted-at`.

## For users

| name | kind | meaning |
| --- | --- | --- |
"""
_OWN = """
## Of Stateward

Only Stateward writes these. They may become more; a rename is [announced](../stability.md).

| name | kind | meaning |
| --- | --- | --- |
"""


@dataclass(frozen=True, order=True)
class Mark:
    """A name on Kubernetes objects, without its prefix: what it is, and its meaning for users."""

    name: str
    kind: str
    meaning: str


def page(source: Path) -> str:
    """Return the page; raises ValueError for a constant without a docstring. `source` is the package's folder."""
    found = sorted(set(marks(source)))
    given = [mark for mark in found if mark.name in FOR_USERS]
    if missing := FOR_USERS - {mark.name for mark in given}:
        raise ValueError(f"no constant has these names for users: {', '.join(sorted(missing))}")
    own = [mark for mark in found if mark.name not in FOR_USERS]
    return _HEAD + "".join(map(_row, given)) + _OWN + "".join(map(_row, own))


def marks(source: Path) -> Iterator[Mark]:
    """Yield every name that a module declares; raises ValueError for one without a docstring."""
    for file in sorted(source.rglob("*.py")):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        for node, following in zip(body, [*body[1:], None], strict=True):
            if (found := _declared(node)) is None:
                continue
            constant, name = found
            meaning = _text(following)
            if not meaning:
                raise ValueError(f"{file.name}: {constant} has no docstring, which says what {name!r} means")
            yield Mark(name, _kind(constant), meaning)


def _declared(node: ast.stmt) -> tuple[str, str] | None:
    """Return the constant that a statement assigns, and the name in it; None for another statement."""
    if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
        return None
    text = ast.unparse(node.value).removeprefix("f").strip("'")
    constant = node.targets[0].id
    if not text.startswith("{GROUP}/") or constant in _NOT_ON_OBJECTS:
        return None
    return constant, text.removeprefix("{GROUP}/")


def _text(node: ast.stmt | None) -> str:
    """Return the docstring that a statement is; empty if it is another one."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return ""
    return " ".join(str(node.value.value).split())


def _kind(constant: str) -> str:
    return {"LABEL": "label", "FINALIZER": "finalizer"}.get(constant.split("_", maxsplit=1)[0], "annotation")


def _row(mark: Mark) -> str:
    return f"| `{mark.name}` | {mark.kind} | {cell(mark.meaning)} |\n"
