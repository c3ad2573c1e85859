"""Images that look like FoundationDB's official ones: their programs, their user, their directories.

The programs are the stand-in's, or the real ones that the environment names.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sandbox.foundationdb import programs, real
from sandbox.images import pins
from sandbox.images.base import file_of, python_base
from sandbox.images.layers import Entry, layer
from sandbox.images.oci import Blob, Execution, Image, assemble
from sandbox.images.store import blob_store, processor, remembered_image
from sandbox.progress import Progress
from sandbox.toolchain import digest

_USER = 4059  # as in the official image


def foundationdb_image(version: str, progress: Progress) -> Image:
    """Return the image of the stand-in of a version; it is Python's base layer and some kilobytes more."""
    own = [Path(programs.__file__), *programs.sources()]
    made = {name: programs.program(name, version) for name in programs.PROGRAMS}
    return _image(f"{pins.FOUNDATIONDB}:{version}", own, made, progress)


def real_foundationdb_image(version: str, progress: Progress) -> Image:
    """Return the image of given programs; raise SandboxError if there are none of this version."""
    given = real.programs(version)
    return _image(f"{pins.REAL_FOUNDATIONDB}:{version}", list(given.values()), given, progress)


def _image(name: str, sources: list[Path], found: Mapping[str, bytes | Path], progress: Progress) -> Image:
    base = python_base(progress)
    recipe = digest.of_files([Path(__file__), *sources], name, base.digest)

    def make() -> Image:
        progress.say(f"making the image {name}")
        content = layer(blob_store(), name.replace("/", "_"), _content(base, found))
        execution = Execution(
            command=["fdbserver"],
            user=str(_USER),
            directory="/var/fdb",
            environment={"FDB_CLUSTER_FILE": "/var/fdb/fdb.cluster", "PYTHONUNBUFFERED": "1"},
            labels={"dev.stateward.stand-in": "true"} if pins.REAL_FOUNDATIONDB not in name else {},
        )
        return assemble(blob_store(), name, [base, content], execution, processor())

    return remembered_image(recipe, make)


def _content(base: Blob, found: Mapping[str, bytes | Path]) -> Iterator[Entry]:
    for directory in ("var/fdb", "var/fdb/data", "var/fdb/logs", "var/fdb/tmp"):
        yield Entry(directory, None, mode=0o755, owner=_USER, group=_USER)
    for name, content in sorted(found.items()):
        yield Entry(f"usr/bin/{name}", content, mode=0o755)
    yield Entry("etc/passwd", f"{file_of(base, 'etc/passwd')}fdb:x:{_USER}:{_USER}:fdb:/var/fdb:/bin/bash\n".encode())
    yield Entry("etc/group", f"{file_of(base, 'etc/group')}fdb:x:{_USER}:\n".encode())
