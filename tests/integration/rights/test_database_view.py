"""The database view on a real API server: it shows to a user exactly what this user may see, and to no other anything.

The endpoint works here with the operator's account and the shipped roles, and users have real tokens.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import yaml
from msgspec.structs import replace

from sandbox import Sandbox
from sandbox.kubernetes.kubeapi import KubeApi
from stateward.engines.search.declared.preview import ObjectPreview
from stateward.kube.access.config import connect
from stateward.kube.client.client import ApplyOptions, DeleteOptions, PatchKind, Preconditions, RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import Unauthorized
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import NAMESPACES, PODS, SERVICE_ACCOUNTS, SERVICES
from stateward.kube.timing.clock import SystemClock
from stateward.operator.database_view.address import ACCOUNT, AUDIENCE, PREVIEW_ACCOUNT, TOKEN_HEADER
from stateward.operator.database_view.answers import decode
from stateward.operator.database_view.server import PREVIEWED, DatabaseViewServer
from stateward.operator.objects.caches import CLUSTERS
from stateward.planning.model.database import Copy, CopyState, Database, Health, Unit, Unknown
from tests.integration.api_server import define
from tests.integration.rights.rights import SYSTEM, Right, Uses, as_account, installed, manifest
from tests.integration.shipped import bind, subject

pytestmark = pytest.mark.integration

ENDPOINTS: Resource[Any] = Resource("", "v1", "endpoints", "Endpoints", dict[str, Any])
SLICES: Resource[Any] = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", dict[str, Any])
ROLES: Resource[Any] = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role", dict[str, Any])
BINDINGS: Resource[Any] = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", dict[str, Any])
CONDITIONS = [{"type": "Ready", "status": "True"}]
FILES = ("manifests/namespace", "manifests/service-account", "manifests/operator-role", "manifests/user-roles")
USERS = ("viewer", "stranger")
VIEW = ("manifests/database-view-role", "manifests/database-view")
REPORT = Database(
    identity="fake",
    health=Health.GREEN,
    nodes={},
    units=(Unit("docs[0]", 1, (Copy(CopyState.STARTED, primary=True, member="logs-hot-0"),)),),
    connection="logs:credential@10.0.0.1:4500",
)

OFFERED: dict[str, Any] = {
    "apiVersion": "stateward.dev/v1alpha1",
    "kind": "SearchObject",
    "metadata": {"name": "one"},
    "spec": {
        "cluster": {"kind": "OpenSearchCluster", "name": "logs"},
        "object": "indexTemplate/logs",
        "body": {"index_patterns": ["logs-*"]},
    },
}


@dataclass
class View:
    """The endpoint at work, two users, and what was asked about databases."""

    port: int
    namespace: str
    tokens: dict[str, str]
    asked: list[Key]
    uses: Uses

    async def preview(self, user: str, plural: str = "searchobjects") -> int:
        """Return the status of the answer about a new resource."""
        url = f"https://127.0.0.1:{self.port}/v1/namespaces/{self.namespace}/{plural}/preview"
        headers = {TOKEN_HEADER: self.tokens[user]}
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, headers=headers, json=OFFERED, ssl=False) as it,
        ):
            return it.status

    async def get(self, user: str, *, name: str = "logs", plural: str = "osclusters") -> tuple[int, bytes]:
        """Return status and body of the answer to a user; one that is not known has a token of that name."""
        url = f"https://127.0.0.1:{self.port}/v1/namespaces/{self.namespace}/{plural}/{name}/database"
        headers = {TOKEN_HEADER: self.tokens.get(user, user)} if user else {}
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=False) as answer:
            return answer.status, await answer.read()


async def token(api: HttpApi, namespace: str, account: str, audience: str = "") -> str:
    """Return a token of a service account, for the API server or for another audience."""
    spec = {"expirationSeconds": 600} | ({"audiences": [audience]} if audience else {})
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = SERVICE_ACCOUNTS.path_of(Key(namespace, account), "token")
    return json.loads(await api.request(RawRequest(path, "POST", body=body)))["status"]["token"]


@pytest.fixture
async def view(control_plane: Path) -> AsyncGenerator[View]:
    installed(KubeApi(control_plane), *FILES, *VIEW)
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(HttpApi(connect(kubeconfig=str(control_plane))))
        namespace, uses, asked = f"view-{uuid4().hex[:8]}", Uses(), list[Key]()
        await admin.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for account in USERS:
            body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}
            await admin.create(SERVICE_ACCOUNTS, body, namespace=namespace)
        for role in ("stateward-view", "view"):
            await bind(admin, namespace, role, subject(namespace, "viewer"))
        tokens = {user: await token(admin, namespace, user) for user in USERS}
        tokens["elsewhere"] = await token(admin, namespace, "viewer", "another-service")
        tokens |= {f"{user}'s for the view": await token(admin, namespace, user, AUDIENCE) for user in USERS}
        tokens |= {account: await token(admin, SYSTEM, account, AUDIENCE) for account in (ACCOUNT, PREVIEW_ACCOUNT)}

        async def ask(plural: str, key: Key) -> Database | Unknown | None:
            asked.append(key)
            return REPORT if (plural, key.name) == ("osclusters", "logs") else None

        async def preview(plural: str, offered: Any) -> ObjectPreview:
            asked.append(Key(offered.metadata.namespace, plural))
            return ObjectPreview("indexTemplate/logs", "create")

        api = await stack.enter_async_context(as_account(control_plane, "stateward", uses))
        server = DatabaseViewServer(api, ask, SYSTEM, SystemClock(), preview)
        port = await stack.enter_async_context(server.serving("127.0.0.1", 0))
        yield View(port, namespace, tokens, asked, uses)


async def test_a_user_that_may_get_the_cluster_sees_its_shards_and_no_credentials(view: View) -> None:
    status, body = await view.get("viewer")
    assert (status, decode(body)) == (200, replace(REPORT, connection=""))
    assert b"credential" not in body
    assert view.uses.refused == []
    reviews = {Right("authentication.k8s.io", "tokenreviews", "create")}
    reviews |= {Right("authorization.k8s.io", "subjectaccessreviews", "create")}
    assert view.uses.used == reviews


async def test_a_viewer_plans_a_secured_cluster_through_the_api_server(
    view: View, integration_sandbox: Sandbox, control_plane: Path, tmp_path: Path
) -> None:
    with integration_sandbox.expose(view.port) as address:
        await plans(view, address, control_plane, tmp_path)


async def plans(view: View, address: str, control_plane: Path, tmp_path: Path) -> None:
    """Plan the cluster as several users."""
    async with HttpApi(connect(kubeconfig=str(control_plane))) as admin:
        await define(admin, CLUSTERS)
        pools = [{"name": "all", "replicas": 1, "storage": {"size": "1Gi"}}]
        spec = {"version": "2.19.5", "pools": pools, "security": {"enabled": True}}
        head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "metadata": {"name": "logs"}}
        await admin.apply(CLUSTERS, Key(view.namespace, "logs"), head | {"spec": spec}, ApplyOptions("test"))
        (tmp_path / "object.yaml").write_text(yaml.safe_dump(OFFERED))
        plan = Plans(view, control_plane, tmp_path)
        async with reachable(admin, address):
            # A cluster administrator with a client certificate, with the default installation and without a flag.
            assert await plan.unreached("administrator") == ""
            assert await plan.declared("administrator") == ("create", "")
            # A viewer may request no token, and is told what helps; then the viewer's own token is judged.
            why = await plan.unreached("viewer")
            assert f"you may not request a token of ServiceAccount {ACCOUNT} in {SYSTEM}" in why
            assert "add --send-token" in why
            assert await plan.unreached("viewer", "--send-token") == ""
            does, message = await plan.declared("viewer", "--send-token")
            assert (does, "may neither create nor preview" in message) == ("wait", True)
            code, _, err = await plan.run("stranger", "logs", "--send-token")
            assert (code, b"cannot get resource" in err) == (1, True)
            # With the right to request a token of the account, the viewer needs no flag.
            await may_request_tokens(admin, view.namespace)
            assert await plan.until_reached("viewer") == ""
    logs, previewed = Key(view.namespace, "logs"), Key(view.namespace, "searchobjects")
    assert view.asked == [logs, previewed, logs, logs]


@dataclass
class Plans:
    """The command line of users."""

    view: View
    kubeconfig: Path
    folder: Path

    async def run(self, user: str, *words: str | Path) -> tuple[int | None, bytes, bytes]:
        """Return exit code and output of a plan by a user; one that has no token has a client certificate."""
        (self.folder / user).write_text(as_user(self.kubeconfig, self.view.tokens.get(user)))
        program = Path(sys.executable).with_name("stateward")
        where = ("-n", self.view.namespace, "--kubeconfig", self.folder / user, "-o", "json")
        process = await asyncio.create_subprocess_exec(program, "plan", *words, *where, stdout=PIPE, stderr=PIPE)
        out, err = await process.communicate()
        return process.returncode, out, err

    async def declared(self, user: str, *words: str) -> tuple[str, str]:
        """Return what a plan says that a declared resource would do, and the message about it."""
        _, out, err = await self.run(user, "-f", self.folder / "object.yaml", *words)
        assert out, err
        (found,) = json.loads(out)
        return found["does"], found["message"]

    async def unreached(self, user: str, *words: str) -> str:
        """Return why a plan by a user could not reach the database; empty if it did."""
        _, out, err = await self.run(user, "logs", *words)
        assert out, err
        return "; ".join(note for note in json.loads(out)["notes"] if "the database could not be reached" in note)

    async def until_reached(self, user: str) -> str:
        """Return the same once the API server knows of a new right, which it learns a moment after it was written."""
        async with asyncio.timeout(60):
            while "you may not request a token" in (why := await self.unreached(user)):
                pass
        return why


async def may_request_tokens(admin: HttpApi, namespace: str) -> None:
    """Let the viewer of a namespace request tokens for reports, as docs/security.md says."""
    rule = {"apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": [ACCOUNT], "verbs": ["create"]}
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": namespace}}
    await admin.create(ROLES, {**head, "kind": "Role", "rules": [rule]}, namespace=SYSTEM)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": namespace}
    bound = {"roleRef": role, "subjects": [subject(namespace, "viewer")]}
    await admin.create(BINDINGS, {**head, "kind": "RoleBinding", **bound}, namespace=SYSTEM)


@asynccontextmanager
async def reachable(admin: HttpApi, address: str) -> AsyncGenerator[None]:
    """Let the shipped Service lead to this process for the block, as if it were the operator's pod.

    The API server's proxy calls only addresses of pods, and none of loopback.
    """
    host, _, exposed = address.rpartition(":")
    port = int(exposed)
    service = next(body for body in manifest(*VIEW) if body["kind"] == "Service")
    service["spec"]["ports"][0]["targetPort"] = port
    where = Key(SYSTEM, service["metadata"]["name"])
    await admin.apply(SERVICES, where, service, ApplyOptions("test", force=True))
    pod, template = Key(SYSTEM, f"operator-{port}"), manifest("manifests/deployment")[0]["spec"]["template"]
    meta = {"name": pod.name, "labels": service["spec"]["selector"]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}
    created = await admin.create(PODS, body, namespace=SYSTEM)
    ready = {"phase": "Running", "podIP": host, "podIPs": [{"ip": host}], "conditions": CONDITIONS}
    await admin.patch(PODS, pod, {"status": ready}, kind=PatchKind.MERGE, subresource="status")
    target = {"kind": "Pod", "namespace": SYSTEM, "name": pod.name}
    ports = [{"name": "view", "port": port, "protocol": "TCP"}]
    subset = {"addresses": [{"ip": host, "targetRef": target}], "ports": ports}
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": where.name}, "subsets": [subset]}
    await admin.apply(ENDPOINTS, where, endpoints, ApplyOptions("test", force=True))
    # By this the API server of Kubernetes 1.37 finds the pod, and by the other one those before.
    piece = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": where.name, "labels": {"kubernetes.io/service-name": where.name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}, "targetRef": target}],
        "ports": ports,
    }
    await admin.apply(SLICES, where, piece, ApplyOptions("test", force=True))
    try:
        yield
    finally:
        await admin.delete(PODS, pod, DeleteOptions(Preconditions(created.metadata.uid), grace_seconds=0))


def as_user(kubeconfig: Path, token: str | None) -> str:
    """Return a kubeconfig with a token, or with the client certificate that it has."""
    content = yaml.safe_load(kubeconfig.read_text())
    if token is not None:
        content["users"][0]["user"] = {"token": token}
    return yaml.safe_dump(content)


async def test_every_other_user_is_refused_before_anything_is_looked_up(view: View) -> None:
    assert (await view.get(""))[0] == 401
    assert (await view.get("not-a-token"))[0] == 401
    assert (await view.get("elsewhere"))[0] == 401  # a token for another service, sent on by it
    assert (await view.get("stranger"))[0] == 403
    assert (await view.get("stranger", name="nothing"))[0] == 403
    assert (await view.get("viewer", plural="secrets"))[0] == 404
    assert view.asked == []
    assert (await view.get("viewer", name="nothing"))[0] == 404
    assert view.asked == [Key(view.namespace, "nothing")]


async def test_a_token_for_the_view_is_refused_by_the_api_server_itself(
    view: View, control_plane: Path, tmp_path: Path
) -> None:
    for account in (ACCOUNT, PREVIEW_ACCOUNT):
        (tmp_path / account).write_text(as_user(control_plane, view.tokens[account]))
        async with HttpApi(connect(kubeconfig=str(tmp_path / account))) as api:
            with pytest.raises(Unauthorized):
                await api.get(CLUSTERS, Key(view.namespace, "logs"))


async def test_a_token_for_the_view_shows_what_its_own_account_may_see(view: View) -> None:
    assert (await view.get(ACCOUNT))[0] == 200
    assert (await view.get("viewer's for the view"))[0] == 200
    assert (await view.get("stranger's for the view"))[0] == 403
    assert (await view.get(PREVIEW_ACCOUNT))[0] == 403
    assert await view.preview(PREVIEW_ACCOUNT) == 200
    for plural in PREVIEWED:
        assert await view.preview(PREVIEW_ACCOUNT, plural) != 403, (
            "the right is there; the body may be one of no such kind"
        )
    for user in (ACCOUNT, "viewer", "viewer's for the view", "stranger's for the view"):
        assert await view.preview(user) == 403
    assert view.uses.refused == []
