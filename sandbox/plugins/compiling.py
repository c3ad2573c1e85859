"""Compiles a plug-in of ours against the libraries of the version that it is for, or against declarations of ours."""

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
        with zipfile.ZipFile(home) as archive:
            for name in archive.namelist():
                if name.endswith(".jar") and name.partition("/")[2].rpartition("/")[0] in directories:
                    (Path(scratch) / Path(name).name).write_bytes(archive.read(name))
        return _jar(sources, ["-cp", f"{scratch}/*"])


def compiled_with(declarations: Path, sources: Path) -> bytes:
    """Return a jar of the classes, without the declarations that they are compiled against.

    For a version whose own classes are of a newer Java, which this machine's compiler may not be able to read.
    """
    return _jar(sources, ["-sourcepath", str(declarations), "-implicit:none"])


def _jar(sources: Path, words: list[str]) -> bytes:
    with tempfile.TemporaryDirectory() as classes:
        options = ["--release", str(JAVA), "-nowarn", "-d", classes, *words]
        run(["javac", *options, *map(str, sorted(sources.glob("*.java")))], timeout=300)
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for path in sorted(Path(classes).rglob("*.class")):
                archive.writestr(zipfile.ZipInfo(str(path.relative_to(classes))), path.read_bytes())
    return made.getvalue()
