"""The recorded API server is believed by the real client and caches: streams, changes and writes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bench.clusters import fleet
from bench.clusters.recording import Recording, load, multiplied, save
from bench.clusters.replay.server import Replay
from stateward.kube.access.connection import Connection
from stateward.kube.access.credentials import Credential, StaticCredentials
from stateward.kube.cache.reflector import Reflector
from stateward.kube.cache.store import Store
from stateward.kube.client.client import ApplyOptions, PatchKind
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import LEASES, SECRETS
from stateward.operator.objects.caches import CLUSTERS


def recording() -> Recording:
    owner = {**fleet.body(0), "status": {}}
    owner["metadata"] |= {"uid": "aaaaaaaa-000000", "resourceVersion": "7", "generation": 1}
    reference = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "controller": True}
    secret: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "c-0000-hot-0",
            "namespace": fleet.NAMESPACE,
            "uid": "bbbbbbbb-000000",
            "resourceVersion": "9",
            "ownerReferences": [{**reference, "name": "c-0000", "uid": "aaaaaaaa-000000"}],
        },
        "data": {"x": "eA=="},
    }
    return Recording({CLUSTERS.path(): [owner], SECRETS.path(): [secret]}, 9)


def test_each_copy_has_its_own_name_and_uids_and_belongs_to_its_own_cluster(tmp_path: Path) -> None:
    save(recording(), tmp_path / "r.json")
    many = multiplied(load(tmp_path / "r.json"), "c-0000", ["c-0001", "c-0002"])
    owners = {item["metadata"]["name"]: item["metadata"]["uid"] for item in many.objects[CLUSTERS.path()]}
    assert sorted(owners) == ["c-0000", "c-0001", "c-0002"]
    assert len(set(owners.values())) == 3
    for secret in many.objects[SECRETS.path()]:
        reference = secret["metadata"]["ownerReferences"][0]
        assert owners[reference["name"]] == reference["uid"]
        assert secret["metadata"]["name"].startswith(reference["name"])


@asynccontextmanager
async def served() -> AsyncGenerator[HttpApi]:
    runner = web.ServerRunner(web.Server(Replay(recording()).answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with HttpApi(
            Connection(f"http://127.0.0.1:{runner.addresses[0][1]}", StaticCredentials(Credential()))
        ) as api:
            yield api
    finally:
        await runner.cleanup()


async def test_a_cache_is_filled_by_a_stream_and_hears_of_an_edit() -> None:
    async with served() as api:
        clusters = Store[Any]("clusters")
        running = asyncio.create_task(Reflector(api, CLUSTERS, Selection(), clusters).run())
        async with asyncio.timeout(10):
            await clusters.wait_synced()
            edited = asyncio.Event()
            clusters.subscribe(lambda delta: edited.set() if delta.new and delta.new.metadata.generation == 2 else None)
            await api.apply(CLUSTERS, fleet.key(0), fleet.body(0, "e1"), ApplyOptions("x", force=True))
            await edited.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_status_is_kept_and_a_secret_is_shown_as_metadata_only() -> None:
    async with served() as api:
        patch = [{"op": "add", "path": "/status", "value": {"health": "green"}}]
        written = await api.patch(CLUSTERS, fleet.key(0), patch, kind=PatchKind.JSON, subresource="status")
        assert written.status.health == "green"
        assert written.metadata.generation == 1
        assert "data" not in await api.get(SECRETS.viewed_as(dict[str, Any]), Key(fleet.NAMESPACE, "c-0000-hot-0"))


async def test_a_lease_is_not_there_until_it_is_created() -> None:
    key = Key(fleet.NAMESPACE, "x")
    async with served() as api:
        with pytest.raises(NotFound):
            await api.get(LEASES, key)
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": "x", "namespace": key.namespace},
            "spec": {"holderIdentity": "me"},
        }
        await api.create(LEASES, body, namespace=key.namespace)
        await api.patch(LEASES, key, {"spec": {"holderIdentity": "you"}}, kind=PatchKind.MERGE)
        assert (await api.get(LEASES, key)).spec.holder_identity == "you"
