"""A secure setting of real Elasticsearch takes effect: the password in its keystore is the one that gets in."""

import asyncio
import base64

import aiohttp
import pytest

from sandbox import Sandbox
from stateward.kube.client.client import ApplyOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.secured import client, ready

pytestmark = [pytest.mark.e2e, pytest.mark.full]

NAME = "kept"
SETTING = "bootstrap.password"
"""The initial password of the user `elastic`."""
INPUT = f"keystore/Secret/store:{SETTING}"
ONE, TWO, THREE = (f"the {word} password" for word in ("first", "second", "third"))


async def put(clusters: Clusters, password: str) -> None:
    """Write the Secret as a user does."""
    data = {SETTING: base64.b64encode(password.encode()).decode()}
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "store", "labels": {"stateward.dev/allowed-for-pods": "true"}},
        "data": data,
    }
    await clusters.api.apply(kinds.SECRETS, Key(clusters.namespace, "store"), body, ApplyOptions("person", force=True))


async def digest(clusters: Clusters) -> str:
    """Return what the cluster knows of the setting."""
    return ((await clusters.get(NAME)).status.data_digests or {}).get(INPUT, "")


async def uids(clusters: Clusters) -> dict[str, str]:
    return {name: pod.metadata.uid for name, pod in (await clusters.pods(NAME)).items()}


async def enters(clusters: Clusters, sandbox: Sandbox, password: str) -> bool:
    """Return whether the database knows its first user by this password."""
    async with client(sandbox, clusters, NAME, known=False) as somebody:
        somebody.headers["Authorization"] = aiohttp.encode_basic_auth("elastic", password)
        status, _ = await somebody.ask("_security/_authenticate")
    assert status in {200, 401}
    return status == 200


@pytest.mark.images("elasticsearch:8.19.4")
async def test_a_password_in_the_keystore_is_the_one_that_counts_once_its_secret_has_changed(
    clusters: Clusters, stateward: Sandbox
) -> None:
    """Two changes, the second before the first has settled: the last one counts, in a kept pod."""
    await put(clusters, ONE)
    nodes = pool("all", 1, "master", "data", "ingest")
    spec = {"version": "8.19.4", "pools": [nodes], "secureSettings": [{"secretName": "store"}]}
    await clusters.apply(NAME, **spec, security={"enabled": True})
    await clusters.until(NAME, ready, seconds=600)
    pods, before = await uids(clusters), await digest(clusters)
    assert [await enters(clusters, stateward, each) for each in (ONE, THREE)] == [True, False]

    await put(clusters, TWO)
    await asyncio.sleep(1.5)
    await put(clusters, THREE)
    await clusters.until(
        NAME, lambda c: settled(c) and (c.status.data_digests or {}).get(INPUT, "") not in {"", before}, seconds=600
    )
    assert [await enters(clusters, stateward, each) for each in (ONE, TWO, THREE)] == [False, False, True]
    assert await uids(clusters) == pods
