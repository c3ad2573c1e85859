"""Directories that are complete or absent: written under another name, then published by switching a link."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from stateward.agent.process import configuration

CURRENT = "current"


def keep(files: Mapping[str, bytes], directory: Path) -> None:
    """Make `current` in the directory hold exactly these files, also if the agent ends in the middle.

    Without a kept copy, a database that crashes while a newer configuration is pending would come back with the newer
    one, alone among members with the old.

    What is kept already is not written again. The disaster this prevents: a full disk keeps a database down that has
    crashed, although its configuration is complete.
    """
    if kept(directory) == files:
        return
    new = directory / "new"
    remove(new)
    new.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        path = new / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(content)
    final = directory / _name(files)
    if _whole(final) is None:
        remove(final)
    before = show(new, final)
    if before is not None:
        remove(before)


def kept(directory: Path) -> dict[str, bytes] | None:
    """Return the files kept in the directory; None if there are none or they are incomplete.

    After a power failure, files that were not yet written to disk are empty.
    """
    return _whole((directory / CURRENT).resolve())


def _name(files: Mapping[str, bytes]) -> str:
    return configuration.checksum(files).replace(":", "-")


def _whole(directory: Path) -> dict[str, bytes] | None:
    """Return the files of a directory if they match the digest in its name."""
    try:
        files = configuration.read(directory)
    except configuration.UnreadableError:
        return None
    return files if _name(files) == directory.name else None


def show(new: Path, final: Path) -> Path | None:
    """Rename a finished directory and point `current` beside it to it. Return the previous target."""
    if final.exists():
        remove(new)
    else:
        new.rename(final)
    link = final.with_name(CURRENT)
    before = link.resolve() if link.is_symlink() else None
    fresh = final.with_name(CURRENT + ".new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(final.name)
    fresh.replace(link)
    return before if before != final.resolve() else None


def remove(directory: Path) -> None:
    """Remove a directory and its content, if it exists. `shutil` would cost a megabyte of memory."""
    for folder, folders, names in os.walk(directory, topdown=False):
        for name in names:
            Path(folder, name).unlink(missing_ok=True)
        for name in folders:
            path = Path(folder, name)
            path.unlink() if path.is_symlink() else path.rmdir()
    with contextlib.suppress(FileNotFoundError):
        directory.rmdir()
