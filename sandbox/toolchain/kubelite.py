"""The Go build: all of Kubernetes and CoreDNS in one binary, cached by the content of its module."""

import contextlib
import os
import re
import subprocess
import threading
from pathlib import Path

from sandbox.errors import CommandError, SandboxError
from sandbox.host.commands import run
from sandbox.host.locks import locked
from sandbox.layout import cache_root, sources
from sandbox.progress import Progress
from sandbox.toolchain import digest

COMPONENTS = (
    "coredns",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)
_VERSION = re.compile(r"^\s*k8s\.io/kubernetes (v1\.(\d+)\.\d+)$", re.MULTILINE)
_CHOICE = "STATEWARD_KUBERNETES"


def kubernetes_version() -> str:
    """Return the version of Kubernetes that is built, for example v1.34.4; raise SandboxError for an unknown choice."""
    return _version()[0]


def requirements() -> Path:
    """Return the Go requirements of the minor version that is asked for; raise SandboxError for an unknown one."""
    module, chosen = sources() / "kubelite", os.environ.get(_CHOICE, "")
    known = {_version_in(file)[0].removeprefix("v").rpartition(".")[0]: file for file in _all_requirements(module)}
    if chosen and chosen not in known:
        raise SandboxError(f"{_CHOICE} is {chosen!r}; a sandbox can be built of Kubernetes {', '.join(sorted(known))}")
    return known[chosen] if chosen else module / "go.mod"


def build_step() -> str:
    """Return the name of the step in which the build's progress is told."""
    return f"building Kubernetes {kubernetes_version()}"


def build_kubelite(progress: Progress) -> Path:
    """Return the directory with one program for each component, building them if the module is new."""
    module, chosen = sources() / "kubelite", requirements()
    files = [chosen, chosen.with_suffix(".sum"), *module.glob("*.go")]
    target = cache_root() / "kubelite" / digest.of_files(files)
    with locked(cache_root() / "kubelite.lock"):
        if not (target / "kubelite").exists():
            go_build(module, target / "kubelite", progress, build_step(), _flags(), requirements=chosen)
        for component in COMPONENTS:
            link = target / component
            if not link.is_symlink():
                link.symlink_to("kubelite")
    return target


def is_built() -> bool:
    """Return whether Kubernetes has been built before, in this version or another: then Go has its packages."""
    return any((cache_root() / "kubelite").glob("*/kubelite"))


def go_build(  # noqa: PLR0913 - the last three are for other modules and other requirements
    module: Path,
    output: Path,
    progress: Progress,
    title: str,
    flags: str,
    package: str = ".",
    *,
    tags: str = "",
    requirements: Path | None = None,
) -> None:
    """Build a Go program, saying how far it is; raise SandboxError if it does not build."""
    options = f"-mod=readonly -tags={tags}" + (f" -modfile={requirements}" if requirements else "")
    # The compiler is many short processes: without garbage collection they take a sixth less processor time.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": options, "GOGC": "off", "GOMEMLIMIT": "1GiB"}
    total = _packages(module, package, progress, title, environment)
    output.parent.mkdir(parents=True, exist_ok=True)
    fresh = output.with_name(f".{output.name}.new")
    argv = ["go", "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", str(fresh), package]
    said: list[str] = []
    with (
        progress.step(title, lambda: f"({len(said)} of at most {total} packages)"),
        subprocess.Popen(
            argv, cwd=module, env=environment, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        ) as build,
    ):
        reader = threading.Thread(target=lambda: said.extend(build.stderr or ()), daemon=True)
        reader.start()
        try:
            code = build.wait()
        except BaseException:
            build.terminate()
            build.wait()
            _forget(fresh)
            raise
        finally:
            reader.join()
    if code != 0:
        _forget(fresh)
        last = " ".join(line.strip() for line in said[-5:]) or "nothing"
        raise SandboxError(f"the Go build failed; is the module registry reachable? It said: {last}")
    fresh.replace(output)


def _forget(half_made: Path) -> None:
    half_made.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # another program is in it
        half_made.parent.rmdir()


def _packages(module: Path, package: str, progress: Progress, title: str, environment: dict[str, str]) -> int:
    """Fetch the modules of a program and return how many packages it has."""
    with progress.step(f"{title}: fetching modules"):
        try:
            argv = ["go", "list", "-deps", package]
            return len(run(argv, environment=environment, directory=module, timeout=1200).splitlines())
        except CommandError as error:
            raise SandboxError(
                f"the Go modules could not be fetched; is the module registry reachable? ({error})"
            ) from error


def _version() -> tuple[str, str]:
    return _version_in(requirements())


def _all_requirements(module: Path) -> list[Path]:
    return [module / "go.mod", *(module / "minors").glob("*.mod")]


def _version_in(file: Path) -> tuple[str, str]:
    found = _VERSION.search(file.read_text())
    assert found is not None  # noqa: S101 - the files are part of this package
    return found[1], found[2]


def _flags() -> str:
    version, minor = _version()
    values = {"gitVersion": version, "gitMajor": "1", "gitMinor": minor, "gitTreeState": "clean"}
    stamps = [
        f"-X {package}.{name}={value}"
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        for name, value in values.items()
    ]
    return " ".join(["-s", "-w", *stamps])
