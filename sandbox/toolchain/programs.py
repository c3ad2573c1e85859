"""Go builds of programs that only tests use, such as Helm, promtool and an S3 server; made when asked for."""

import re
from dataclasses import dataclass
from pathlib import Path

from sandbox.host.commands import run
from sandbox.host.locks import locked
from sandbox.layout import cache_root, sources
from sandbox.progress import Progress
from sandbox.toolchain import digest
from sandbox.toolchain.kubelite import go_build, kubernetes_version


@dataclass(frozen=True, slots=True)
class Program:
    """A program of another module, which a folder pins, or of that folder itself."""

    name: str
    package: str
    tags: str = ""
    """Build tags."""
    folder: str = ""
    """Where its module is; by default the folder has the program's name."""

    @property
    def module(self) -> Path:
        """The folder with its go.mod."""
        return sources() / (self.folder or self.name)


HELM = Program("helm", "helm.sh/helm/v3/cmd/helm")
# Without the service discovery of clouds, whose packages would take most of the build.
PROMTOOL = Program("promtool", "github.com/prometheus/prometheus/cmd/promtool", tags="remove_all_sd")
VERSITYGW = Program("versitygw", "github.com/versity/versitygw/cmd/versitygw")
"""A server of the S3 protocol."""
IDENTITY = Program("identity", ".")
"""A provider of OpenID Connect and SAML."""
KREW = Program("krew", "sigs.k8s.io/krew/cmd/krew")
OPERATOR_VERIFY = Program("operatorverify", "github.com/operator-framework/api/cmd/operator-verify")
_KEDA = "github.com/kedacore/keda/v2"
KEDA = Program("keda", f"{_KEDA}/cmd/operator")
KEDA_ADAPTER = Program("keda-adapter", f"{_KEDA}/cmd/adapter", folder="keda")
"""The server of the metrics that KEDA reads, for HorizontalPodAutoscalers."""


def build_program(program: Program, progress: Progress) -> Path:
    """Return the program, building it if the module is new; raise SandboxError if it does not build."""
    module, flags = program.module, _flags(program)
    key = digest.of_files([module / "go.mod", module / "go.sum", *module.glob("main.go")], flags, program.tags)
    target = cache_root() / program.name / key / program.name
    with locked(cache_root() / f"{program.name}.lock"):
        if not target.exists():
            go_build(module, target, progress, f"building {program.name}", flags, program.package, tags=program.tags)
    return target


def monitoring_definitions() -> tuple[Path, ...]:
    """Return the files with the resource definitions of the Prometheus operator; raise SandboxError without them."""
    name = "github.com/prometheus-operator/prometheus-operator"
    place = _downloaded(sources() / "prometheusoperator", name) / "example/prometheus-operator-crd"
    kinds = ("podmonitors", "prometheusrules", "servicemonitors")
    return tuple(place / f"monitoring.coreos.com_{kind}.yaml" for kind in kinds)


def keda_manifests() -> tuple[Path, ...]:
    """Return the files that install KEDA, without its webhook, in an order for it; raise SandboxError without them."""
    place = _downloaded(KEDA.module, _KEDA) / "config"
    folders = ("general", "crd/bases", "service_account", "rbac", "manager", "metrics-server")
    files = [file for folder in folders for file in sorted((place / folder).glob("*.yaml"))]
    return tuple(file for file in files if file.name != "kustomization.yaml")


def _downloaded(module: Path, name: str) -> Path:
    """Return the folder with the sources of a module that another one requires."""
    run(["go", "mod", "download", name], directory=module, timeout=600)
    return Path(run(["go", "list", "-m", "-f", "{{.Dir}}", name], directory=module, timeout=600).strip())


def _flags(program: Program) -> str:
    """Return the linker flags. Helm renders for the version of Kubernetes that is compiled into it."""
    if program is not HELM:
        return "-s -w"
    numbers = re.findall(r"\d+", kubernetes_version())
    places = ("chartutil.k8sVersion", "lint/rules.k8sVersion")
    stamps = [
        f"-X helm.sh/helm/v3/pkg/{place}{part}={number}"
        for place in places
        for part, number in zip(("Major", "Minor"), numbers, strict=False)
    ]
    return " ".join(["-s", "-w", *stamps])
