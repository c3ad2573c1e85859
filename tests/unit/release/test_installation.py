"""What a release has for each way to install: complete, and naming what is there."""

import base64
import hashlib
import io
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from release import installation, krew
from release.bundle import Edition, service_version
from release.released import LIST, before
from stateward import __version__
from stateward.api.schema.custom_resources import KINDS
from stateward.cli.run.chart import objects
from tests.support.chart import documents

ROOT = Path(__file__).parents[3]
WHEEL = f"stateward-{__version__}-py3-none-any.whl"


def files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as place:
        wheel = Path(place) / WHEEL
        wheel.write_bytes(b"a wheel")
        return installation.files(ROOT, "1700000000", wheel)


FILES = files()
PLUGIN = f"kubectl-stateward-{__version__}.tar.gz"


def document(path: str) -> Any:
    return yaml.load(FILES[path], yaml.CSafeLoader)


def unpacked(name: str) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(FILES[name])) as archive:
        return {entry.name: entry for entry in archive}


CSV = document("bundle/manifests/stateward.clusterserviceversion.yaml")


def test_the_manifests_of_a_release_are_those_of_the_command_line() -> None:
    assert documents(FILES["stateward.yaml"].decode()) == objects({})


def test_the_chart_of_a_release_has_what_helm_needs_and_not_the_plain_manifests() -> None:
    names = unpacked(f"stateward-chart-{__version__}.tgz").keys()
    assert {"stateward/Chart.yaml", "stateward/values.schema.json", "stateward/templates/_names.tpl"} <= names
    assert "stateward/README.md" in names
    assert {f"stateward/files/crds/stateward.dev_{kind.plural}.yaml" for kind in KINDS} <= names
    assert not [name for name in names if name.startswith(("stateward/manifests", "stateward/kustomization"))]


def test_the_bundle_declares_its_folders_package_and_channel() -> None:
    said = document("bundle/metadata/annotations.yaml")["annotations"]
    prefix = "operators.operatorframework.io.bundle"
    assert said[f"{prefix}.mediatype.v1"] == "registry+v1"
    assert said[f"{prefix}.package.v1"] == "stateward"
    assert said[f"{prefix}.channel.default.v1"] in said[f"{prefix}.channels.v1"].split(",")
    recipe = FILES["bundle/bundle.Dockerfile"].decode()
    assert all(f"LABEL {name}={value}" in recipe for name, value in said.items())


def test_the_bundle_owns_every_kind_and_brings_its_definition() -> None:
    owned = CSV["spec"]["customresourcedefinitions"]["owned"]
    brought = {
        body["metadata"]["name"]: body
        for path in FILES
        if path.startswith("bundle/manifests/")
        for body in [document(path)]
        if body["kind"] == "CustomResourceDefinition"
    }
    assert {each["name"] for each in owned} == brought.keys() == {f"{kind.plural}.stateward.dev" for kind in KINDS}
    for each in owned:
        spec = brought[each["name"]]["spec"]
        assert (each["kind"], each["version"]) == (spec["names"]["kind"], spec["versions"][0]["name"])
        assert each["description"]


def test_the_bundle_runs_the_operator_of_the_chart_with_its_rights() -> None:
    made = objects({})
    (deployment,) = [each for each in made if each["kind"] == "Deployment"]
    install = CSV["spec"]["install"]["spec"]
    assert install["deployments"] == [{"name": "stateward", "spec": deployment["spec"]}]
    roles = {(each["kind"], each["metadata"]["name"]): each["rules"] for each in made if "rules" in each}
    granted = [
        (field, each["serviceAccountName"], each["rules"])
        for field in ("permissions", "clusterPermissions")
        for each in install[field]
    ]
    expected = [
        ("clusterPermissions", "stateward", roles["ClusterRole", "stateward"]),
        ("clusterPermissions", "stateward", roles["ClusterRole", "stateward-reviews"]),
        ("clusterPermissions", "stateward-database-view", roles["ClusterRole", "stateward-database-view"]),
        ("clusterPermissions", "stateward-detection", roles["ClusterRole", "stateward-detection"]),
        ("clusterPermissions", "stateward-object-preview", roles["ClusterRole", "stateward-object-preview"]),
        ("permissions", "stateward", roles["Role", "stateward-leases"]),
    ]
    assert sorted(granted, key=str) == sorted(expected, key=str)


def test_the_bundle_can_be_installed_for_all_namespaces_and_shows_examples() -> None:
    modes = {each["type"]: each["supported"] for each in CSV["spec"]["installModes"]}
    assert modes == {"OwnNamespace": False, "SingleNamespace": False, "MultiNamespace": False, "AllNamespaces": True}
    examples = yaml.safe_load(CSV["metadata"]["annotations"]["alm-examples"])
    assert {each["kind"] for each in examples} == {kind.name for kind in KINDS}
    assert CSV["metadata"]["name"] == f"stateward.v{CSV['spec']['version']}"
    assert CSV["metadata"]["annotations"]["createdAt"] == "2023-11-14T22:13:20Z"


