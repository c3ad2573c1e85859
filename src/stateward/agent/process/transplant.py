"""Copies the agent with its interpreter into a directory, to run in images without Python.

A copy contains the interpreter's binary, the dynamic loader and every shared library that it has mapped, the modules
that the agent has loaded, and the agent. A clean child process reports them, so there is no list that could be wrong;
it loads all modules before the agent begins to work. Nothing is patched: the copy runs under its own loader with
`--library-path` (`handover.command`), and Python finds its modules beside its binary.
"""

import hashlib
import json
import marshal
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import stateward
from stateward.agent import VERSION
from stateward.agent.process import handover, kept

_SECONDS = 20
_PYC_HEAD = 16
"""Bytes before the code of a compiled module (PEP 552)."""
_UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH
_INVENTORY = """
import json, sys
sys.path.insert(0, sys.argv[1])
import locale, runpy, encodings.ascii, encodings.idna, encodings.latin_1
import stateward.agent.agent, stateward.agent.commandline
stateward.agent.commandline.main(["version"])
with open("/proc/self/maps") as maps:
    mapped = sorted({line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) > 5})
files = sorted({each.__file__ for each in list(sys.modules.values()) if getattr(each, "__file__", None)})
print(json.dumps({"mapped": mapped, "files": files, "library": locale.__file__.rpartition("/")[0]}))
"""


class Part(NamedTuple):
    """One file of the copy."""

    source: Path
    place: Path


class Inventory(NamedTuple):
    """The parts of an interpreter that has loaded the agent."""

    mapped: list[str]
    """Files mapped into memory: the binary, the loader and the libraries."""
    files: list[str]
    """The files of the loaded modules."""
    library: str


def copy(target: Path) -> Path:
    """Copy into a new directory below the target, test it, point `current` to it, and return it.

    A new directory prevents a mixture of two agent versions, when an init container runs again or a newer agent is
    copied into a running pod. Raise `OSError` and `subprocess.SubprocessError`.
    """
    target.mkdir(parents=True, exist_ok=True)
    new = target / ".new"
    shutil.rmtree(new, ignore_errors=True)
    parts = sorted(_parts())
    for part in parts:
        _place(part, new)
    (new / "ld.so").symlink_to(_loader(parts))
    _compile(new)
    final = target / f"{VERSION}-{_digest(parts)}"
    _try(new)
    if final.exists() and not _same(new, final):
        kept.remove(final)
    before = kept.show(new, final)
    for old in target.glob("*-*"):
        if old not in {final, before} and (old / "ld.so").is_symlink():
            shutil.rmtree(old, ignore_errors=True)
    return final


def _same(new: Path, old: Path) -> bool:
    """Return whether two copies hold the same files.

    After a power failure, files that were not yet written to disk are empty, and the init container runs again.
    """
    names = ({path.relative_to(each) for path in each.rglob("*")} for each in (new, old))
    found = next(names)
    return found == next(names) and all(
        _content(new / name) == _content(old / name) for name in found if (new / name).is_file()
    )


def _content(path: Path) -> object:
    """Return what a file holds; of a compiled module its code, which may be written in more than one way.

    Python writes a constant once or twice, as it is used elsewhere in the process that compiles. The disaster this
    prevents: an init container runs again, and the copy that an agent runs from is removed although nothing differs.
    """
    data = path.read_bytes()
    if path.suffix != ".pyc":
        return data
    try:
        return data[:_PYC_HEAD], marshal.loads(data[_PYC_HEAD:])  # noqa: S302 - compiled here, or damaged
    except (EOFError, ValueError, TypeError):
        return data


def _parts() -> Iterator[Part]:
    """Yield the files to copy and their places; the interpreter searches `lib/python3.x` beside `bin`."""
    root = Path(stateward.__file__).resolve().parent.parent
    found = _inventory(root)
    library = Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}")
    binary = Path(sys.executable).resolve()
    yield Part(binary, Path("bin", "python3"))
    modules = {Path(name).resolve(): Path(name) for name in found.files}
    standard = Path(found.library)
    for path in modules.values():
        if path.suffix == ".so":
            yield Part(path, library / "lib-dynload" / path.name)
        elif path.is_relative_to(standard):
            yield Part(path, library / path.relative_to(standard))
    package = root / "stateward"
    for path in [package / "__init__.py", *(package / "agent").rglob("*.py")]:
        yield Part(path, library / path.relative_to(root))
    for name in found.mapped:
        path = Path(name)
        if ".so" in path.name and path.resolve() not in modules and path.is_absolute():
            for alias in _aliases(path):
                yield Part(path, Path("lib", alias))


def _inventory(root: Path) -> Inventory:
    child = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _INVENTORY, str(root)]
    done = subprocess.run(child, check=True, capture_output=True, timeout=_SECONDS)  # noqa: S603 - this interpreter
    return Inventory(**json.loads(done.stdout.splitlines()[-1]))


def _aliases(library: Path) -> list[str]:
    """Return the names by which programs load a library: links beside it, such as `libz.so.1`, or its own."""
    stem = library.name.partition(".so")[0] + ".so."
    beside = [path.name for path in library.parent.glob(f"{stem}*") if path.resolve() == library.resolve()]
    short = [name for name in beside if name != library.name]
    return short or [library.name]


def _loader(parts: list[Part]) -> Path:
    return next(part.place for part in parts if part.place.name.startswith("ld-") and part.place.parent == Path("lib"))


def _place(part: Part, root: Path) -> None:
    """Copy one file, readable for every user: database and init container may run as different users."""
    path = root / part.place
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(part.source, path)
    path.chmod(0o555 if part.place.parts[0] == "bin" or ".so" in path.name else 0o444)
    (root / part.place.parts[0]).chmod(0o755)


def _compile(root: Path) -> None:
    """Compile all modules without docstrings, which saves a megabyte of memory; the sources are never checked again."""
    for path in root.rglob("*.py"):
        py_compile.compile(str(path), doraise=True, optimize=2, invalidation_mode=_UNCHECKED)
    for name in root.glob("lib/python*"):
        (name / "lib-dynload").mkdir(exist_ok=True)


def _digest(parts: list[Part]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{part.place}\0".encode())
        digest.update(hashlib.sha256(part.source.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _try(release: Path) -> None:
    """Run the copy once. A broken copy must fail here, in the init container, and not as process 1."""
    done = subprocess.run(  # noqa: S603 - the copy
        [*handover.command(release), "version"], check=True, capture_output=True, timeout=_SECONDS, env={}
    )
    if done.stdout.decode().strip() != VERSION:
        raise OSError(f"the copy in {release} answers {done.stdout!r} and not {VERSION}")
