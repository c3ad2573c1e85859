"""Write the CustomResourceDefinitions and the reference pages from the types, or check that they are up to date.

`make docs` writes these and all other generated files: see `release.generated`.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from stateward.api.schema import living
from stateward.api.schema.crd import crd
from stateward.api.schema.custom_resources import KINDS
from stateward.api.schema.reference import page
from stateward.api.values.base import GROUP
from stateward.api.yaml_writer import to_yaml

COMMAND = "make docs"
_HEADER = "# Generated from the types in src/stateward/api; renew it with `make docs`.\n"


def files() -> Mapping[Path, str]:
    """Return the content of every generated file, by its path from the root of the repository."""
    crds = {
        Path(f"charts/stateward/files/crds/{GROUP}_{kind.plural}.yaml"): _HEADER + to_yaml(crd(kind)) for kind in KINDS
    }
    pages = {Path(f"docs/reference/{kind.name.lower()}.md"): page(kind) for kind in KINDS}
    return crds | pages | {Path("docs/reference/what-a-change-does.md"): living.page()}


def outdated(root: Path, wanted: Mapping[Path, str]) -> list[Path]:
    """Return the files that are missing or differ from what the types say."""
    return [path for path, text in wanted.items() if not _same(root / path, text)]


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def write(root: Path, wanted: Mapping[Path, str], paths: list[Path]) -> None:
    """Write the named files."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(wanted[path], encoding="utf-8")


def main(
    arguments: list[str] | None = None, *, wanted: Callable[[Path], Mapping[Path, str]] = lambda _: files()
) -> int:
    """Write what is outdated, or say what is and return 1; `wanted` returns the files for the root of a repository."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file is outdated")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="root of the repository")
    options = parser.parse_args(arguments)
    content = wanted(options.root)
    paths = outdated(options.root, content)
    if not options.check:
        write(options.root, content, paths)
    _report([str(path) for path in paths], check=options.check)
    return 1 if options.check and paths else 0


def _report(paths: list[str], *, check: bool) -> None:
    for path in paths:
        sys.stdout.write(f"{path} is out of date: run `{COMMAND}`\n" if check else f"wrote {path}\n")
