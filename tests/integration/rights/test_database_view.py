"""The database view on a real API server: it shows to a user exactly what this user may get, and to no other anything.

The endpoint works here with the operator's account and the shipped roles, and users have real tokens.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest
from msgspec.structs import replace

from sandbox.kubernetes.kubeapi import KubeApi
from stateward.kube.access.config import connect
from stateward.kube.client.client import RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import NAMESPACES, SERVICE_ACCOUNTS
from stateward.kube.timing.clock import SystemClock
from stateward.operator.database_view.answers import decode
from stateward.operator.database_view.server import TOKEN_HEADER, DatabaseViewServer
from stateward.planning.model.database import Copy, CopyState, Database, Health, Unit, Unknown
from tests.integration.rights.rights import Right, Uses, as_account, installed
from tests.integration.shipped import bind, subject

pytestmark = pytest.mark.integration

FILES = ("manifests/namespace", "manifests/service-account", "manifests/operator-role", "manifests/user-roles")
REPORT = Database(
    identity="fake",
    health=Health.GREEN,
    nodes={},
    units=(Unit("docs[0]", 1, (Copy(CopyState.STARTED, primary=True, member="logs-hot-0"),)),),
    connection="logs:credential@10.0.0.1:4500",
)


@dataclass
class View:
    """The endpoint at work, two users, and what was asked about databases."""

    port: int
    namespace: str
    tokens: dict[str, str]
    asked: list[Key]
    uses: Uses

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
    installed(KubeApi(control_plane), *FILES, "database-view/database-view")
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(HttpApi(connect(kubeconfig=str(control_plane))))
        namespace, uses, asked = f"view-{uuid4().hex[:8]}", Uses(), list[Key]()
        await admin.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for account in ("viewer", "stranger"):
            body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}
            await admin.create(SERVICE_ACCOUNTS, body, namespace=namespace)
        await bind(admin, namespace, "stateward-view", subject(namespace, "viewer"))
        tokens = {user: await token(admin, namespace, user) for user in ("viewer", "stranger")}
        tokens["elsewhere"] = await token(admin, namespace, "viewer", "another-service")

        async def ask(plural: str, key: Key) -> Database | Unknown | None:
            asked.append(key)
            return REPORT if (plural, key.name) == ("osclusters", "logs") else None

        api = await stack.enter_async_context(as_account(control_plane, "stateward", uses))
        server = DatabaseViewServer(api, ask, "stateward-system", SystemClock())
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
