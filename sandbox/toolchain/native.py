"""The small C programs: `pause` holds namespaces; `nofile` and `clock` are preloads for databases and for tests."""

from pathlib import Path

from sandbox.host.commands import run
from sandbox.host.locks import locked
from sandbox.layout import cache_root, sources
from sandbox.progress import Progress
from sandbox.toolchain import digest

_RECIPES = {
    "pause": ("-static", "pause.c"),
    "nofile.so": ("-shared", "-fPIC", "nofile.c"),
    "clock.so": ("-shared", "-fPIC", "clock.c"),
}


def build_native(progress: Progress) -> Path:
    """Return the directory of the compiled programs, compiling them if their sources are new."""
    native = sources() / "native"
    target = cache_root() / "native" / digest.of_files(native.glob("*.c"), repr(_RECIPES))
    with locked(cache_root() / "native.lock"):
        if all((target / name).exists() for name in _RECIPES):
            return target
        progress.say("compiling the namespace holder")
        target.mkdir(parents=True, exist_ok=True)
        for name, (*flags, source) in _RECIPES.items():
            fresh = target / f".{name}.new"
            run(["gcc", "-Os", "-s", "-Wall", "-Wextra", *flags, "-o", fresh, native / source])
            fresh.replace(target / name)
    return target
