"""The stand-in for the plug-in repository-s3, compiled against the libraries of the version that it is for."""

import io
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from sandbox.host import packages
from sandbox.host.commands import run
from sandbox.images import pins
from sandbox.images.layers import Entry
from sandbox.images.maven import fetch
from sandbox.plugins.packing import packed
from sandbox.progress import Progress

VERSIONS = ("2.19.3",)
SOURCES = Path(__file__).with_name("repository-s3")
_POLICY = "plugin-security.policy"
_JAVA = 17


def repository_plugins(progress: Progress) -> Iterator[Entry]:
    """Yield its zip files; raises SandboxError if one cannot be made."""
    packages.require(packages.JAVA, progress)
    for version in VERSIONS:
        home = fetch(pins.opensearch_home(version), progress)
        with progress.step(f"compiling repository-s3 for {version}"), tempfile.TemporaryDirectory() as scratch:
            classes = _compiled(home, Path(scratch))
        files = {f"repository-s3-{version}.jar": classes, _POLICY: (SOURCES / _POLICY).read_bytes()}
        yield packed("repository-s3", version, "dev.stateward.sandbox.s3.Plugin", files, java=_JAVA)


def _compiled(home: Path, scratch: Path) -> bytes:
    """Return a jar of the classes, always the same bytes for the same sources."""
    libraries, classes = scratch / "libraries", scratch / "classes"
    with zipfile.ZipFile(home) as archive:
        for name in archive.namelist():
            if name.split("/")[1:2] == ["lib"] and name.endswith(".jar"):
                target = libraries / Path(name).name
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(archive.read(name))
    words = ["--release", str(_JAVA), "-nowarn", "-d", str(classes), "-cp", f"{libraries}/*"]
    run(["javac", *words, *map(str, sorted(SOURCES.glob("*.java")))], timeout=300)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(classes.rglob("*.class")):
            archive.writestr(zipfile.ZipInfo(str(path.relative_to(classes))), path.read_bytes())
    return made.getvalue()
