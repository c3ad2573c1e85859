"""Downloads by coordinates, through the ordinary client, checked against their pinned digest and kept."""

import tempfile
from pathlib import Path

from sandbox.errors import CommandError, SandboxError
from sandbox.host import packages
from sandbox.host.commands import run
from sandbox.host.locks import locked
from sandbox.images.pins import Artifact
from sandbox.layout import cache_root
from sandbox.progress import Progress
from sandbox.toolchain import digest


def fetch(artifact: Artifact, progress: Progress) -> Path:
    """Return the artifact's file; raise SandboxError if it cannot be had or is not what was pinned."""
    directory = cache_root() / "downloads"
    path = directory / artifact.file_name
    with locked(cache_root() / "locks" / artifact.file_name):
        if path.exists() and digest.of_file(path) == artifact.sha256:
            return path
        directory.mkdir(parents=True, exist_ok=True)
        packages.require(packages.DOWNLOADS, progress)
        with progress.step(f"downloading {artifact.file_name}"), tempfile.TemporaryDirectory(dir=directory) as scratch:
            _copy(artifact, Path(scratch))
            (Path(scratch) / artifact.file_name).replace(path)
    return path


def _copy(artifact: Artifact, directory: Path) -> None:
    words = ["dependency:copy", f"-Dartifact={artifact.coordinates}", f"-DoutputDirectory={directory}"]
    try:
        run(["mvn", "--quiet", "--batch-mode", *words], timeout=900)
    except CommandError as error:
        raise SandboxError(
            f"{artifact.coordinates} could not be downloaded; is the Maven repository reachable? ({error})"
        ) from error
    found = digest.of_file(directory / artifact.file_name)
    if found != artifact.sha256:
        raise SandboxError(
            f"{artifact.file_name} has SHA-256 {found}, not the pinned {artifact.sha256}; it was not used"
        )
