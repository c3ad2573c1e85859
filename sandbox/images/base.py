"""The lowest layers: a small Debian or Ubuntu of the same release as this machine's, from its own packages."""

import os
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path

from sandbox.errors import CommandError, SandboxError
from sandbox.host import packages
from sandbox.host.commands import run
from sandbox.images.layers import EPOCH
from sandbox.images.oci import Blob
from sandbox.images.store import blob_store, processor, remembered_layer
from sandbox.progress import Progress
from sandbox.toolchain import digest

# Raised when the way a base is made changes.
_EDITION = "3"
# Not the manual pages: installing Java fails without their directories.
_NEEDLESS = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")


def java_base(progress: Progress) -> Blob:
    """Return the layer below every database: Java, curl and the tools that start scripts use."""
    packages.require(packages.IMAGES, progress)
    return _base("java", [_java_package(), "curl", "ca-certificates", "procps"], progress)


def python_base(progress: Progress) -> Blob:
    """Return the layer below the operator: Python."""
    return _base("python", ["python3", "ca-certificates"], progress)


def debian_base(name: str, contents: Sequence[str], progress: Progress) -> Blob:
    """Return a base layer with these packages."""
    return _base(name, contents, progress)


def file_of(layer: Blob, path: str) -> str:
    """Return the text of one file of a layer."""
    with tarfile.open(blob_store().path(layer.digest)) as archive:
        for entry in archive:
            if entry.name.removeprefix("./") == path:
                content = archive.extractfile(entry)
                assert content is not None  # noqa: S101 - a regular file
                return content.read().decode()
    raise SandboxError(f"the base layer has no {path}; remove the cache of images and try again")


def java_home(layer: Blob) -> str:
    """Return the directory of Java in a layer."""
    with tarfile.open(blob_store().path(layer.digest)) as archive:
        for entry in archive:
            name = entry.name.removeprefix("./")
            if entry.isdir() and re.fullmatch(r"usr/lib/jvm/java-\d+-openjdk-\w+", name):
                return f"/{name}"
    raise SandboxError("the base layer has no Java; remove the cache of images and try again")


def release() -> dict[str, str]:
    """Return what this machine's /etc/os-release says."""
    lines = Path("/etc/os-release").read_text().splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key: value.strip('"') for key, _, value in pairs}


def _base(name: str, contents: Sequence[str], progress: Progress) -> Blob:
    codename = release().get("VERSION_CODENAME", "")
    recipe = digest.of_files([], _EDITION, codename, processor(), *contents)

    def make() -> Blob:
        packages.require(packages.IMAGES, progress)
        with progress.step(f"base layer with {name}, from this machine's package sources"):
            return _debootstrap(name, codename, contents)

    return remembered_layer(recipe, make)


def _debootstrap(name: str, codename: str, contents: Sequence[str]) -> Blob:
    scratch = blob_store().scratch(f"base-{name}")
    options = [f"--dpkgopt=path-exclude={pattern}" for pattern in _NEEDLESS]
    argv = ["mmdebstrap", "--variant=minbase", "--format=tar", f"--include={','.join(contents)}", *options]
    try:
        run(
            # In a mount namespace of its own: an interrupted run leaves no mount behind.
            ["unshare", "--mount", "--", *argv, codename, scratch, *_sources()],
            environment={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "LC_ALL": "C"},
            timeout=1200,
        )
    except CommandError as error:
        errors = [line for line in error.output.splitlines() if line.startswith("E:")]
        raise SandboxError(
            f"a base system could not be made; are the package mirrors reachable? ({(errors or [str(error)])[0]})"
        ) from error
    return blob_store().adopt(scratch)


def _sources() -> list[str]:
    """Return the files that say where this machine's own packages come from, without other vendors'."""
    directory = Path("/etc/apt")
    found = [directory / "sources.list", *sorted((directory / "sources.list.d").glob("*"))]
    kind = release().get("ID", "debian")
    own = [path for path in found if path.name == "sources.list" or path.stem in {kind, "debian", "ubuntu"}]
    return [str(path) for path in own if path.is_file() and path.suffix in {".list", ".sources"}]


def _java_package() -> str:
    for version in ("17", "21"):
        package = f"openjdk-{version}-jre-headless"
        if packages.offered(package):
            return package
    raise SandboxError(
        "neither openjdk-17-jre-headless nor -21- is among this machine's packages; run 'apt-get update'"
    )
