"""Compiles a plug-in of ours against the libraries of the version that it is for."""

import io
import tempfile
import zipfile
from pathlib import Path

from sandbox.host.commands import run

JAVA = 17


def compiled(home: Path, sources: Path, directories: tuple[str, ...]) -> bytes:
    """Return a jar of the classes, always the same bytes for the same sources.

    `directories` are those of the home, as its zip file has them, with the libraries.
    """
    with tempfile.TemporaryDirectory() as scratch:
        libraries, classes = Path(scratch) / "libraries", Path(scratch) / "classes"
        libraries.mkdir()
        with zipfile.ZipFile(home) as archive:
            for name in archive.namelist():
                if name.endswith(".jar") and name.partition("/")[2].rpartition("/")[0] in directories:
                    (libraries / Path(name).name).write_bytes(archive.read(name))
        words = ["--release", str(JAVA), "-nowarn", "-d", str(classes), "-cp", f"{libraries}/*"]
        run(["javac", *words, *map(str, sorted(sources.glob("*.java")))], timeout=300)
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for path in sorted(classes.rglob("*.class")):
                archive.writestr(zipfile.ZipInfo(str(path.relative_to(classes))), path.read_bytes())
    return made.getvalue()
