"""The lowest layers: a small Debian or Ubuntu of the same release as this machine's, from its own packages.

Where this release has no Java that is new enough, the layer is of the next release, from the same mirrors.
"""

import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Sequence
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
_JAVAS = (17, 21)
_NEXT = {"bookworm": "trixie"}
"""The release of Debian that follows, for those without the newest of these versions of Java."""
_NEEDLESS = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")


def java_base(java: int, progress: Progress) -> Blob:
    """Return the layer below every database: Java of this version or a later one, curl, and tools of start scripts."""
    packages.require(packages.IMAGES, progress)
    codename, package = java_source(java, _codename(), packages.offered)
    return _base("java", [package, "curl", "ca-certificates", "procps"], progress, codename)


def java_source(java: int, codename: str, offered: Callable[[str], bool]) -> tuple[str, str]:
    """Return the release and the package with Java of this version or a later one.

    It is this machine's release where that has one, and otherwise the next; raises SandboxError if neither does.
    """
    names = [f"openjdk-{each}-jre-headless" for each in _JAVAS if each >= java]
    for name in names:
        if offered(name):
            return codename, name
    if codename in _NEXT:
        return _NEXT[codename], names[-1]
    raise SandboxError(f"none of these is among this machine's packages: {', '.join(names)}; run 'apt-get update'")


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


def _codename() -> str:
    return release().get("VERSION_CODENAME", "")


def _base(name: str, contents: Sequence[str], progress: Progress, codename: str = "") -> Blob:
    codename = codename or _codename()
    recipe = digest.of_files([], _EDITION, codename, processor(), *contents)

    def make() -> Blob:
        packages.require(packages.IMAGES, progress)
        with progress.step(f"base layer of {codename} with {name}, from this machine's package sources"):
            return _debootstrap(name, codename, contents)

    return remembered_layer(recipe, make)


def _debootstrap(name: str, codename: str, contents: Sequence[str]) -> Blob:
    scratch = blob_store().scratch(f"base-{name}")
    options = [f"--dpkgopt=path-exclude={pattern}" for pattern in _NEEDLESS]
    argv = ["mmdebstrap", "--variant=minbase", "--format=tar", f"--include={','.join(contents)}", *options]
    try:
        with tempfile.TemporaryDirectory() as directory:
            run(
                # In a mount namespace of its own: an interrupted run leaves no mount behind.
                ["unshare", "--mount", "--", *argv, codename, scratch, *_sources(codename, Path(directory))],
                environment={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "LC_ALL": "C"},
                timeout=1200,
            )
    except CommandError as error:
        errors = [line for line in error.output.splitlines() if line.startswith("E:")]
        raise SandboxError(
            f"a base system could not be made; are the package mirrors reachable? ({(errors or [str(error)])[0]})"
        ) from error
    return blob_store().adopt(scratch)


def _sources(codename: str, scratch: Path) -> list[str]:
    """Return the files that say where this machine's own packages come from, without other vendors'.

    For another release than the machine's they are copies in `scratch` that name that release.
    """
    directory = Path("/etc/apt")
    found = [directory / "sources.list", *sorted((directory / "sources.list.d").glob("*"))]
    kind = release().get("ID", "debian")
    own = [path for path in found if path.name == "sources.list" or path.stem in {kind, "debian", "ubuntu"}]
    files = [path for path in own if path.is_file() and path.suffix in {".list", ".sources"}]
    if codename == _codename():
        return [str(path) for path in files]
    for path in files:
        (scratch / path.name).write_text(of_release(path.read_text(), _codename(), codename))
    return [str(scratch / path.name) for path in files]


def of_release(sources: str, old: str, new: str) -> str:
    """Return a list of package sources with another release in it, with its updates and security fixes."""
    return re.sub(rf"\b{re.escape(old)}\b", new, sources)
