"""The operator's page on a real API server, with the shipped roles: what its account needs, and which users see it."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import aiohttp
import msgspec
import pytest

from sandbox.kubernetes.kubeapi import KubeApi
from stateward.cli.dashboard.in_operator import operator_page
from stateward.engines.connection.base import Speed
from stateward.kube.access.config import connect
from stateward.kube.client.client import ApplyOptions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import NAMESPACES, SERVICE_ACCOUNTS
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.runtime.options import OperatorOptions
from stateward.planning.model.database import Copy, CopyState, Database, Health, Unit, Unknown
from tests.integration.api_server import define
from tests.integration.rights.rights import Uses, as_account, installed
from tests.integration.rights.test_database_view import FILES, VIEW, token
from tests.integration.shipped import grant

pytestmark = pytest.mark.integration

UNIT = Unit("docs[0]", 1, (Copy(CopyState.STARTED, primary=True, member="logs-all-0"),))
REPORT = Database("fake", Health.GREEN, {}, (UNIT,))
KINDS = ["osclusters", "esclusters", "fdbclusters"]
USERS = {"viewer": ["list", "get"], "lister": ["list"], "stranger": []}


class Databases:
    """The databases as the operator reads them."""

    async def report(self, plural: str, key: Key) -> Database | Unknown | None:
        return REPORT if (plural, key.name) == ("osclusters", "logs") else None

    async def speed(self, plural: str, key: Key) -> Speed:
        return Speed()


@dataclass
class Shown:
    """The page at an address of the pod, three users, and what the operator's account did."""

    url: str
    origin: str
    ref: str
    tokens: dict[str, str]
    uses: Uses

    def as_user(self, user: str) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {self.tokens[user]}", "Origin": self.origin}
        return aiohttp.ClientSession(headers=headers, read_bufsize=1 << 20)


@pytest.fixture
async def shown(control_plane: Path) -> AsyncGenerator[Shown]:
    installed(KubeApi(control_plane), *FILES, *VIEW)
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(HttpApi(connect(kubeconfig=str(control_plane))))
        await define(admin, CLUSTERS)
        namespace, uses = f"page-{uuid4().hex[:8]}", Uses()
        await admin.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for user, verbs in USERS.items():
            body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": user}}
            await admin.create(SERVICE_ACCOUNTS, body, namespace=namespace)
            rule = {"apiGroups": ["stateward.dev"], "resources": KINDS, "verbs": verbs}
            await grant(admin, namespace, user, *([rule] if verbs else []), everywhere=True)
        tokens = {user: await token(admin, namespace, user) for user in USERS}
        pools = [{"name": "all", "replicas": 1, "storage": {"size": "1Gi"}}]
        spec = {"version": "2.19.5", "pools": pools, "security": {"enabled": True}}
        head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "metadata": {"name": "logs"}}
        await admin.apply(CLUSTERS, Key(namespace, "logs"), head | {"spec": spec}, ApplyOptions("test"))
        api = await stack.enter_async_context(as_account(control_plane, "stateward", uses))
        options = OperatorOptions(page=True, page_host="0.0.0.0", page_port=0)  # noqa: S104 - the address that is tested
        port = await stack.enter_async_context(operator_page(api, options, Databases()))
        origin = f"http://127.0.0.1:{port}"
        yield Shown(f"{origin}/page/", origin, f"{namespace}/opensearch/logs", tokens, uses)


async def test_it_shows_a_secured_database_without_proxy_or_command_and_needs_no_other_right(shown: Shown) -> None:
    async with shown.as_user("viewer") as http:
        async with http.get(f"{shown.url}events", params={"cluster": shown.ref}) as answer:
            name = b""
            async for line in answer.content:
                name = line if line.startswith(b"event: ") else name
                if name == b"event: cluster\n" and b'"dataKnown":true' in line:
                    assert msgspec.json.decode(line.removeprefix(b"data: "))["shards"] == 1
                    break
        async with http.post(f"{shown.url}plan", json={"cluster": shown.ref}) as answer:
            plan = await answer.json()
            assert answer.status == 200, plan
            assert "you may not" not in str(plan)
    assert shown.uses.refused == []
    assert not [right for right in shown.uses.used if right.resource in ("pods/proxy", "pods/exec", "services/proxy")]


@pytest.mark.parametrize("user", ["lister", "stranger"])
async def test_a_user_that_may_not_list_and_get_all_clusters_sees_nothing(shown: Shown, user: str) -> None:
    async with shown.as_user(user) as http:
        for path in ("", "page.js", "events"):
            async with http.get(shown.url + path) as answer:
                assert answer.status == 403
