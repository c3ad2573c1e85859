"""The configuration directory: a consistent set of its files, and their checksum."""

import os
import stat
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

LIMIT = 4 * 1024 * 1024
"""Bytes. A Secret holds at most 1 MiB; several may be projected into one directory."""
_ATTEMPTS = 5
_CURRENT = "..data"


class UnreadableError(Exception):
    """The configuration could not be read completely."""


def checksum(files: Mapping[str, bytes]) -> str:
    """Return `sha256:` and the digest over names and contents, sorted by name, each preceded by its length.

    Because of the lengths, different sets of files cannot have the same input to the digest.
    """
    digest = sha256()
    for name in sorted(files):
        for part in (name.encode(), files[name]):
            digest.update(b"%d:" % len(part))
            digest.update(part)
    return f"sha256:{digest.hexdigest()}"


def read(directory: Path) -> dict[str, bytes]:
    """Return the files by relative name, all of one version. Raise `UnreadableError`.

    The kubelet may change a Secret during the read. Without the check, half of the files could be old and half new, and
    a database would start with a mixture that was never intended.
    """
    for _ in range(_ATTEMPTS):
        try:
            before = _instant(directory)
            files = _files(directory)
            if before == _instant(directory):
                return files
        except FileNotFoundError:
            if not directory.is_dir():
                raise UnreadableError(f"{directory} does not exist") from None
        except OSError as error:
            raise UnreadableError(str(error)) from error
    raise UnreadableError(f"{directory} changed each of the {_ATTEMPTS} times that it was read")


def _root(directory: Path) -> Path:
    """Return the directory of the files: for each version the kubelet switches the link `..data` to a new one."""
    current = directory / _CURRENT
    return directory / current.readlink() if current.is_symlink() else directory


def _names(root: Path) -> Iterable[str]:
    for folder, folders, names in os.walk(root, onerror=_fail):
        folders[:] = sorted(name for name in folders if not name.startswith(".."))
        for name in sorted(names):
            if not name.startswith(".."):
                yield os.path.relpath(Path(folder, name), root)


def _fail(error: OSError) -> None:
    """Raise, so that a missing or unreadable directory does not count as an empty one."""
    raise error


def _instant(directory: Path) -> tuple[object, ...]:
    root = _root(directory)
    marks: list[object] = [str(root)]
    for name in _names(root):
        found = (root / name).stat()
        marks.append((name, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
    return tuple(marks)


def _files(directory: Path) -> dict[str, bytes]:
    root = _root(directory)
    files: dict[str, bytes] = {}
    room = LIMIT
    for name in _names(root):
        path = root / name
        if not stat.S_ISREG(path.stat().st_mode):
            continue  # a pipe here would block the agent forever
        with path.open("rb") as file:
            files[name] = file.read(room + 1)
        room -= len(files[name])
        if room < 0:
            raise UnreadableError(f"{directory} holds more than {LIMIT} bytes")
    return files
