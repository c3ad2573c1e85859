"""Users in end-to-end tests: an application that connects with its Secret, and loses its access with the user."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from sandbox import Sandbox
from stateward.api.kinds.search_user import SearchUser
from stateward.kube.client.client import ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.operator.declared.views import SEARCH_USERS
from tests.e2e.clusters import Clusters
from tests.e2e.declared.objects import SearchObjects, applied
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import Client, secret


async def declare_user(clusters: Clusters, cluster: str, name: str, **spec: Any) -> None:
    """Store a user, and wait until the database has it."""
    of = {"kind": clusters.kind.resource.kind, "name": cluster}
    document = {
        "apiVersion": SEARCH_USERS.api_version,
        "kind": SEARCH_USERS.kind,
        "metadata": {"name": name, "namespace": clusters.namespace},
        "spec": {"cluster": of, **spec},
    }
    key = Key(clusters.namespace, name)
    await clusters.api.apply(SEARCH_USERS, key, document, ApplyOptions("test", force=True))
    found: SearchUser | None = None
    try:
        async with asyncio.timeout(120):
            while found is None or not is_ready(found):
                await asyncio.sleep(0.3)
                found = await clusters.api.get(SEARCH_USERS, key)
    except TimeoutError:
        raise AssertionError(str(found.status if found else "no answer")) from None


def is_ready(user: SearchUser) -> bool:
    seen = user.status.observed_generation == user.metadata.generation
    return seen and any(each.type == "Ready" and each.status == "True" for each in user.status.conditions)


async def delete_user(clusters: Clusters, name: str) -> None:
    """Delete a user, and wait until it is gone."""
    key = Key(clusters.namespace, name)
    found = await clusters.api.get(SEARCH_USERS, key)
    await clusters.api.delete(SEARCH_USERS, key, DeleteOptions(Preconditions(found.metadata.uid)))
    async with asyncio.timeout(120):
        try:
            while True:
                await clusters.api.get(SEARCH_USERS, key)
                await asyncio.sleep(0.3)
        except NotFound:
            return


async def application_uses(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, cluster: str, role: tuple[str, dict[str, Any]]
) -> None:
    """Require that an application can do what its role allows, and nothing after its user is gone."""
    objects = SearchObjects(clusters, cluster)
    await objects.declare("role", *role)
    await objects.until("role", applied)
    await declare_user(clusters, cluster, "shop", roles=["reader"])
    found = await secret(clusters.api, clusters.namespace, "shop-connection")
    async with application_of(stateward, found) as application:
        assert (await application.ask("logs-1/_search"))[0] in {200, 404}
        assert (await application.ask("other", "PUT", {}))[0] == 403
        await operator.kill()
        await declare_user(clusters, cluster, "shop", roles=["reader"], attributes={"team": "web"})
        assert (await secret(clusters.api, clusters.namespace, "shop-connection")) == found
        assert (await application.ask("logs-1/_search"))[0] in {200, 404}
        await delete_user(clusters, "shop")
        async with asyncio.timeout(60):
            while (await application.ask("logs-1/_search"))[0] != 401:
                await asyncio.sleep(0.5)
    await objects.delete("role")


@asynccontextmanager
async def application_of(stateward: Sandbox, found: dict[str, str]) -> AsyncGenerator[Client]:
    """Give the client of an application that has read the Secret of its user."""
    with stateward.relay(found["host"], int(found["port"])) as port:
        trust = ssl.create_default_context(cadata=found["ca.crt"])
        headers = {"Authorization": aiohttp.encode_basic_auth(found["username"], found["password"])}
        async with aiohttp.ClientSession() as session:
            yield Client(session, f"https://127.0.0.1:{port}", found["host"], trust, headers)
