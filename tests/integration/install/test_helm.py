"""The chart with the real Helm: accepted, equal to the plain manifests, and accepted by a real API server."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any
from uuid import uuid4

import pytest
import yaml

from sandbox.toolchain.programs import monitoring_definitions
from stateward.cli.run.chart import objects
from stateward.operator.database_view.address import ACCOUNT, PREVIEW_ACCOUNT, SERVICE
from tests.integration.install.helm import CHART, Tools
from tests.support.chart import SETS, documents

pytestmark = pytest.mark.integration

Object = dict[str, Any]
MANAGER = "app.kubernetes.io/managed-by"
LOGS = """
apiVersion: stateward.dev/v1alpha1
kind: OpenSearchCluster
metadata: {name: logs}
spec: {version: 2.19.5, pools: [{name: all, replicas: 3}]}
"""


def rendered(tools: Tools, given: dict[str, Any]) -> list[Object]:
    words = ("template", "stateward", str(CHART), "--namespace=stateward-system", tools.values(given))
    return documents(tools.said(tools.helm, *words))


def by_name(found: list[Object]) -> dict[tuple[str, str, str], Object]:
    """Return objects by kind, namespace and name, without the label that names the tool."""
    for each in found:
        each["metadata"].get("labels", {}).pop(MANAGER, None)
    return {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in found}


@pytest.mark.parametrize("name", SETS)
def test_helm_finds_nothing_to_complain_about(tools: Tools, name: str) -> None:
    said = tools.said(tools.helm, "lint", "--strict", str(CHART), tools.values(SETS[name]))
    assert "0 chart(s) failed" in said
    assert "[INFO]" not in said


@pytest.mark.parametrize("name", SETS)
def test_helm_renders_what_the_manifests_are(tools: Tools, name: str) -> None:
    own = by_name([each for each in objects(SETS[name]) if each["kind"] != "Namespace"])
    assert by_name(rendered(tools, SETS[name])) == own


@pytest.mark.parametrize(
    ("wrong", "said"), [("replica=2", "replica"), ("podPolicy=strict", "podPolicy"), ("image.digest=x", "digest")]
)
def test_helm_refuses_wrong_values_by_the_schema(tools: Tools, wrong: str, said: str) -> None:
    done = tools.run(tools.helm, "template", "x", str(CHART), "--set", wrong)
    assert done.returncode == 1
    assert said in done.stderr


@pytest.fixture(scope="module")
def server(tools: Tools, control_plane: Path) -> Tools:
    """Return the programs with a real API server that knows the kinds of the Prometheus operator."""
    there = replace(tools, kubeconfig=control_plane)
    for file in monitoring_definitions():
        there.said(there.kubectl, "apply", "--server-side", "-f", str(file))
    there.said(there.kubectl, "wait", "--for=condition=Established", "crd/prometheusrules.monitoring.coreos.com")
    return there


@pytest.fixture
def place(server: Tools) -> Iterator[str]:
    name = f"chart-{uuid4().hex[:6]}"
    server.said(server.kubectl, "create", "namespace", name)
    yield name
    server.run(server.kubectl, "delete", "namespace", name, "--wait=false")


@pytest.mark.parametrize("name", SETS)
def test_the_api_server_accepts_every_object(server: Tools, place: str, name: str) -> None:
    given = SETS[name]
    namespaces = [f"{place}-{each}" for each in given.get("namespaces", ())]
    for each in namespaces:
        server.said(server.kubectl, "create", "namespace", each)
    found = [each for each in objects({**given, "namespaces": namespaces}, place) if each["kind"] != "Namespace"]
    text = yaml.safe_dump_all(found)
    words = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-")
    said = server.said(server.kubectl, *words, stdin=text)
    assert len(said.splitlines()) == len(found)
    for each in namespaces:
        server.said(server.kubectl, "delete", "namespace", each, "--wait=false")


@pytest.fixture
def release(server: Tools, place: str) -> Iterator[str]:
    """Install the chart under a name of its own; CRDs of other tests are taken over."""
    # The name is that of cluster roles, too.
    server.said(
        server.helm, "install", place, str(CHART), f"--namespace={place}", "--take-ownership", "--set=replicas=0"
    )
    yield place
    server.run(server.helm, "uninstall", place, f"--namespace={place}", "--ignore-not-found")


def test_an_upgrade_of_the_release_upgrades_the_crds(server: Tools, release: str, tmp_path: Path) -> None:
    newer = tmp_path / "stateward"
    copytree(CHART, newer)
    file = newer / "files/crds/stateward.dev_osclusters.yaml"
    body = yaml.safe_load(file.read_text())
    body["spec"]["names"]["shortNames"] = ["swos", "swnew"]
    file.write_text(yaml.safe_dump(body))
    server.said(server.helm, "upgrade", release, str(newer), f"--namespace={release}", "--set=replicas=0")
    names = server.read("crd", "osclusters.stateward.dev")["spec"]["names"]
    server.said(server.helm, "upgrade", release, str(CHART), f"--namespace={release}", "--set=replicas=0")
    assert names["shortNames"] == ["swos", "swnew"]
    assert server.read("crd", "osclusters.stateward.dev")["spec"]["names"]["shortNames"] == ["swos"]


def test_uninstall_leaves_clusters_and_says_so_and_a_new_release_manages_them_again(
    server: Tools, release: str
) -> None:
    server.said(server.kubectl, "wait", "--for=condition=Established", "crd/osclusters.stateward.dev")
    server.said(server.kubectl, "apply", "-n", release, "-f", "-", stdin=LOGS)
    notes = server.said(server.helm, "get", "notes", release, f"--namespace={release}")
    assert "databases keep running" in " ".join(notes.split())
    said = server.said(server.helm, "uninstall", release, f"--namespace={release}")
    assert "kept due to the resource policy" in said
    assert "osclusters.stateward.dev" in said
    assert "No resources" not in server.said(server.kubectl, "get", "oscluster", "logs", "-n", release)
    left = server.said(server.kubectl, "get", "deploy,sa,role,clusterrole", "-n", release, "-o", "name").splitlines()
    assert [each for each in left if each.rpartition("/")[2].startswith(release)] == []
    server.said(server.helm, "install", release, str(CHART), f"--namespace={release}", "--set=replicas=0")
    server.said(server.kubectl, "delete", "oscluster", "logs", "-n", release)


def test_a_release_is_installed_again_after_another_version_was_tried_beside_it(server: Tools, release: str) -> None:
    """The CRDs of the other version were applied by kubectl, as docs/install.md says: Helm still knows them."""
    definitions = [each for each in objects({}) if each["kind"] == "CustomResourceDefinition"]
    words = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    server.said(server.kubectl, *words, stdin=yaml.safe_dump_all(definitions))
    server.said(server.helm, "uninstall", release, f"--namespace={release}")
    server.said(server.helm, "install", release, str(CHART), f"--namespace={release}", "--set=replicas=0")


def test_warnings_say_what_uninstall_deletes_without_kept_crds(server: Tools, release: str) -> None:
    words = ("upgrade", release, str(CHART), f"--namespace={release}", "--set=crds.keep=false", "--set=replicas=0")
    assert "deletes ALL CLUSTERS" in " ".join(server.said(server.helm, *words).split())
    server.said(server.helm, "upgrade", release, str(CHART), f"--namespace={release}", "--set=replicas=0")


def test_the_rights_that_the_documented_command_prints_are_those_that_the_chart_leaves_out(tools: Tools) -> None:
    kinds = {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}
    whole = {"webhook": True, "page": True, "namespaces": ["a"]}
    without = rendered(tools, {**whole, "rbac": {"create": False}})
    wanted = [each for each in rendered(tools, whole) if each["kind"] in kinds]
    assert [each for each in without if each["kind"] in kinds] == []
    text = (CHART.parents[1] / "docs/install.md").read_text()
    (only,) = re.findall(r"--set rbac\.create=true --show-only '([^']*)'", text)
    words = ("template", "stateward", str(CHART), "--namespace=stateward-system", "--set=rbac.create=true")
    printed = tools.said(tools.helm, *words, tools.values({**whole, "rbac": {"create": False}}), "--show-only", only)
    assert by_name(documents(printed)) == by_name(wanted)


def test_helm_names_objects_as_the_manifests_are_named(tools: Tools) -> None:
    given = tools.values({"nameOverride": "operator", "rbac": {"create": False}})
    words = ("template", "databases", str(CHART), "--namespace=ops", given)
    found = documents(tools.said(tools.helm, *words))
    names = {each["metadata"]["name"] for each in found if each["kind"] != "CustomResourceDefinition"}
    fixed = {SERVICE, ACCOUNT, PREVIEW_ACCOUNT}
    assert {name for name in names if not name.startswith("databases-operator")} == fixed
