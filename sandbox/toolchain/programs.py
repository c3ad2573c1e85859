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
    """A program of another module, which the folder of its name pins, or of that folder itself."""

    name: str
    package: str
    tags: str = ""
    """Build tags."""


HELM = Program("helm", "helm.sh/helm/v3/cmd/helm")
# Without the service discovery of clouds, whose packages would take most of the build.
PROMTOOL = Program("promtool", "github.com/prometheus/prometheus/cmd/promtool", tags="remove_all_sd")
VERSITYGW = Program("versitygw", "github.com/versity/versitygw/cmd/versitygw")
"""A server of the S3 protocol."""
IDENTITY = Program("identity", ".")
"""A provider of OpenID Connect and SAML."""
KREW = Program("krew", "sigs.k8s.io/krew/cmd/krew")
OPERATOR_VERIFY = Program("operatorverify", "github.com/operator-framework/api/cmd/operator-verify")


def build_program(program: Program, progress: Progress) -> Path:
    """Return the program, building it if the module is new; raise SandboxError if it does not build."""
    module, flags = sources() / program.name, _flags(program)
    key = digest.of_files([module / "go.mod", module / "go.sum", *module.glob("main.go")], flags, program.tags)
    target = cache_root() / program.name / key / program.name
    with locked(cache_root() / f"{program.name}.lock"):
        if not target.exists():
            go_build(module, target, progress, f"building {program.name}", flags, program.package, tags=program.tags)
    return target


def monitoring_definitions() -> tuple[Path, ...]:
    """Return the files with the resource definitions of the Prometheus operator; raise SandboxError without them."""
    module, name = sources() / "prometheusoperator", "github.com/prometheus-operator/prometheus-operator"
    run(["go", "mod", "download", name], directory=module, timeout=600)
    folder = run(["go", "list", "-m", "-f", "{{.Dir}}", name], directory=module, timeout=600).strip()
    kinds = ("podmonitors", "prometheusrules", "servicemonitors")
    place = Path(folder) / "example/prometheus-operator-crd"
    return tuple(place / f"monitoring.coreos.com_{kind}.yaml" for kind in kinds)


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
