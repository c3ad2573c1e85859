"""The OLM bundle, judged by the validators of the Operator Framework."""

import base64
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from release.bundle import Edition, bundle
from sandbox.progress import Progress
from sandbox.toolchain.programs import OPERATOR_VERIFY, build_program
from stateward.cli.run.chart import objects
from tests.integration.install.helm import CHART, Tools

pytestmark = pytest.mark.integration
Judge = Callable[[Path], tuple[int, str]]


@pytest.fixture(scope="module")
def judge() -> Judge:
    """Return a function that has a bundle judged: the exit code, and what is said."""
    program = build_program(OPERATOR_VERIFY, Progress())

    def judged(folder: Path) -> tuple[int, str]:
        words = [program, "manifests", folder]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stdout + done.stderr

    return judged


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Return a folder with the bundle of a version that replaces another one."""
    icon = base64.b64encode((CHART.parents[1] / "docs/pictures/icon.svg").read_bytes()).decode()
    image, created = "registry.example/stateward:0.2.0", "2026-01-01T00:00:00Z"
    edition = Edition("0.2.0", image, created, previous="0.1.0", icon=icon)
    for path, text in bundle(objects({}), edition).items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_the_bundle_is_valid_without_a_warning(judge: Judge, written: Path) -> None:
    assert judge(written) == (0, "")


@pytest.mark.parametrize(
    ("field", "value"), [("version", "one"), ("installModes", []), ("customresourcedefinitions", {"owned": []})]
)
def test_a_wrong_bundle_is_refused(judge: Judge, written: Path, field: str, value: object) -> None:
    file = written / "manifests/stateward.clusterserviceversion.yaml"
    document = yaml.safe_load(file.read_text())
    document["spec"][field] = value
    file.write_text(yaml.safe_dump(document))
    code, said = judge(written)
    assert code or said


def created_by_olm(service_version: Any, namespace: str) -> Iterator[dict[str, Any]]:
    """Yield what OLM creates from a ClusterServiceVersion, as its documentation says: accounts, rights, deployments."""
    install = service_version["spec"]["install"]["spec"]
    accounts = {
        each["serviceAccountName"] for field in ("permissions", "clusterPermissions") for each in install[field]
    }
    for account in sorted(accounts):
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}
    for field, kind in (("permissions", "Role"), ("clusterPermissions", "ClusterRole")):
        for number, each in enumerate(install[field]):
            name = f"{namespace}-{number}"
            role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
            subject = {"kind": "ServiceAccount", "name": each["serviceAccountName"], "namespace": namespace}
            head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
            yield {**head, "kind": kind, "rules": each["rules"]}
            yield {**head, "kind": f"{kind}Binding", "roleRef": role, "subjects": [subject]}
    for each in install["deployments"]:
        yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": each["name"]}, "spec": each["spec"]}


def test_an_api_server_accepts_what_is_installed_with_the_bundle(
    tools: Tools, control_plane: Path, written: Path
) -> None:
    server, place = replace(tools, kubeconfig=control_plane), f"bundle-{uuid4().hex[:6]}"
    server.said(server.kubectl, "create", "namespace", place)
    try:
        documents = [yaml.safe_load(file.read_text()) for file in sorted((written / "manifests").iterdir())]
        (service_version,) = [each for each in documents if each["kind"] == "ClusterServiceVersion"]
        brought = [each for each in documents if each is not service_version]
        whole = [*brought, *created_by_olm(service_version, place)]
        words = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", f"--namespace={place}", "-f", "-")
        said = server.said(server.kubectl, *words, stdin=yaml.safe_dump_all(whole))
        assert len(said.splitlines()) == len(whole)
    finally:
        server.run(server.kubectl, "delete", "namespace", place, "--wait=false")
