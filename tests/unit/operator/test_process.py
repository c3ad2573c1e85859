"""One process works at a time: no part of an operator writes unless the lease is held."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from stateward.api.base import Metadata
from stateward.api.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.security import Security
from stateward.api.status import ClusterStatus
from stateward.kube import resources as kinds
from stateward.kube.fence import LostLease
from stateward.kube.metadata import Key
from stateward.operator.engine import OpenSearchFamily
from stateward.operator.holdings import Holdings
from stateward.operator.options import OperatorOptions
from stateward.operator.process import Operator
from stateward.operator.reconcile import Reconciler
from stateward.planning.observation import Database, Health, Unknown
from stateward.planning.security import Protection
from stateward.simulation.apiserver.client import Bell, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writes import Server
from stateward.simulation.loop import WorldClock

Write = Callable[[Reconciler, Holdings], Awaitable[object]]


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
    made = Written(Server(store), Bell(store), Network(random.Random(0), lambda _: None))  # noqa: S311
    for name in ("data", "stateward"):
        await made.create(kinds.NAMESPACES, {"metadata": {"name": name}})
    return made


def operator(api: WorldApi, *, leader_elect: bool = True) -> Operator:
    silent: Any = None
    options = OperatorOptions(leader_elect=leader_elect, lease_namespace="stateward", identity="a")
    return Operator(api, (OpenSearchFamily(silent),), options)


def reconciler(of: Operator) -> Reconciler:
    found: Any = of.controllers["opensearch"]._workers._reconcile
    return found.__self__


SPEC = OpenSearchSpec(version="2.19.5", pools=[Pool(name="hot", replicas=1)])


def holdings() -> Holdings:
    spec = structs.replace(SPEC, security=Security(enabled=True))
    cluster = OpenSearchCluster(metadata=Metadata(name="logs", namespace="data", uid="u"), spec=spec)
    return Holdings(cluster, sets=(), pods=(), claims=(), secrets=(), nodes={}, classes={})


async def shared_objects(one: Reconciler, seen: Holdings) -> None:
    await one._furnisher.furnish(seen, ())


async def secrets_of_agents(one: Reconciler, seen: Holdings) -> None:
    await one._liaison.credentials.access(seen.cluster)


async def secrets_of_the_database(one: Reconciler, seen: Holdings) -> None:
    cluster = seen.cluster
    assert isinstance(cluster, OpenSearchCluster)
    await one._keeper.keep(cluster, alone=True)


async def status(one: Reconciler, seen: Holdings) -> None:
    await one._patch_status(Key("data", "logs"), seen.cluster, ClusterStatus(version="2.19.5"))


@pytest.mark.parametrize("write", [shared_objects, secrets_of_agents, secrets_of_the_database, status])
async def test_nothing_is_written_unless_the_lease_is_held(api: Written, write: Write) -> None:
    with pytest.raises(LostLease):
        await write(reconciler(operator(api)), holdings())
    assert api.writes == 0


@pytest.mark.parametrize("leader_elect", [True, False])
@pytest.mark.parametrize("write", [shared_objects, secrets_of_agents, secrets_of_the_database])
async def test_a_leader_writes_and_so_does_a_process_without_rivals(
    api: Written, write: Write, *, leader_elect: bool
) -> None:
    one = operator(api, leader_elect=leader_elect)
    leading = asyncio.create_task(one.election.run(lambda: None))
    await one.election.wait_elected()
    await write(reconciler(one), holdings())
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading
    assert api.writes


class Told:
    """A database that keeps what it was asked and told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def observe(self, _: object) -> Unknown:
        self.heard.append("observe")
        return Unknown("no answer")

    async def add_user(self, *_: object) -> None:
        self.heard.append("add_user")


async def look(one: Reconciler) -> None:
    cluster = OpenSearchCluster(metadata=holdings().cluster.metadata, spec=SPEC)
    await one._decide(replace(holdings(), cluster=cluster))


async def introduce(one: Reconciler) -> None:
    async def administrator(_: object) -> tuple[str, str]:
        return "admin", "secret"

    keeper: Any = SimpleNamespace(administrator=administrator)
    one._keeper = keeper
    secured = Database(identity="i", health=Health.GREEN, nodes={}, secured=True)
    protection = Protection(enabled=True)
    turn: Any = SimpleNamespace(observed=SimpleNamespace(protection=protection, database=secured), holdings=holdings())
    with suppress(TypeError):  # What is done with the answer needs a whole round.
        await one._introduced(turn)


@pytest.mark.parametrize("call", [look, introduce])
async def test_a_database_is_not_spoken_to_unless_the_lease_is_held(api: Written, call: Any) -> None:
    """Also a look may change something: an engine proves by it that members are empty, and takes it back."""
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
