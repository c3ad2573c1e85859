"""Images that look like FoundationDB's official ones and hold the stand-in: its programs, its user, its directories."""

from collections.abc import Iterator
from pathlib import Path

from sandbox.foundationdb import programs
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
    name = f"{pins.FOUNDATIONDB}:{version}"
    base = python_base(progress)
    own = [Path(__file__), Path(programs.__file__), *programs.sources()]
    recipe = digest.of_files(own, name, base.digest)

    def make() -> Image:
        progress.say(f"making the image {name}")
        content = layer(blob_store(), name.replace("/", "_"), _content(base, version))
        execution = Execution(
            command=["fdbserver"],
            user=str(_USER),
            directory="/var/fdb",
            environment={"FDB_CLUSTER_FILE": "/var/fdb/fdb.cluster", "PYTHONUNBUFFERED": "1"},
            labels={"dev.stateward.stand-in": "true"},
        )
        return assemble(blob_store(), name, [base, content], execution, processor())

    return remembered_image(recipe, make)


def _content(base: Blob, version: str) -> Iterator[Entry]:
    for directory in ("var/fdb", "var/fdb/data", "var/fdb/logs", "var/fdb/tmp"):
        yield Entry(directory, None, mode=0o755, owner=_USER, group=_USER)
    for name in programs.PROGRAMS:
        yield Entry(f"usr/bin/{name}", programs.program(name, version), mode=0o755)
    yield Entry("etc/passwd", f"{file_of(base, 'etc/passwd')}fdb:x:{_USER}:{_USER}:fdb:/var/fdb:/bin/bash\n".encode())
    yield Entry("etc/group", f"{file_of(base, 'etc/group')}fdb:x:{_USER}:\n".encode())
