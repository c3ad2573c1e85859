"""One process works at a time: no part of an operator writes unless the lease is held."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.kinds.security import Security
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.base import API_VERSION, Metadata
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.election.fence import LostLease
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import Conflict
from stateward.kube.objects.metadata import Key
from stateward.operator import process
from stateward.operator.assembly import Operator
from stateward.operator.clusters import reconcile
from stateward.operator.clusters.reconcile import Reconciler
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.runtime.options import OperatorOptions
from stateward.planning.model.observation import Database, Health, Observation, Removal, Unknown
from stateward.planning.model.security import Protection
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock

Write = Callable[[Reconciler, ClusterObjects], Awaitable[object]]


class Written(WorldApi):
    """An API server that keeps what was written to it, but for leases."""

    writes: int = 0

    async def _write(self, resource: Any, write: Any, do: Any) -> Any:
        self.writes += resource.plural not in ("leases", "namespaces")
        return await super()._write(resource, write, do)


@pytest.fixture
async def api() -> Written:
    clock = WorldClock(asyncio.get_running_loop())
    store = Store(clock.monotonic, clock.now)
    made = Written(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
    for name in ("data", "stateward"):
        await made.create(kinds.NAMESPACES, {"metadata": {"name": name}})
    return made


def operator(api: WorldApi, *, leader_elect: bool = True, **more: Any) -> Operator:
    silent: Any = None
    options = OperatorOptions(leader_elect=leader_elect, lease_namespace="stateward", identity="a", **more)
    return Operator(api, (OpenSearchFamily(silent),), options)


def reconciler(of: Operator) -> Reconciler:
    return of.controllers["opensearch"]._reconciler


SPEC = OpenSearchSpec(version="2.19.5", pools=[Pool(name="hot", replicas=1)])


def existing() -> ClusterObjects:
    spec = structs.replace(SPEC, security=Security(enabled=True))
    cluster = OpenSearchCluster(metadata=Metadata(name="logs", namespace="data", uid="u"), spec=spec)
    return ClusterObjects(cluster, sets=(), pods=(), claims=(), secrets=(), nodes={}, classes={})


async def shared_objects(one: Reconciler, seen: ClusterObjects) -> None:
    await one._shared_objects.apply(seen, (), settled=True)


async def secrets_of_agents(one: Reconciler, seen: ClusterObjects) -> None:
    await one._agent_requests.credentials.prepare(seen.cluster)


async def secrets_of_the_database(one: Reconciler, seen: ClusterObjects) -> None:
    cluster = seen.cluster
    assert isinstance(cluster, OpenSearchCluster)
    await one._keeper.keep(cluster, alone=True)


async def status(one: Reconciler, seen: ClusterObjects) -> None:
    await one._status._patch_status(Key("data", "logs"), seen.cluster, ClusterStatus(version="2.19.5"))


@pytest.mark.parametrize("write", [shared_objects, secrets_of_agents, secrets_of_the_database, status])
async def test_nothing_is_written_unless_the_lease_is_held(api: Written, write: Write) -> None:
    with pytest.raises(LostLease):
        await write(reconciler(operator(api)), existing())
    assert api.writes == 0


@pytest.mark.parametrize("leader_elect", [True, False])
@pytest.mark.parametrize("write", [shared_objects, secrets_of_agents, secrets_of_the_database])
async def test_a_leader_writes_and_so_does_a_process_without_rivals(
    api: Written, write: Write, *, leader_elect: bool
) -> None:
    one = operator(api, leader_elect=leader_elect)
    leading = asyncio.create_task(one.election.run(lambda: None))
    await one.election.wait_elected()
    await write(reconciler(one), existing())
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading
    assert api.writes


class Leases(WorldApi):
    """A client that is used for leases only."""

    used: int = 0

    async def _write(self, resource: Any, write: Any, do: Any) -> Any:
        assert resource.plural == "leases"
        self.used += 1
        return await super()._write(resource, write, do)


async def test_no_request_of_the_work_takes_a_place_from_a_renewal_of_the_lease(api: Written) -> None:
    """Writes that a hanging webhook holds fill all places of their client; the lease has a client of its own."""
    silent: Any = None
    options = OperatorOptions(lease_namespace="stateward", identity="a")
    network = Network(random.Random(0), lambda _: None)  # noqa: S311
    leases = Leases(api._server, ChangeSignal(api._server.store), network)
    one = Operator(api, (OpenSearchFamily(silent),), options, lease_api=leases)
    leading = asyncio.create_task(one.election.run(lambda: None))
    await one.election.wait_elected()
    await secrets_of_agents(reconciler(one), existing())
    assert leases.used == 1
    assert api.writes
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


class Told:
    """A database that records its requests."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def observe(self, _: object) -> Unknown:
        self.heard.append("observe")
        return Unknown("no answer")

    async def add_user(self, *_: object) -> None:
        self.heard.append("add_user")


async def test_what_is_remembered_of_the_agents_of_a_cluster_is_dropped_with_it(api: Written) -> None:
    one, seen = reconciler(operator(api, leader_elect=False)), existing()
    await secrets_of_agents(one, seen)
    known = one._agent_requests.credentials._known
    assert known
    one._memory.forget(Key("data", "logs"))
    assert not known


class WiredError(Exception):
    """What an operator was made from."""

    def __init__(self, *_: object, lease_api: Any = None, **__: object) -> None:
        self.lease_api = lease_api


