"""Packages are pushed and pulled with authorization; a changed package is refused."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stateward.cli.main import cli
from stateward.packages.distribution.oci import artifact
from stateward.packages.format.reading import read_package
from tests.unit.cli.packages.registry import PASSWORD, USER, TestRegistry, registry
from tests.unit.packages.samples import files, shop


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "shop", files())


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No registry login exists, and no request uses a proxy."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


def written(folder: Path, found: dict[str, bytes]) -> Path:
    for path, content in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def log_in(folder: Path, host: str) -> None:
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    (folder / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}, "credsStore": "x"}))


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, ["package", *map(str, words)])


def good(*words: object) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output + result.stderr
    return result.output


def bad(*words: object) -> str:
    result = run(*words)
    assert result.exit_code == 1, result.output
    return result.stderr


def stored(found: TestRegistry, change: dict[str, Any] | None = None) -> str:
    """Store the shop in a registry without any command; returns its digest."""
    made = artifact(shop(), files())
    found.blobs |= made.blobs
    manifest = json.dumps(json.loads(made.manifest) | change).encode() if change else made.manifest
    for name in ("1.2.0", made.digest):
        found.manifests[f"team/shop/{name}"] = ("application/vnd.oci.image.manifest.v1+json", manifest)
    return made.digest


def test_a_package_is_pushed_and_read_again_by_tag_and_by_digest(folder: Path) -> None:
    with registry() as found:
        said = good("push", folder, found.reference())
        name = said.split("as ")[1].strip()
        assert name.startswith(found.reference(tag="1.2.0") + "@sha256:")
        for reference in (name, found.reference(tag="1.2.0"), name.replace(":1.2.0@", "@")):
            assert read_package(files()).digest in good("verify", reference)
        before = len(found.asked)
        good("push", folder, found.reference())
        assert not [asked for asked in found.asked[before:] if asked[0] == "POST"]


def test_a_tag_keeps_its_content_unless_forced(folder: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other", files(app=("image: shop:", "image: store:")))
    with registry() as found:
        good("push", folder, found.reference())
        assert "a changed package has another version" in bad("push", other, found.reference())
        good("push", "--replace", other, found.reference())
        assert "store:" in good("render", found.reference(tag="1.2.0"))


@pytest.mark.parametrize("auth", ["basic", "bearer"])
def test_only_a_client_that_is_logged_in_is_accepted(auth: str, folder: Path, tmp_path: Path) -> None:
    with registry(auth) as found:
        assert "without a login" in bad("push", folder, found.reference())
        log_in(tmp_path, found.host)
        good("push", folder, found.reference())
        good("verify", found.reference(tag="1.2.0"))
        scopes = {scope for method, scope, _ in found.asked if method == "TOKEN"}
        assert scopes == (
            {"repository:team/shop:pull", "repository:team/shop:pull,push"} if auth == "bearer" else set()
        )


def test_content_that_was_changed_on_the_way_is_refused() -> None:
    with registry() as found:
        digest = stored(found)
        found.tampered = set(found.blobs)
        assert "does not match its digest" in bad("verify", found.reference(tag="1.2.0"))
        found.tampered = {digest}
        assert "the manifest has the digest" in bad("verify", f"{found.reference()}@{digest}")


def test_what_is_no_package_or_not_there_is_reported() -> None:
    with registry() as found:
        stored(found, {"artifactType": "application/vnd.other"})
        assert "is not a package" in bad("verify", found.reference(tag="1.2.0"))
        assert "there is nothing of that name" in bad("verify", found.reference(tag="9.9.9"))
        assert "add a version" in bad("verify", found.reference())
        assert "must be oci://HOST/REPOSITORY:TAG" in bad("verify", "oci://Somewhere")


def test_a_manifest_that_is_smaller_than_its_content_is_not_read_to_the_end() -> None:
    with registry() as found:
        body = json.loads(artifact(shop(), files()).manifest)
        layer = body["layers"][0] | {"size": 10}
        stored(found, {"layers": [layer]})
        assert "sends more than the 10 bytes" in bad("verify", found.reference(tag="1.2.0"))


def test_a_password_is_not_sent_where_a_registry_redirects_to(tmp_path: Path) -> None:
    with registry("basic") as found, registry() as other:
        stored(found)
        other.blobs |= found.blobs
        found.redirect = f"http://{other.host}"
        log_in(tmp_path, found.host)
        good("verify", found.reference(tag="1.2.0"))
        assert [asked[2] for asked in other.asked] == [""]


def test_a_password_is_not_sent_to_a_token_server_elsewhere_without_tls(tmp_path: Path) -> None:
    with registry("bearer") as found:
        found.tokens = "http://tokens.invalid"
        log_in(tmp_path, found.host)
        said = bad("verify", found.reference(tag="1.2.0"))
        assert "tokens.invalid asks for a password, and none is sent without TLS" in said


def test_tls_is_not_disabled_without_an_option() -> None:
    with registry() as found:
        stored(found)
        said = bad("verify", found.reference(tag="1.2.0").replace("oci+http", "oci"))
        assert "cannot be reached" in said
        assert found.asked == []


def test_a_layout_holds_versions_that_are_read_by_their_tags(folder: Path, tmp_path: Path) -> None:
    newer = written(tmp_path / "newer", files(operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"')))
    target = tmp_path / "layout"
    assert "shop 1.2.0, sha256:" in good("build", folder, "--oci", target)
    assert "shop 1.2.0" in good("verify", target)
    good("build", newer, "--oci", target)
    assert "say which package is meant" in bad("verify", target)
    assert "shop 1.3.0" in good("verify", f"{target}:1.3.0")
    assert "is not an OCI layout" in bad("build", folder, "--oci", folder)
    for blob in (target / "blobs/sha256").iterdir():
        blob.write_bytes(blob.read_bytes() + b" ")
    assert "has the digest" in bad("verify", f"{target}:1.3.0")


def test_a_folder_takes_nothing_of_this_machine_with_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("password: word")
    (folder / "templates/inside.yaml").symlink_to(folder / "templates/app.yaml")
    good("verify", folder)
    (folder / "templates/outside.yaml").symlink_to(tmp_path / "secret.yaml")
    assert "templates/outside.yaml: leads out of the package" in bad("verify", folder)
