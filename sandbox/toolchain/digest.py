"""The name of a thing by its content, for caches that need no invalidation."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def of_files(paths: Iterable[Path], *extra: str) -> str:
    """Return a short digest of the files' names and contents and of the `extra` words."""
    total = hashlib.sha256()
    for path in sorted(paths):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.name} {content}\n".encode())
    for word in extra:
        total.update(f"{word}\n".encode())
    return total.hexdigest()[:16]


def of_file(path: Path) -> str:
    """Return the SHA-256 of one file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
