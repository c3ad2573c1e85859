"""Images that look like the official ones of OpenSearch Dashboards and Kibana, and hold the stand-in."""

from collections.abc import Iterator
from pathlib import Path

from sandbox.images.base import file_of, python_base
from sandbox.images.layers import Entry, layer
from sandbox.images.oci import Blob, Execution, Image, assemble
from sandbox.images.store import blob_store, processor, remembered_image
from sandbox.progress import Progress
from sandbox.toolchain import digest

OPENSEARCH_DASHBOARDS = "docker.io/opensearchproject/opensearch-dashboards"
KIBANA = "docker.elastic.co/kibana/kibana"
VERSIONS = {OPENSEARCH_DASHBOARDS: ("2.19.1", "2.19.3"), KIBANA: ("8.17.0", "8.19.4")}
NAMES = tuple(f"{repository}:{version}" for repository, versions in VERSIONS.items() for version in versions)
"""The full names of these images."""

_USER = 1000  # as in the official images
_PROGRAM = Path(__file__).with_name("server.py")
_HOMES = {
    OPENSEARCH_DASHBOARDS: ("opensearch", "usr/share/opensearch-dashboards"),
    KIBANA: ("elasticsearch", "usr/share/kibana"),
}


def dashboards_image(name: str, progress: Progress) -> Image:
    """Return the image of this name, made if need be; raises KeyError for a name that is not known."""
    repository, _, version = name.rpartition(":")
    engine, home = _HOMES[repository]
    base = python_base(progress)
    recipe = digest.of_files([Path(__file__), _PROGRAM], name, base.digest)

    def make() -> Image:
        progress.say(f"making the image {name}")
        content = layer(blob_store(), name.replace("/", "_"), _content(base, home))
        execution = Execution(
            entrypoint=["python3", f"/{home}/server.py", engine, version, f"/{home}"],
            user=str(_USER),
            directory=f"/{home}",
            environment={"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            labels={"dev.stateward.stand-in": "true"},
        )
        return assemble(blob_store(), name, [base, content], execution, processor())

    return remembered_image(recipe, make)


def _content(base: Blob, home: str) -> Iterator[Entry]:
    for directory in (home, f"{home}/config", f"{home}/data"):
        yield Entry(directory, None, mode=0o755, owner=_USER, group=_USER)
    yield Entry(f"{home}/server.py", _PROGRAM.read_bytes(), mode=0o755)
    line = f"dashboards:x:{_USER}:{_USER}:dashboards:/{home}:/bin/bash\n"
    yield Entry("etc/passwd", f"{file_of(base, 'etc/passwd')}{line}".encode())
    yield Entry("etc/group", f"{file_of(base, 'etc/group')}dashboards:x:{_USER}:\n".encode())
