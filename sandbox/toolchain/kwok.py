"""The Go build of kwok, which plays nodes and pods by the thousand; made only when it is asked for."""

from pathlib import Path

from sandbox.host.locks import locked
from sandbox.layout import cache_root, sources
from sandbox.progress import Progress
from sandbox.toolchain import digest
from sandbox.toolchain.kubelite import go_build

_PACKAGE = "sigs.k8s.io/kwok/cmd/kwok"


def build_kwok(progress: Progress) -> Path:
    """Return the program, building it if the module is new."""
    module = sources() / "kwok"
    target = cache_root() / "kwok" / digest.of_files([module / "go.mod", module / "go.sum"]) / "kwok"
    with locked(cache_root() / "kwok.lock"):
        if not target.exists():
            go_build(module, target, progress, "building kwok", "-s -w", _PACKAGE)
    return target
