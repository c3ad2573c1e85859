"""One at a time: locks between processes, which the kernel lets go when their holder ends."""

import contextlib
import fcntl
from collections.abc import Generator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock file `path`, waiting for whoever holds it now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