async def test_the_process_gives_the_lease_a_client_with_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[Any]()

    @asynccontextmanager
    async def client(_: object, **given: Any) -> AsyncGenerator[Any]:
        made.append(SimpleNamespace(execute=None, **given))
        yield made[-1]

    @asynccontextmanager
    async def families(*_: object) -> AsyncGenerator[tuple[()]]:
        yield ()

    def operated(*given: Any, **named: Any) -> Any:
        raise WiredError(*given, **named)

    for name, value in (("HttpApi", client), ("open_families", families), ("Operator", operated)):
        monkeypatch.setattr(process, name, value)

    def connected(**_: object) -> SimpleNamespace:
        return SimpleNamespace(namespace="stateward")

    monkeypatch.setattr(process, "connect", connected)
    with pytest.raises(WiredError) as caught:
        await process.run_operator(OperatorOptions())
    assert caught.value.lease_api is made[1]
    assert made[1].limits.request < OperatorOptions().lease_timing.renew_deadline / 2


async def look(one: Reconciler) -> None:
    cluster = OpenSearchCluster(metadata=existing().cluster.metadata, spec=SPEC)
    await one._decide(replace(existing(), cluster=cluster))


async def introduce(one: Reconciler) -> None:
    async def administrator(_: object) -> tuple[str, str]:
        return "admin", "secret"

    keeper: Any = SimpleNamespace(administrator=administrator)
    one._keeper = keeper
    secured = Database(identity="i", health=Health.GREEN, nodes={}, secured=True)
    protection = Protection(enabled=True)
    turn: Any = SimpleNamespace(observed=SimpleNamespace(protection=protection, database=secured), existing=existing())
    with suppress(TypeError):  # The response is processed in the next round.
        await one._administrator_created(turn)


@pytest.mark.parametrize("call", [look, introduce])
async def test_no_request_goes_to_a_database_unless_the_lease_is_held(api: Written, call: Any) -> None:
    """A read may change something too: an engine proves with it that members are empty, and reverts it."""
    for leader_elect in (True, False):
        database: Any = Told()
        one = reconciler(operator(api, leader_elect=leader_elect))
        one._family.engine = database
        if leader_elect:
            with pytest.raises(LostLease):
                await call(one)
        else:
            await call(one)
        assert bool(database.heard) is not leader_elect


# What two clusters, or two processes, must not both write


async def stored(api: Written) -> Any:
    body = {"apiVersion": API_VERSION, "kind": OPENSEARCH.resource.kind, "metadata": {"name": "logs"}}
    spec = {"version": "2.19.5", "pools": [{"name": "hot", "replicas": 1}]}
    return await api.create(OPENSEARCH.resource, {**body, "spec": spec}, namespace="data")


KEY = Key("data", "logs")
LATER = ClusterStatus(version="2.19.5")


async def test_the_status_is_written_onto_the_cluster_that_was_read(api: Written) -> None:
    one = reconciler(operator(api, leader_elect=False))
    await one._status._patch_status(KEY, await stored(api), LATER)
    assert (await api.get(OPENSEARCH.resource, KEY)).status.version == "2.19.5"


async def test_a_status_is_not_written_over_what_was_written_since_the_cluster_was_read(api: Written) -> None:
    """Another leader has recorded there which member may form the cluster, and it would be recorded once more."""
    one = reconciler(operator(api, leader_elect=False))
    read = await stored(api)
    theirs = [{"op": "add", "path": "/status", "value": {"version": "2.17.1"}}]
    await api.patch(OPENSEARCH.resource, KEY, theirs, kind=PatchKind.JSON, subresource="status")
    with pytest.raises(Conflict):
        await one._status._patch_status(KEY, read, LATER)
    assert (await api.get(OPENSEARCH.resource, KEY)).status.version == "2.17.1"


async def test_a_status_is_not_written_onto_a_successor_of_the_cluster(api: Written) -> None:
    one = reconciler(operator(api, leader_elect=False))
    read = await stored(api)
    await api.delete(OPENSEARCH.resource, KEY, DeleteOptions(Preconditions(read.metadata.uid)))
    successor = await stored(api)
    version = successor.metadata.resource_version
    mixed: Any = structs.replace(read, metadata=structs.replace(read.metadata, resource_version=version))
    with pytest.raises(Conflict):
        await one._status._patch_status(KEY, mixed, LATER)
    assert (await api.get(OPENSEARCH.resource, KEY)).status.version == ""


async def test_two_clusters_that_are_decided_on_at_once_do_not_take_the_last_place_both(
    api: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place is held from the decision on, until the status says who is replaced."""
    places: dict[str, int] = {}

    def replacing(observed: Observation, _now: float) -> Any:
        places[observed.uid] = observed.slots or 0
        chosen = {"m": Removal("missing", 0.0, automatic=True)} if observed.slots else {}
        return SimpleNamespace(removals=chosen, actions=(), settled=True)

    monkeypatch.setattr(reconcile, "plan", replacing)
    one = reconciler(operator(api, leader_elect=False, max_replacements=1))
    database: Any = Told()
    one._family.engine = database

    async def decide(uid: str) -> None:
        metadata = Metadata(name=uid, namespace="data", uid=uid)
        await one._decide(replace(existing(), cluster=OpenSearchCluster(metadata=metadata, spec=SPEC)))

    await asyncio.gather(decide("a"), decide("b"))
    assert sorted(places.values()) == [0, 1]
    (first,) = (uid for uid, place in places.items() if place)
    one._limit.release(first)
    await decide("c")
    assert places["c"] == 1
