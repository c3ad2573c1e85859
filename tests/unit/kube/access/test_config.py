"""A connection is found where kubectl would find it, and what cannot be used is named by file and field."""

import base64
import os
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from stateward.kube.access.config import connect, from_kubeconfig, in_cluster
from stateward.kube.access.connection import Connection, TlsContexts
from stateward.kube.access.credentials import Credential, TokenFile
from stateward.kube.access.kubeconfig import read_kubeconfig
from stateward.kube.client.proxy import proxy_for
from stateward.kube.objects.errors import ConfigError
from stateward.kube.timing.virtual_time import VirtualClock
from tests.unit.agent.authority import Authority


def document(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, name: str = "c"
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": "https://example.test:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "team"}}],
    }


def write(folder: Path, content: object, name: str = "config") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return path


def load(folder: Path, **parts: Any) -> Connection:
    return from_kubeconfig(read_kubeconfig([write(folder, document(**parts))]))


async def test_the_current_context_gives_server_namespace_and_token(tmp_path: Path) -> None:
    connection = load(tmp_path, user={"token": "secret"})
    assert (connection.server, connection.namespace) == ("https://example.test:6443", "team")
    assert (await connection.credentials.current()).headers() == {"Authorization": "Bearer secret"}


async def test_a_user_name_and_password_are_sent_as_basic_credentials(tmp_path: Path) -> None:
    connection = load(tmp_path, user={"username": "me", "password": "it"})
    assert (await connection.credentials.current()).headers() == {"Authorization": "Basic bWU6aXQ="}


def test_secrets_do_not_show_in_representations() -> None:
    assert "hidden" not in repr(Credential(token="hidden", password="hidden", key=b"hidden"))


def test_files_of_kubeconfig_are_merged_and_the_first_word_counts(tmp_path: Path) -> None:
    one = write(tmp_path, document({"server": "https://one:1"}), "one")
    two = write(tmp_path, document({"server": "https://two:2"}), "two")
    three = write(tmp_path, document({"server": "https://three:3"}, name="other"), "three")
    listed = os.pathsep.join(map(str, (tmp_path / "missing", one, two, three)))
    assert connect(environment={"KUBECONFIG": listed}).server == "https://one:1"
    assert connect(environment={"KUBECONFIG": listed}, context="other").server == "https://three:3"


def test_relative_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"PEM")
    assert load(tmp_path, cluster={"certificate-authority": "ca.pem"}).tls.ca == b"PEM"


def test_inline_data_beats_a_path(tmp_path: Path) -> None:
    data = base64.b64encode(b"inline").decode()
    parts = {"certificate-authority": "missing.pem", "certificate-authority-data": data}
    assert load(tmp_path, cluster=parts).tls.ca == b"inline"


def test_inline_data_may_have_line_breaks(tmp_path: Path) -> None:
    connection = load(tmp_path, cluster={"certificate-authority-data": base64.encodebytes(b"x" * 100).decode()})
    assert connection.tls.ca == b"x" * 100


def test_tls_server_name_proxy_and_insecure_are_taken_over(tmp_path: Path) -> None:
    parts = {"tls-server-name": "api", "proxy-url": "http://proxy:3128", "insecure-skip-tls-verify": True}
    connection = load(tmp_path, cluster=parts)
    assert connection.tls.server_name == "api"
    assert connection.tls.insecure
    assert proxy_for(connection) == "http://proxy:3128"


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "server": ({"server": "nonsense"}, {}, r"clusters\[c\]\.cluster\.server: 'nonsense' is not an http\(s\) URL"),
    "type": ({"server": 3}, {}, r"clusters\[c\]\.cluster: Expected `str`, got `int` - at `\$\.server`"),
    "bracket": ({"server": "https://[::1"}, {}, r"cluster\.server: 'https://\[::1' is not an http\(s\) URL"),
    "port": ({"server": "https://host:x"}, {}, r"cluster\.server: 'https://host:x' is not an http\(s\) URL"),
    "proxy's port": ({"proxy-url": "http://host:99999"}, {}, r"proxy-url: 'http://host:99999' is not supported"),
    "not ASCII": ({"certificate-authority-data": "é"}, {}, r"cluster\.certificate-authority-data: is not base64"),
    "base64": ({"certificate-authority-data": "%"}, {}, r"cluster\.certificate-authority-data: is not base64"),
    "missing file": ({"certificate-authority": "no.pem"}, {}, r"certificate-authority: cannot read .*no\.pem: No such"),
    "both": (
        {"certificate-authority-data": "YQ==", "insecure-skip-tls-verify": True},
        {},
        r"insecure-skip-tls-verify: cannot be combined",
    ),
    "proxy": ({"proxy-url": "socks5://x"}, {}, r"proxy-url: 'socks5://x' is not supported"),
    "half a pair": ({}, {"client-certificate-data": "YQ=="}, r"users\[c\]\.user\.client-key: is needed"),
    "auth-provider": ({}, {"auth-provider": {"name": "gcp"}}, r"auth-provider: is not supported"),
    "as": ({}, {"token": "a", "as": "viewer"}, r"user\.as: is not supported; use a context whose user"),
    "as-groups": ({}, {"token": "a", "as-groups": ["viewers"]}, r"user\.as-groups: is not supported"),
    "exec version": ({}, {"exec": {"command": "x", "apiVersion": "v0"}}, r"exec\.apiVersion: 'v0' is not known"),
    "exec command": ({}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, r"exec\.command: is not set"),
}


