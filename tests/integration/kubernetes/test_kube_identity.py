"""Every way to prove who one is, against a real API server."""

import base64
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from stateward.kube.access.config import connect, in_cluster
from stateward.kube.access.connection import Connection
from stateward.kube.client.client import ApplyOptions, RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import Unauthorized
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import SERVICE_ACCOUNTS

pytestmark = pytest.mark.integration
ACCOUNT = Key("default", "stateward-identity")
NAME = "system:serviceaccount:default:stateward-identity"


@pytest.fixture
async def token(control_plane: Path) -> AsyncGenerator[str]:
    """Make a service account and a token of it."""
    async with HttpApi(connect(kubeconfig=str(control_plane))) as api:
        meta = {"name": ACCOUNT.name, "namespace": ACCOUNT.namespace}
        body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
        await api.apply(SERVICE_ACCOUNTS, ACCOUNT, body, ApplyOptions("identity-test"))
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
        path = SERVICE_ACCOUNTS.path_of(ACCOUNT, "token")
        answer = json.loads(await api.request(RawRequest(path, "POST", body=asked)))
        yield answer["status"]["token"]


async def who_am_i(connection: Connection) -> str:
    """Ask the server who it takes us for."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with HttpApi(connection) as api:
        answer = json.loads(await api.request(RawRequest(path, "POST", body=review)))
    return answer["status"]["userInfo"]["username"]


def administrator(control_plane: Path) -> dict[str, str]:
    return yaml.safe_load(control_plane.read_text(encoding="utf-8"))["users"][0]["user"]


def kubeconfig(control_plane: Path, folder: Path, user: dict[str, Any]) -> Connection:
    """Write a kubeconfig for the same server and another user."""
    content = yaml.safe_load(control_plane.read_text(encoding="utf-8"))
    content["users"][0]["user"] = user
    path = folder / "config"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return connect(kubeconfig=str(path))


async def test_a_client_certificate(control_plane: Path) -> None:
    assert await who_am_i(connect(kubeconfig=str(control_plane)))


async def test_a_token(control_plane: Path, tmp_path: Path, token: str) -> None:
    assert await who_am_i(kubeconfig(control_plane, tmp_path, {"token": token})) == NAME


async def test_a_token_file(control_plane: Path, tmp_path: Path, token: str) -> None:
    (tmp_path / "token").write_text(token, encoding="utf-8")
    assert await who_am_i(kubeconfig(control_plane, tmp_path, {"tokenFile": "token"})) == NAME


async def test_certificates_in_files(control_plane: Path, tmp_path: Path) -> None:
    user = administrator(control_plane)
    for name in ("client-certificate", "client-key"):
        (tmp_path / name).write_bytes(base64.b64decode(user[f"{name}-data"]))
    files = {"client-certificate": "client-certificate", "client-key": "client-key"}
    assert await who_am_i(kubeconfig(control_plane, tmp_path, files))


async def test_an_exec_plugin_that_prints_a_token(control_plane: Path, tmp_path: Path, token: str) -> None:
    version = "client.authentication.k8s.io/v1"
    credential = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": token}})
    plugin = {"apiVersion": version, "command": sys.executable, "args": ["-c", f"print({credential!r})"]}
    assert await who_am_i(kubeconfig(control_plane, tmp_path, {"exec": plugin})) == NAME


async def test_an_exec_plugin_that_prints_a_certificate(control_plane: Path, tmp_path: Path) -> None:
    version = "client.authentication.k8s.io/v1"
    user = administrator(control_plane)
    names = {"clientCertificateData": "client-certificate-data", "clientKeyData": "client-key-data"}
    pair = {name: base64.b64decode(user[source]).decode() for name, source in names.items()}
    credential = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": pair})
    plugin = {"apiVersion": version, "command": sys.executable, "args": ["-c", f"print({credential!r})"]}
    assert await who_am_i(kubeconfig(control_plane, tmp_path, {"exec": plugin}))


async def test_the_service_account_of_a_pod(control_plane: Path, tmp_path: Path, token: str) -> None:
    outside = connect(kubeconfig=str(control_plane))
    address = urlsplit(outside.server)
    (tmp_path / "token").write_text("revoked", encoding="utf-8")
    (tmp_path / "ca.crt").write_bytes(outside.tls.ca)
    (tmp_path / "namespace").write_text("default", encoding="utf-8")
    variables = {"KUBERNETES_SERVICE_HOST": str(address.hostname), "KUBERNETES_SERVICE_PORT": str(address.port)}
    connection = in_cluster(variables, tmp_path)
    with pytest.raises(Unauthorized):
        await who_am_i(connection)
    # The kubelet rotates the file; the server's next 401 is enough to make us look.
    (tmp_path / "token").write_text(token, encoding="utf-8")
    assert await who_am_i(connection) == NAME
