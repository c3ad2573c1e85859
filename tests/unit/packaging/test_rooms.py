"""The rooms of the house: each says what lives there, none is a hall, and docs/architecture.md lists all of them."""

import ast
import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import stateward

SOURCE = Path(stateward.__file__).parent
PAGE = Path(__file__).parents[3] / "docs/architecture.md"
ROOMS = sorted(str(path.parent.relative_to(SOURCE)) for path in SOURCE.rglob("*/__init__.py"))
ROOT = PAGE.parents[1]
BESIDE = ("tests", "sandbox", "bench", "demo", "release")
"""Trees beside the package."""
MOST = 14
"""Modules in a room: about a dozen."""


def says(room: str) -> str:
    text = (SOURCE / room / "__init__.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(text)) or ""


def test_the_page_lists_every_room_with_the_sentence_of_its_docstring() -> None:
    listed = dict(re.findall(r"^\* `([a-z_/]+)`: (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {room: says(room).splitlines()[0] for room in ROOMS}


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_has_more_modules_than_can_be_seen_at_once(room: str) -> None:
    modules = [path.name for path in (SOURCE / room).glob("*.py") if not path.stem.startswith("__")]
    assert len(modules) <= MOST, f"{room} has {len(modules)} modules: give it rooms"


@pytest.mark.parametrize("tree", BESIDE)
def test_no_folder_beside_the_package_is_a_hall(tree: str) -> None:
    modules = [path for path in (ROOT / tree).rglob("*.py") if not path.stem.startswith("__")]
    sizes = Counter(str(path.parent.relative_to(ROOT)) for path in modules)
    assert sizes
    assert {folder: size for folder, size in sizes.items() if size > MOST} == {}


@pytest.mark.parametrize("room", [room for room in ROOMS if any((SOURCE / room).glob("*/__init__.py"))])
def test_a_room_with_rooms_names_each_of_them(room: str) -> None:
    inner = {path.parent.name for path in (SOURCE / room).glob("*/__init__.py")}
    assert inner <= set(re.findall(r"\w+", says(room)))


def test_places_that_the_page_names_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("src/stateward", "")
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_.]+)+)`", text))
    assert named
    assert [place for place in sorted(named) if not (SOURCE / place).exists()] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Also where an import is for the type checker only: such a pair can be read in no order."""
    modules = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
    imports = {name: {target for target in named(path) if target in modules} - {name} for name, path in modules.items()}
    assert sum(map(len, imports.values())) > 1000
    tuple(TopologicalSorter(imports).static_order())  # raises CycleError, which names the circle


def named(path: Path) -> set[str]:
    """Return what a file may import: modules, and names in them that may be modules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found
