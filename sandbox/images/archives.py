"""Layers from zip archives: a server's home moved to its place and given to its user."""

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from sandbox.images.layers import Entry

Edit = Callable[[bytes], bytes]

_WINDOWS = (".bat", ".exe")


def unpacked(
    archive: Path, target: str, *, owner: int, edits: dict[str, Edit], skip_first: bool = True
) -> Iterator[Entry]:
    """Yield the entries of a zip under `target`, in order; `edits` change files by their path in the archive.

    `skip_first` drops the archive's own top directory.
    """
    with zipfile.ZipFile(archive) as content:
        for info in sorted(content.infolist(), key=lambda each: each.filename):
            name = info.filename.partition("/")[2] if skip_first else info.filename
            if not name or name.endswith(_WINDOWS):
                continue
            path = f"{target}/{name}"
            if info.is_dir():
                yield Entry(path, None, mode=0o775, owner=owner, group=owner)
                continue
            data = content.read(info)
            data = edits[name](data) if name in edits else data
            mode = 0o775 if name.startswith("bin/") or name.endswith(".sh") or _is_program(data) else 0o664
            yield Entry(path, data, mode=mode, owner=owner, group=owner)


def append(addition: bytes) -> Edit:
    """Return the edit that adds text to the end of a file."""
    return lambda content: content + addition


def replace(whole: bytes) -> Edit:
    """Return the edit that puts other content in a file's place."""

    def edit(_content: bytes) -> bytes:
        return whole

    return edit


def substitute(old: bytes, new: bytes, then: Edit) -> Edit:
    """Return the edit that replaces text and then applies another edit; raise ValueError where the text is missing."""

    def edit(content: bytes) -> bytes:
        if old not in content:
            raise ValueError(f"expected {old!r} in a start script; the distribution has changed")
        return then(content.replace(old, new))

    return edit


def _is_program(data: bytes) -> bool:
    return io.BytesIO(data).read(4) == b"\x7fELF"
