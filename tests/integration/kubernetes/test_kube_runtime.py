"""Cache, leader election, apply and events on a real API server."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from stateward.kube.access.config import connect
from stateward.kube.access.connection import Tls
from stateward.kube.cache.apply import Applier, Outcome
from stateward.kube.cache.expectations import Expectations
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api, DeleteOptions, PatchKind, Preconditions, RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.election.lease import LeaderElection
from stateward.kube.election.lease_record import LeaseTiming
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.events.events import EventLimits, EventRecorder
from stateward.kube.objects.errors import NotFound, TransportError, Unauthorized
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import CONFIG_MAPS, LEASES, NAMESPACES, STATEFUL_SETS
from stateward.kube.objects.workloads import StatefulSet
from stateward.kube.timing.backoff import Backoff
from stateward.kube.timing.clock import SystemClock
from tests.contract.world import World
from tests.integration.kubernetes.relay import relayed

pytestmark = pytest.mark.integration
QUICK = ReflectorOptions(backoff=Backoff(first=0.02, longest=0.2))


@pytest.fixture
async def world(control_plane: Path) -> AsyncGenerator[World]:
    async with HttpApi(connect(kubeconfig=str(control_plane))) as api:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "runtime-"}}
        namespace = await api.create(NAMESPACES, body)
        name = namespace.metadata.name
        yield World(api, name, SystemClock())
        await api.delete(NAMESPACES, Key("", name), DeleteOptions(Preconditions(namespace.metadata.uid)))


@asynccontextmanager
async def reflecting(api: Api, store: Store[PartialObject], selection: Selection) -> AsyncGenerator[None]:
    task = asyncio.create_task(Reflector(api, CONFIG_MAPS, selection, store, QUICK).run())
    try:
        async with asyncio.timeout(30):
            await store.wait_synced()
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def churn(world: World, rng: random.Random, count: int) -> None:
    """Create, change and delete ConfigMaps at random."""
    for _ in range(count):
        name = f"map-{rng.randrange(12)}"
        try:
            held = await world.api.get(CONFIG_MAPS, world.key(name))
        except NotFound:
            await world.config_map(name, labels={"churn": "yes"})
            continue
        if rng.random() < 0.4:
            await world.delete(CONFIG_MAPS, held)
        else:
            body = {"data": {"a": str(rng.random())}}
            await world.api.patch(CONFIG_MAPS, world.key(name), body, kind=PatchKind.MERGE)


async def agrees(world: World, store: Store[PartialObject]) -> bool:
    page = await world.api.list(CONFIG_MAPS, Selection(world.namespace, "churn=yes"))
    return {obj.metadata.uid: obj for obj in page.items} == {obj.metadata.uid: obj for obj in store.all()}


async def test_a_cache_equals_the_server_although_its_connections_are_cut(world: World, control_plane: Path) -> None:
    rng = random.Random(7)  # noqa: S311 - a seed, so that it can be repeated
    store = Store[PartialObject]("maps", namespaces=(world.namespace,))
    async with relayed(connect(kubeconfig=str(control_plane))) as (relay, connection), HttpApi(connection) as api:
        async with reflecting(api, store, Selection(world.namespace, "churn=yes")):
            for _ in range(15):
                await churn(world, rng, 10)
                relay.cut()
            await world.eventually(lambda: agrees(world, store), seconds=30)
        assert relay.connections > 10


async def test_two_namespaces_feed_one_cache(world: World) -> None:
    store = Store[PartialObject]("maps", namespaces=(world.namespace, "default"))
    await world.config_map("one", labels={"churn": "yes"})
    async with reflecting_both(world, store):
        assert [obj.metadata.name for obj in store.all()] == ["one"]


@asynccontextmanager
async def reflecting_both(world: World, store: Store[PartialObject]) -> AsyncGenerator[None]:
    selections = [Selection(namespace, "churn=yes") for namespace in (world.namespace, "default")]
    tasks = [asyncio.create_task(Reflector(world.api, CONFIG_MAPS, chosen, store).run()) for chosen in selections]
    try:
        async with asyncio.timeout(30):
            await store.wait_synced()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_cache_hears_of_our_own_writes(world: World) -> None:
    store, ours = Store[PartialObject]("maps", namespaces=(world.namespace,)), Expectations()
    async with reflecting(world.api, store, Selection(world.namespace, "churn=yes")):
        made = await world.config_map("one", labels={"churn": "yes"})
        ours.wrote(store, made)
        assert store.get(world.key("one")) == made
        await world.eventually(lambda: ours.caught_up)
        await world.delete(CONFIG_MAPS, made)
        ours.deleted(store, made)
        assert store.get(world.key("one")) is None
        await world.eventually(lambda: ours.caught_up)
        assert len(store) == 0


async def test_a_settled_object_is_not_written(world: World) -> None:
    applier, ours = Applier(world.api, "stateward-test"), Expectations()
    cache = Store[StatefulSet]("sets", namespaces=(world.namespace,))
    manifest = world.stateful_set("set")
    first = await applier.apply(STATEFUL_SETS, manifest, store=cache, expectations=ours)
    second = await applier.apply(STATEFUL_SETS, manifest, store=cache, expectations=ours)
    again = await Applier(world.api, "stateward-test").apply(STATEFUL_SETS, manifest, store=cache, expectations=ours)
    assert (first.outcome, second.outcome) == (Outcome.CREATED, Outcome.SKIPPED)
    assert again.object.metadata.generation == first.object.metadata.generation
    assert again.outcome in {Outcome.UNCHANGED, Outcome.CHANGED}


async def test_one_of_two_candidates_leads_and_the_other_follows(world: World) -> None:
    timing = LeaseTiming(duration=60, renew_deadline=40.0, retry=0.2)
    key = world.key("leader")
    one, two = (LeaderElection(world.api, key, name, timing=timing) for name in ("one", "two"))
    tasks = [asyncio.create_task(one.run(lambda: None))]
    await one.wait_elected()
    tasks.append(asyncio.create_task(two.run(lambda: None)))
    await asyncio.sleep(1)
    assert one.is_leader(at_least=1.0)
    assert not two.is_leader()
    tasks[0].cancel()
    # Long before the lease ends: whoever stops gives it back.
    await world.eventually(two.is_leader, seconds=30)
    assert not one.is_leader()
    lease = await world.api.get(LEASES, key)
    assert lease.spec.holder_identity == "two"
    assert lease.spec.lease_transitions == 2
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_events_are_found_where_kubectl_searches_for_them(world: World) -> None:
    made = await world.config_map("one")
    recorder = EventRecorder(world.api, "stateward", "stateward-0", limits=EventLimits(repeat=0.2))
    task = asyncio.create_task(recorder.run())
    for _ in range(3):
        recorder.record(Occurrence(about(CONFIG_MAPS, made), Severity.WARNING, "Waiting", "Planning", "no quorum"))
        await asyncio.sleep(0.4)
    await recorder.close()
    await task
    query = {"fieldSelector": f"involvedObject.uid={made.metadata.uid}"}
    found = await world.api.request(RawRequest(f"/api/v1/namespaces/{world.namespace}/events", query=query))
    (event,) = json.loads(found)["items"]
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Waiting", "no quorum")
    assert event["series"]["count"] == 3
    assert recorder.dropped == 0


async def test_no_request_goes_to_an_untrusted_server(control_plane: Path) -> None:
    connection = connect(kubeconfig=str(control_plane))
    async with HttpApi(replace(connection, tls=Tls())) as api:
        with pytest.raises(TransportError, match="certificate"):
            await api.request(RawRequest("/version"))


async def test_the_expected_name_of_the_server_can_be_given(control_plane: Path) -> None:
    connection = connect(kubeconfig=str(control_plane))
    named = replace(connection.tls, server_name="kubernetes.default.svc")
    async with HttpApi(replace(connection, tls=named)) as api:
        assert await api.request(RawRequest("/version"))
    wrong = replace(connection.tls, server_name="other.example")
    async with HttpApi(replace(connection, tls=wrong)) as api:
        with pytest.raises(TransportError, match="certificate"):
            await api.request(RawRequest("/version"))


async def test_without_credentials_nothing_is_allowed(control_plane: Path) -> None:
    from stateward.kube.access.credentials import Credential, StaticCredentials

    stranger = StaticCredentials(Credential(token="not-a-token"))
    async with HttpApi(replace(connect(kubeconfig=str(control_plane)), credentials=stranger)) as api:
        with pytest.raises(Unauthorized):
            await api.list(CONFIG_MAPS, Selection("default"))
