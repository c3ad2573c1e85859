"""Layers from files: tar archives whose bytes depend on nothing but their content."""

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.images.oci import Blob, BlobStore

# One fixed time for every file of every layer: 2024-01-01.
EPOCH = 1704067200


@dataclass(frozen=True)
class Entry:
    """One file, directory or link of a layer; `path` is relative to the image's root."""

    path: str
    content: bytes | Path | None = None  # None: a directory
    link: str | None = None
    mode: int = 0o644
    owner: int = 0
    group: int = 0

    def header(self) -> tarfile.TarInfo:
        """Return the entry's tar header."""
        header = tarfile.TarInfo(self.path.rstrip("/"))
        header.mtime, header.mode, header.uid, header.gid = EPOCH, self.mode, self.owner, self.group
        if self.link is not None:
            header.type, header.linkname = tarfile.SYMTYPE, self.link
        elif self.content is None:
            header.type = tarfile.DIRTYPE
        elif isinstance(self.content, Path):
            header.size = self.content.stat().st_size
        else:
            header.size = len(self.content)
        return header


def layer(store: BlobStore, name: str, entries: Iterator[Entry] | list[Entry]) -> Blob:
    """Write a layer of the entries, in their order, into the store."""
    scratch = store.scratch(name)
    with tarfile.open(scratch, "w", format=tarfile.PAX_FORMAT) as archive:
        for entry in entries:
            if isinstance(entry.content, Path):
                with entry.content.open("rb") as content:
                    archive.addfile(entry.header(), content)
            else:
                archive.addfile(entry.header(), io.BytesIO(entry.content or b""))
    return store.adopt(scratch)


def tree(source: Path, target: str, *, owner: int = 0, group: int = 0) -> Iterator[Entry]:
    """Yield the entries of a directory of this machine, in a fixed order, to lie under `target`."""
    for path in sorted(source.rglob("*")):
        name = f"{target}/{path.relative_to(source)}"
        if path.is_symlink():
            yield Entry(name, link=str(path.readlink()), mode=0o777, owner=owner, group=group)
        elif path.is_dir():
            yield Entry(name, None, mode=0o755, owner=owner, group=group)
        else:
            mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            yield Entry(name, path, mode=mode, owner=owner, group=group)
