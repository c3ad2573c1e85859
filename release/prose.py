"""Checks the English of pages and docstrings: terms that a platform engineer has to read twice, and what to write.

Run as `python -m release.prose [PAGE...]` in the root of the repository. Code, links and inline code are ignored.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

TERMS = {
    r"(?:^|[.:;*|] )Who\b": 'name the subject, for example "a member that ..."',
    r"\b(?:[Ww]hoever|[Nn]obody|[Ss]omebody|[Aa]nybody)\b": "the subject: the operator, a member, a user, no member",
    r"\bwhat is to be\b": "the desired state",
    r"\b(?:it|that|who) (?:is|are|was|were) told\b": "name what is sent, and to what",
    r"\banew\b": "recreate, or again",
    r"\b[Nn]ext look\b": "the next reconciliation",
    r"\bwhose turn\b": "the next in the rollout order",
    r"\b(?:nobody's|somebody's|anybody's)\b": "name the owner",
    r"\b(?:that|which|who) is none\b": "unknown, or invalid",
    r"\b(?:that|which) can be had\b": "available",
    r"\b(?:wish|wishes)\b": "a request, or a field of the spec",
    r"\b(?:let|lets|letting) go\b": "release, or remove",
    r"\b(?:heard|told) of\b": "name what is received, and by what",
    r"\bby the word of\b": "confirmed by",
    r"\b(?:gone|lost) for good\b": "removed, or permanently lost",
    r"\bfor ever\b": "forever, or without a limit",
    r"\blooked after\b": "managed",
    r"\b(?:thereof|whereof|hereby|hitherto|alas)\b": "a plain word",
}
"""Patterns that are not accepted, each with what to write instead."""

_CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL)


TREES = ("src", "tests", "sandbox", "bench", "demo", "release")
"""Folders whose modules are checked."""


def pages(root: Path) -> list[Path]:
    """Return pages and modules; the pages of docs/reference are generated from docstrings."""
    modules = (path for tree in TREES for path in (root / tree).rglob("*.py"))
    return sorted([*root.glob("*.md"), *(root / "docs").glob("*.md"), *modules])


def docstrings(source: str) -> str:
    """Return the docstrings of a module on their lines, and empty lines for its code."""
    lines = [""] * (source.count("\n") + 1)
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text), lineno=first)):
                lines[first - 1 : first + text.count("\n")] = text.split("\n")
            case _:
                pass
    return "\n".join(lines)


def prose_of(page: Path) -> str:
    """Return the text of a page, or the docstrings of a module."""
    text = page.read_text(encoding="utf-8")
    return docstrings(text) if page.suffix == ".py" else text


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line (from 1), the words and the advice of each term in a page that is not accepted."""
    prose = _CODE.sub(lambda code: re.sub(r"[^\n]", "_", code[0]), text)
    for number, line in enumerate(prose.splitlines(), 1):
        for pattern, advice in TERMS.items():
            yield from ((number, match[0].strip(" .:;*|"), advice) for match in re.finditer(pattern, line))


def main(names: list[str]) -> int:
    """Print what is not accepted; return 1 when there is any, else 0."""
    root = Path.cwd()
    found = [
        f'{page.relative_to(root)}:{number}: "{words}": write {advice}'
        for page in ([root / name for name in names] or pages(root))
        for number, words, advice in findings(prose_of(page))
    ]
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
