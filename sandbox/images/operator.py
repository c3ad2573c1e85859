"""The project's own image: the operator and the agent, from this checkout and its locked dependencies."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.host.commands import run
from sandbox.images.base import file_of, python_base
from sandbox.images.layers import Entry, layer, tree
from sandbox.images.oci import Blob, Execution, Image, assemble
from sandbox.images.store import blob_store, processor, remembered_image, remembered_layer
from sandbox.layout import repository
from sandbox.progress import Progress
from sandbox.toolchain import digest

OPERATOR_IMAGE = "stateward.dev/stateward:dev"

_PACKAGES = "opt/stateward"
_USER = 65532
_LAUNCHER = b"""\
#!/usr/bin/python3 -I
import sys
sys.path.insert(0, "/opt/stateward")
from stateward.cli.main import main
sys.exit(main())
"""


def operator_image(progress: Progress) -> Image:
    """Return the image of this checkout; an unchanged checkout gives the very same one."""
    root = repository()
    base = python_base(progress)
    dependencies = _dependencies(base, root / "requirements" / "runtime.lock", progress)
    source = root / "src" / "stateward"
    files = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    parts = [f"{path.relative_to(source)} {digest.of_file(path)}" for path in sorted(files)]
    recipe = digest.of_files([Path(__file__)], base.digest, dependencies.digest, *parts)

    def make() -> Image:
        progress.say(f"making the image {OPERATOR_IMAGE}")
        content = layer(blob_store(), "stateward", _content(base, source, files))
        execution = Execution(
            entrypoint=["stateward"],
            user=f"{_USER}:{_USER}",
            directory="/",
            environment={"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"/{_PACKAGES}"},
        )
        return assemble(blob_store(), OPERATOR_IMAGE, [base, dependencies, content], execution, processor())

    return remembered_image(recipe, make)


def _content(base: Blob, source: Path, files: list[Path]) -> Iterator[Entry]:
    directories = sorted({parent for path in files for parent in path.relative_to(source).parents})
    for directory in directories:
        yield Entry(f"{_PACKAGES}/stateward/{directory}".removesuffix("/."), None, mode=0o755)
    for path in sorted(files):
        yield Entry(f"{_PACKAGES}/stateward/{path.relative_to(source)}", path)
    yield Entry("usr/local/bin/stateward", _LAUNCHER, mode=0o755)
    line = f"stateward:x:{_USER}:{_USER}:stateward:/:/usr/sbin/nologin\n"
    yield Entry("etc/passwd", f"{file_of(base, 'etc/passwd')}{line}".encode())
    yield Entry("etc/group", f"{file_of(base, 'etc/group')}stateward:x:{_USER}:\n".encode())


def _dependencies(base: Blob, lock: Path, progress: Progress) -> Blob:
    version = _python_version(base)
    recipe = digest.of_files([lock, Path(__file__)], version, processor())

    def make() -> Blob:
        with progress.step("the operator's dependencies"), tempfile.TemporaryDirectory() as scratch:
            _install(lock, version, Path(scratch))
            top = Entry(_PACKAGES, None, mode=0o755)
            return layer(blob_store(), "dependencies", iter([top, *tree(Path(scratch), _PACKAGES)]))

    return remembered_layer(recipe, make)


def _install(lock: Path, version: str, target: Path) -> None:
    # For the Python of the image, which may be another one than that of this machine.
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        raise SandboxError(f"{uv} is missing; run 'make bootstrap'")
    words = ["pip", "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    where = [f"--python-version={version}", f"--python-platform={processor()}-unknown-linux-gnu", f"--target={target}"]
    run([uv, *words, *where, f"--requirement={lock}"], timeout=600)
    for needless in [*target.rglob("__pycache__"), target / "bin"]:
        shutil.rmtree(needless, ignore_errors=True)
    (target / ".lock").unlink(missing_ok=True)


def _python_version(base: Blob) -> str:
    text = file_of(base, "var/lib/dpkg/status")
    packages = text.split("\n\n")
    fields = next(each for each in packages if each.startswith("Package: python3\n"))
    version = next(line for line in fields.splitlines() if line.startswith("Version: "))
    return ".".join(version.removeprefix("Version: ").split(".")[:2])
