"""What makes the controller look at a resource at once: its cluster, its Secrets, other resources of the cluster."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.kinds.search_user import SearchUser
from stateward.kube.cache.deltas import Change, Delta
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.declared.controller import DeclaredControl, Setting
from stateward.operator.declared.views import by_password_secret
from stateward.simulation.apiserver.client import WorldApi
from stateward.simulation.apiserver.network import Network
from tests.unit.operator.declared.world import CLUSTER, HOME, World


@dataclass
class Watched:
    """A store whose changes a test tells."""

    listeners: list[Callable[[Any], None]] = field(default_factory=list[Callable[[Any], None]])

    def subscribe(self, listener: Callable[[Any], None]) -> None:
        self.listeners.append(listener)

    def tell(self, name: str, old: Any = None, new: Any = None) -> None:
        for listener in self.listeners:
            listener(Delta(Change.CHANGED, Key(HOME, name), old, new))


class WatchedWorld(World):
    """A world whose clusters and Secrets are told to the controller."""

    def __init__(self) -> None:
        super().__init__()
        self.clusters, self.secrets = Watched(), Watched()

    def control(self, network: Network | None = None) -> tuple[DeclaredControl, EventRecorder]:
        network = network or Network(self.context.stream("network"), self.context.count)
        api: Any = WorldApi(self.server, self.change_signal, network, "stateward")
        clock = VirtualClock()
        recorder = EventRecorder(api, "stateward.dev/test", "test", clock=clock)
        kind: Any = SimpleNamespace(
            clusters=self.clusters, kind=SimpleNamespace(resource=SimpleNamespace(kind="OpenSearchCluster"))
        )
        secrets: Any = self.secrets
        return DeclaredControl(Setting(api, self, recorder, clock, "stateward", (kind,), secrets)), recorder


def cluster(**status: Any) -> OpenSearchCluster:
    return msgspec.convert({**CLUSTER, "status": {**CLUSTER["status"], **status}}, OpenSearchCluster)


def gone() -> OpenSearchCluster:
    meta = {**CLUSTER["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    return msgspec.convert({**CLUSTER, "metadata": meta}, OpenSearchCluster)


async def reads(world: WatchedWorld, told: Callable[[], None]) -> int:
    """Return how often a settled object was read within ten seconds after something was told."""
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        await asyncio.sleep(5)
        before = len(world.database.calls)
        told()
        await asyncio.sleep(10)
        return len(world.database.calls) - before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (cluster(), cluster(clusterUUID="another")),
        (cluster(), cluster(version="2.19.5")),
        (cluster(), gone()),
        (None, cluster()),
        (cluster(), None),
    ],
)
async def test_a_change_of_the_cluster_that_matters_is_taken_up_at_once(old: Any, new: Any) -> None:
    world = WatchedWorld()
    assert await reads(world, lambda: world.clusters.tell("logs", old, new))


async def test_steps_of_the_clusters_members_and_other_clusters_are_not() -> None:
    world = WatchedWorld()
    assert not await reads(world, lambda: world.clusters.tell("logs", cluster(), cluster(activity="restarts")))
    other = WatchedWorld()
    assert not await reads(other, lambda: other.clusters.tell("other", None, cluster()))


async def test_a_changed_secret_is_taken_up_at_once() -> None:
    world = WatchedWorld()
    world.secret("keys", {"stateward.dev/allowed-for-pods": "logs"}, password="geheim-77")
    value = {"secretName": "keys", "key": "password", "path": "/settings/password"}
    world.declare(object="snapshotRepository/store", body={"type": "s3", "settings": {}}, values=[value])
    async with world.operator():
        await world.until(world.is_ready)
        world.change_secret("keys", password="geheim-78")
        world.secrets.tell("keys")
        await asyncio.sleep(5)
    assert world.database.objects.by_path["/_snapshot/store"].body["settings"]["password"] == "geheim-78"


@pytest.mark.parametrize(
    ("spec", "secrets"),
    [
        ({}, ["prod/shop-connection"]),
        ({"connectionSecretName": "other"}, ["prod/other"]),
        ({"password": {"secretName": "given"}}, ["prod/given", "prod/shop-connection"]),
    ],
)
def test_a_user_is_taken_up_for_its_given_password_and_for_what_applications_read(
    spec: dict[str, Any], secrets: list[str]
) -> None:
    wanted = {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}, "roles": ["reader"], **spec}
    user = msgspec.convert({"metadata": {"name": "shop", "namespace": HOME}, "spec": wanted}, SearchUser)
    assert list(by_password_secret(user)) == secrets


async def test_what_waits_for_another_resource_goes_on_at_once() -> None:
    world = WatchedWorld()
    world.declare("part", object="componentTemplate/base", body={"template": {}}, paused=True)
    world.template(body={"index_patterns": ["a-*"], "composed_of": ["base"]})
    async with world.operator():
        await world.until(lambda: world.condition("Reconciling").get("reason") == "DependencyPending")
        await asyncio.sleep(16)  # The next attempt by itself is far away.
        world.declare("part", paused=False)
        await asyncio.sleep(4)
        assert world.is_ready()