@pytest.mark.parametrize(("cluster", "user", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_used_is_named(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load(tmp_path, cluster=cluster, user=user)
    assert str(tmp_path / "config") in str(caught.value)


def test_a_name_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    path = write(tmp_path, document())
    with pytest.raises(ConfigError, match=r"no context 'x' in .*; there is: c"):
        connect(kubeconfig=str(path), context="x")


@pytest.mark.parametrize(("content", "message"), [("a: [", "is not YAML"), ("[]", "is not a kubeconfig")])
def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        connect(kubeconfig=str(write(tmp_path, content)))


@pytest.mark.parametrize("content", [b"a: \xff", b"a: 2026-13-45"])
def test_a_file_that_is_no_text_or_has_a_date_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config").write_bytes(content)
    with pytest.raises(ConfigError, match="config: is not YAML"):
        connect(kubeconfig=str(tmp_path / "config"))


def test_without_any_configuration_it_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"looked for {tmp_path / 'none'}"):
        connect(environment={"KUBECONFIG": str(tmp_path / "none")})


def test_no_current_context_is_reported(tmp_path: Path) -> None:
    content = document()
    del content["current-context"]
    with pytest.raises(ConfigError, match="current-context: is not set"):
        connect(kubeconfig=str(write(tmp_path, content)))


def service_account(folder: Path) -> Path:
    for name, content in (("token", "one"), ("ca.crt", "PEM"), ("namespace", "system\n")):
        (folder / name).write_text(content, encoding="utf-8")
    return folder


async def test_in_a_pod_its_service_account_is_used(tmp_path: Path) -> None:
    variables = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    connection = in_cluster(variables, service_account(tmp_path))
    assert connection.server == "https://[fd00::1]:443"
    assert connection.namespace == "system"
    assert (await connection.credentials.current()).token == "one"


def test_a_pod_without_a_service_account_gets_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="automountServiceAccountToken"):
        in_cluster({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)


async def test_a_rotated_authority_is_read_again_and_a_missing_or_empty_one_bridged(tmp_path: Path) -> None:
    one, two = (Authority(tmp_path / name).path.read_text(encoding="utf-8") for name in ("one", "two"))
    clock, file = VirtualClock(), service_account(tmp_path) / "ca.crt"
    file.write_text(one, encoding="utf-8")
    contexts = TlsContexts(in_cluster({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path).tls, clock)

    def trusted() -> list[str]:
        found = contexts.for_credential(Credential()).get_ca_certs(binary_form=True)
        return [ssl.DER_cert_to_PEM_cert(each) for each in found]

    first = contexts.for_credential(Credential())
    assert trusted() == [one]
    file.write_text(one + two, encoding="utf-8")
    assert contexts.for_credential(Credential()) is first
    await clock.sleep(61)
    assert sorted(trusted()) == sorted([one, two])
    file.write_text("", encoding="utf-8")
    await clock.sleep(61)
    assert sorted(trusted()) == sorted([one, two])
    file.unlink()
    await clock.sleep(61)
    assert sorted(trusted()) == sorted([one, two])


async def test_a_rotated_token_is_read_again_and_a_missing_one_bridged(tmp_path: Path) -> None:
    clock = VirtualClock()
    source = TokenFile(service_account(tmp_path) / "token", clock=clock)
    assert (await source.current()).token == "one"
    (tmp_path / "token").write_text("two", encoding="utf-8")
    assert (await source.current()).token == "one"
    await clock.sleep(61)
    assert (await source.current()).token == "two"
    (tmp_path / "token").unlink()
    await clock.sleep(61)
    assert (await source.current()).token == "two"


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
async def test_a_token_file_that_is_being_written_is_bridged_too(tmp_path: Path, content: bytes) -> None:
    """Without a token the server takes this process for a stranger and refuses what it asks, for a minute."""
    clock = VirtualClock()
    source = TokenFile(service_account(tmp_path) / "token", clock=clock)
    await source.current()
    (tmp_path / "token").write_bytes(content)
    await clock.sleep(61)
    assert (await source.current()).token == "one"
    with pytest.raises(ConfigError, match="cannot be read"):
        await TokenFile(tmp_path / "token", clock=clock).current()


async def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    source = TokenFile(service_account(tmp_path) / "token", clock=VirtualClock())
    await source.current()
    (tmp_path / "token").write_text("two", encoding="utf-8")
    source.invalidate(await source.current())
    assert (await source.current()).token == "two"


async def test_a_token_file_wins_over_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of the file")
    source = load(tmp_path, user={"tokenFile": "token", "token": "of the field"}).credentials
    assert (await source.current()).token == "of the file"


async def test_a_token_file_of_a_kubeconfig_must_be_there(tmp_path: Path) -> None:
    connection = load(tmp_path, user={"tokenFile": "none"})
    with pytest.raises(ConfigError, match=r"token file .*none cannot be read"):
        await connection.credentials.current()


async def test_certificates_that_are_none_are_reported_as(tmp_path: Path) -> None:
    connection = load(tmp_path, cluster={"certificate-authority-data": base64.b64encode(b"no PEM").decode()})
    with pytest.raises(ConfigError, match="certificate authority is not a PEM certificate"):
        TlsContexts(connection.tls, VirtualClock()).for_credential(Credential())
    with pytest.raises(ConfigError, match="client certificate and key cannot be used together"):
        TlsContexts(load(tmp_path).tls, VirtualClock()).for_credential(Credential(certificate=b"a", key=b"b"))


@pytest.mark.parametrize(
    ("host", "no_proxy", "expected"),
    [
        ("api.example.test", "", True),
        ("api.example.test", "example.test", False),
        ("api.example.test", ".example.test", False),
        ("apiexample.test", "example.test", True),
        ("10.1.2.3", "10.0.0.0/8", False),
        ("11.1.2.3", "10.0.0.0/8", True),
        ("api.example.test", "10.0.0.0/8", True),
        ("anything", "*", False),
        ("localhost", "", False),
        ("127.0.0.1", "", False),
        ("[::1]", "", False),
        ("[fd00:10:96::1]", "", True),
        ("[fd00:10:96::1]", "fd00:10:96::1", False),
        ("[fd00:10:96::1]", "fd00:10:96::/112", False),
        ("10.96.0.1", "10.96.0.1", False),
        ("10.96.0.10", "10.96.0.1", True),
    ],
)
def test_the_environments_proxy_is_used_but_for_what_no_proxy_excludes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, no_proxy: str, *, expected: bool
) -> None:
    monkeypatch.setenv("https_proxy", "proxy:3128")
    monkeypatch.setenv("no_proxy", no_proxy)
    found = proxy_for(load(tmp_path, cluster={"server": f"https://{host}:6443"}))
    assert found == ("http://proxy:3128" if expected else None)


def test_a_proxy_of_the_environment_that_speaks_no_http_is_refused_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disaster this prevents: HTTP is spoken to it, and the message tells of a server that cannot be reached."""
    monkeypatch.setenv("https_proxy", "socks5://proxy:1080")
    with pytest.raises(ConfigError, match=r"HTTPS_PROXY: 'socks5://proxy:1080' is not supported; expected an http"):
        proxy_for(load(tmp_path, cluster={"server": "https://api.example.com:6443"}))