def test_the_bundle_shows_an_icon_links_and_maintainers() -> None:
    (icon,) = CSV["spec"]["icon"]
    assert icon["mediatype"] == "image/svg+xml"
    assert base64.b64decode(icon["base64data"]) == (ROOT / "docs/pictures/icon.svg").read_bytes()
    assert all(link["name"] and link["url"].startswith("https://") for link in CSV["spec"]["links"])
    assert all(each["name"] and "@" in each["email"] for each in CSV["spec"]["maintainers"])
    assert CSV["spec"]["provider"]["url"] in {link["url"] for link in CSV["spec"]["links"]}
    assert len(CSV["spec"]["description"].splitlines()) > 5


def test_every_earlier_version_can_be_upgraded_and_the_first_one_replaces_none() -> None:
    assert CSV["metadata"]["annotations"]["olm.skipRange"] == f"<{__version__}"
    assert "replaces" not in CSV["spec"]


@pytest.mark.parametrize(("out", "replaces"), [([], None), (["0.1.0", "0.2.0", "0.10.0"], "stateward.v0.2.0")])
def test_a_bundle_replaces_that_of_the_version_before(out: list[str], replaces: str | None, tmp_path: Path) -> None:
    (tmp_path / LIST).parent.mkdir(parents=True)
    (tmp_path / LIST).write_text("".join(f"{each} {'0' * 64}\n" for each in out))
    edition = Edition("0.10.0", "stateward:0.10.0", "2026-01-01T00:00:00Z", previous=before(tmp_path, "0.10.0"))
    spec = service_version(objects({}), edition)["spec"]
    assert spec.get("replaces") == replaces


def test_no_object_of_the_bundle_names_a_namespace_or_is_in_it_twice() -> None:
    made = [document(path) for path in FILES if path.startswith("bundle/manifests/")]
    assert [each["metadata"]["name"] for each in made if "namespace" in each["metadata"]] == []
    names = [(each["kind"], each["metadata"]["name"]) for each in made]
    assert len(names) == len(set(names))
    made_by_olm = {"Deployment", "ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding", "Namespace"}
    # OLM grants rights to accounts alone; those of all users to reach the database view are files.
    for_users = "stateward-database-view-users"
    assert [each for each in names if each[0] in made_by_olm and each[1] != for_users] == []
    assert {kind for kind, name in names if name == for_users} == {"Role", "RoleBinding"}


def test_the_krew_manifest_names_the_archive_and_what_is_in_it() -> None:
    spec = document("stateward.krew.yaml")["spec"]
    entries = unpacked(PLUGIN)
    assert spec["version"] == f"v{__version__}"
    assert len(spec["shortDescription"]) <= 50
    for platform in spec["platforms"]:
        assert platform["uri"].endswith(f"/{PLUGIN}")
        assert platform["sha256"] == hashlib.sha256(FILES[PLUGIN]).hexdigest()
        assert {each["from"] for each in platform["files"]} == entries.keys()
        assert entries[platform["bin"]].mode & 0o111
    assert WHEEL in entries, "a package index could put another program in its place"


@pytest.mark.parametrize(
    ("programs", "said", "code"),
    [
        (
            {"stateward": f'[ "$1" = --version ] && echo "stateward, version {__version__}" || echo own "$@"'},
            "own list -A",
            0,
        ),
        (
            {"stateward": 'echo "stateward, version 0.0.1"', "uvx": 'echo uvx "$@"'},
            f"uvx --quiet --from STORE/{WHEEL} kubectl-stateward list -A",
            0,
        ),
        ({"pipx": 'echo pipx "$@"'}, f"pipx run --quiet --spec STORE/{WHEEL} kubectl-stateward list -A", 0),
        ({}, "needs uv or pipx", 1),
    ],
)
def test_the_launcher_runs_the_command_line_of_its_version(
    programs: dict[str, str], said: str, code: int, tmp_path: Path
) -> None:
    store, shell = tmp_path / "store/stateward/v1", tmp_path / "bin"
    for folder in (store, shell):
        folder.mkdir(parents=True)
    for path, body in {
        store / "kubectl-stateward": krew.launcher(__version__, WHEEL),
        **{tmp_path / name: f"#!/bin/sh\n{body}\n" for name, body in programs.items()},
    }.items():
        path.write_text(body)
        path.chmod(0o755)
    for program in ("/bin/sh", "/usr/bin/readlink"):
        (shell / Path(program).name).symlink_to(program)
    (shell / "kubectl-stateward").symlink_to("../store/stateward/v1/kubectl-stateward")  # As krew does it.
    done = subprocess.run(
        [shell / "kubectl-stateward", "list", "-A"],
        env={"PATH": f"{tmp_path}:{shell}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert said.replace("STORE", str(shell / "../store/stateward/v1")) in done.stdout + done.stderr
