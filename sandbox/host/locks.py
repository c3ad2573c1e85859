"""File locks: only one process at a time works on a sandbox; the kernel releases the lock at the end of the process."""

import contextlib
import fcntl
from collections.abc import Generator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock file `path`, after its current holder has released it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
