"""What is behind a volume: a directory, or a file system of its own in a file.

A directory has no size. A file system is as large as its claim: a database in it sees how full it is, and it can become
full. It is XFS, which the kernel lets grow while it is mounted also where a container may not raise limits.
"""

import os
import shutil
from pathlib import Path
from typing import Protocol

from sandbox.host.commands import run

# A database runs as a user of its own and may not change the owner of a directory it does not own.
_OPEN_TO_ALL = 0o777


class Backing(Protocol):
    """Makes, grows and removes what is behind a volume, at a path."""

    inside: str
    """Where the user's data is, below the path."""

    def make(self, path: Path, size: int) -> None:
        """Make it with `size` bytes; what is there already stays."""
        ...

    def restore(self, path: Path) -> None:
        """Have it ready again after a restart of the node."""
        ...

    def grow(self, path: Path, size: int) -> None:
        """Make it as large as `size` bytes, with its data."""
        ...

    def remove(self, path: Path) -> None:
        """Remove it with its data."""
        ...


class Directories:
    """Plain directories: growing is a matter of saying so."""

    inside = ""

    def make(self, path: Path, size: int) -> None:
        """Make the directory."""
        del size
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(_OPEN_TO_ALL)

    def restore(self, path: Path) -> None:
        """Do nothing: a directory stays."""

    def grow(self, path: Path, size: int) -> None:
        """Do nothing: a directory has no size."""

    def remove(self, path: Path) -> None:
        """Remove the directory."""
        if path.exists():
            shutil.rmtree(path)


class FileSystems:
    """A file system in a sparse file beside the path, mounted there."""

    inside = "/data"
    """Not at the top: it does not exist while nothing is mounted, so no pod begins in the empty directory below."""

    def make(self, path: Path, size: int) -> None:
        """Make the file system, and mount it."""
        image = _image(path)
        if not image.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            begun = image.with_suffix(".new")
            begun.write_bytes(b"")
            os.truncate(begun, size)
            run(["mkfs.xfs", "-q", "-f", begun])
            begun.replace(image)
        self.restore(path)

    def restore(self, path: Path) -> None:
        """Mount the file system."""
        path.mkdir(exist_ok=True)
        if not path.is_mount():
            run(["mount", "-o", "loop", _image(path), path])
        data = path / "data"
        data.mkdir(exist_ok=True)
        data.chmod(_OPEN_TO_ALL)

    def grow(self, path: Path, size: int) -> None:
        """Make file, device and file system larger, in this order, while they are in use."""
        image = _image(path)
        os.truncate(image, max(size, image.stat().st_size))
        device = run(["losetup", "--noheadings", "--output", "NAME", "--associated", image]).strip()
        run(["losetup", "--set-capacity", device])
        run(["xfs_growfs", path])

    def remove(self, path: Path) -> None:
        """Unmount the file system, and remove its file."""
        if path.is_mount():
            run(["umount", path])
        if path.exists():
            path.rmdir()
        _image(path).unlink(missing_ok=True)


def _image(path: Path) -> Path:
    return path.with_name(f"{path.name}.img")
