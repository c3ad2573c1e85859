"""The versions that are out: `release/released.txt`, which only grows, with digests of what is frozen of each.

A version is out when the changelog has a section with its number, and then the list has its line. Its folder in
`tests/unit/upgrade/released` never changes from then on. The folder of a version that is not out may be made again.
Each digest covers the one before, so that no earlier line can be removed or replaced without all later ones.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

LIST = Path("release/released.txt")
FOLDERS = Path("tests/unit/upgrade/released")
CHANGELOG = Path("CHANGELOG.md")
NUMBER = r"\d+\.\d+\.\d+"


class Entry(Struct, frozen=True):
    """A version that is out; the digest is a SHA-256 in hexadecimal."""

    version: str
    digest: str


def entries(root: Path) -> list[Entry]:
    """Return the versions that are out, in their order; raises ValueError for a line that is no entry."""
    found: list[Entry] = []
    for line in (root / LIST).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(rf"({NUMBER}) ([0-9a-f]{{64}})", line)
            if match is None:
                raise ValueError(f"{LIST}: {line!r} is no version with a digest")
            found.append(Entry(match[1], match[2]))
    return found


def before(root: Path, version: str) -> str:
    """Return the newest version that is out and below another one; empty if there is none."""
    lower = [each.version for each in entries(root) if order(each.version) < order(version)]
    return max(lower, key=order, default="")


def digest(folder: Path, last: str) -> str:
    """Return the digest of a frozen folder after the entry with the digest `last`; empty for the first one."""
    files = (each for each in sorted(folder.rglob("*")) if each.is_file())
    lines = [f"{each.relative_to(folder).as_posix()} {hashlib.sha256(each.read_bytes()).hexdigest()}" for each in files]
    return hashlib.sha256("\n".join([last, *lines]).encode()).hexdigest()


def line(root: Path, version: str) -> str:
    """Return the line that adds a version to the list."""
    last = [each.digest for each in entries(root)][-1:]
    return f"{version} {digest(root / FOLDERS / version, ''.join(last))}\n"


def problems(root: Path, current: str) -> Iterator[str]:
    """Yield what is wrong with the list, the frozen folders and the changelog, as sentences; `current` is a version."""
    listed = entries(root)
    versions = [each.version for each in listed]
    if versions != sorted(set(versions), key=order):
        yield f"{LIST}: versions are not in their order, or twice"
    last = ""
    for each in listed:
        folder = root / FOLDERS / each.version
        if not folder.is_dir():
            yield f"{folder.relative_to(root)} of a version that is out is gone"
        elif digest(folder, last) != each.digest:
            yield f"{folder.relative_to(root)} of a version that is out, or a line before its own, has changed"
        last = each.digest
    yield from _strangers(root, versions, current)
    titles = set(re.findall(rf"^## \[?({NUMBER})\b", (root / CHANGELOG).read_text(encoding="utf-8"), re.MULTILINE))
    for version in sorted(titles - set(versions), key=order):
        yield f"{CHANGELOG} has a section for {version}: run `python -m tests.unit.upgrade --pin`"
    for version in sorted(set(versions) - titles, key=order):
        yield f"{CHANGELOG} has no section for {version}, which is out"


def _strangers(root: Path, versions: Sequence[str], current: str) -> Iterator[str]:
    """Yield folders that are of no version which is out or current, and a current version below one that is out."""
    folders = {each.name for each in (root / FOLDERS).iterdir() if each.is_dir()}
    for name in sorted(folders - set(versions) - {current}):
        yield f"{FOLDERS / name} is of a version that is neither out nor the current one: remove it"
    for version in (each for each in versions if order(each) > order(current)):
        yield f"{LIST}: {version} is out, and the current version is {current}"


def order(version: str) -> tuple[int, ...]:
    """Return a key by which versions sort; raises ValueError for what is no version."""
    return tuple(map(int, version.split(".")))
