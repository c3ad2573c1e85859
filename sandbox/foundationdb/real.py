"""The programs of a real FoundationDB that the environment names: no package registry has them, so they are given.

`FDBSERVER` is the path of an `fdbserver`, with the `fdbcli` of its version in the same folder; `FDBSERVER_NEXT` is one
of another version, for upgrades.
"""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

from sandbox.errors import SandboxError

VARIABLES = ("FDBSERVER", "FDBSERVER_NEXT")
PROGRAMS = ("fdbserver", "fdbcli")
_VERSION = re.compile(r"\(v(\d+\.\d+\.\d+)")


def versions() -> tuple[str, ...]:
    """Return the versions of the given programs, those of `FDBSERVER` first; raise SandboxError if one cannot run."""
    return tuple(version_of(Path(path)) for name in VARIABLES if (path := os.environ.get(name)))


def programs(version: str) -> dict[str, Path]:
    """Return the given programs of a version by their names; raise SandboxError if there are none."""
    for name in VARIABLES:
        path = Path(os.environ.get(name, ""))
        if path.name and version_of(path) == version:
            return {program: path.parent / program for program in PROGRAMS}
    raise SandboxError(f"neither {' nor '.join(VARIABLES)} names a FoundationDB of version {version}")


@cache
def version_of(server: Path) -> str:
    """Return the version that a program reports; raise SandboxError if it reports none."""
    for program in PROGRAMS:
        if not (server.parent / program).is_file():
            raise SandboxError(f"{server.parent} has no {program}")
    try:
        done = subprocess.run([server, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{server} does not run: {error}") from error
    found = _VERSION.search(done.stdout)
    if found is None:
        raise SandboxError(f"{server} --version prints no version: {done.stdout[:200]}")
    return found[1]
