"""The Go build of cert-manager's controller, which makes certificates and renews them; made only when asked for."""

from dataclasses import dataclass
from pathlib import Path

from sandbox.host.commands import run
from sandbox.host.locks import locked
from sandbox.layout import cache_root, sources
from sandbox.progress import Progress
from sandbox.toolchain import digest
from sandbox.toolchain.kubelite import go_build

_MODULE = "github.com/cert-manager/cert-manager"


@dataclass(frozen=True, slots=True)
class CertManager:
    """The program, and the files with its resource definitions."""

    program: Path
    definitions: tuple[Path, ...]


def build_cert_manager(progress: Progress) -> CertManager:
    """Return cert-manager, building it if the module is new; raise SandboxError if it does not build."""
    module = sources() / "certmanager"
    target = cache_root() / "certmanager" / digest.of_files([module / "go.mod", module / "go.sum"]) / "controller"
    with locked(cache_root() / "certmanager.lock"):
        if not target.exists():
            go_build(module, target, progress, "building cert-manager", "-s -w", f"{_MODULE}/cmd/controller")
        folder = run(["go", "list", "-m", "-f", "{{.Dir}}", _MODULE], directory=module, timeout=600).strip()
    return CertManager(target, tuple(sorted((Path(folder) / "deploy" / "crds").glob("crd-*.yaml"))))
