"""The status of PoolScales is written when they or their clusters change, and by the operator in charge only."""

import asyncio
import random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from stateward.api.kinds.scaling.pool_scale import PoolScale
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.errors import Conflict
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.objects.caches import Caches, Objects
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.scaling.control import ScalingControl, Setting
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import run_virtual
from tests.unit.engines.search_clusters import cluster
from tests.unit.operator.objects.test_pool_scales import KIND, SCALES, scale
from tests.unit.operator.scaling.test_report import status

WEB = Key("prod", "web")


class World:
    """An API server with PoolScales, and the caches of an operator of a wave."""

    def __init__(self, wave: str = "") -> None:
        store = self.store = Store(VirtualClock().monotonic, VirtualClock().now)
        self.server = Server(store)
        self.server.create("/namespaces", "", {"metadata": {"name": "prod"}})
        self.api = WorldApi(self.server, ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
        self.objects = Objects()
        self.version = 0
        self.caches = Caches(OPENSEARCH, self.objects, wave)
        setting = Setting(self.api, VirtualClock(), self.objects.scales, [self.caches], rng=random.Random(0))  # noqa: S311
        self.control = ScalingControl(setting)

    def clusters(self, *found: Any) -> None:
        self.version += 1
        newer = (replace(c, metadata=replace(c.metadata, resource_version=str(self.version))) for c in found)
        self.caches.clusters.feed().replace(list(newer), str(self.version))

    def scales(self, *found: Any) -> None:
        stored = []
        for each in found:
            made = self.server.create(KIND, "prod", msgspec.to_builtins(each) | {"status": {}})
            meta = replace(made.view(PoolScale).metadata, creation_timestamp=each.metadata.creation_timestamp)
            stored.append(replace(each, metadata=meta))
        self.listed(*stored)

    def listed(self, *found: PoolScale) -> None:
        """Let the watch show these PoolScales, as of now."""
        self.objects.scales.feed().replace(list(found), str(self.store.version))

    def ready(self, name: str = "web") -> tuple[str, str] | None:
        found = self.server.get(KIND, Key("prod", name)).doc.get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"]) for c in found if c["type"] == "Ready"), None)


async def test_the_status_follows_the_cluster() -> None:
    world = World()
    world.scales(scale("web", 4))
    world.clusters(cluster(SCALES, status(4, 4, 4)))
    await world.control.reconcile(WEB)
    assert world.ready() == ("True", "Applied")
    assert world.server.get(KIND, WEB).doc["status"]["replicas"] == 4


async def test_members_that_are_gone_are_not_ready_any_longer() -> None:
    """An autoscaler must not measure pods by the selector of a cluster that is gone."""
    world = World()
    world.scales(scale("web", 4))
    world.clusters(cluster(SCALES, status(4, 4, 4)))
    await world.control.reconcile(WEB)
    assert world.server.get(KIND, WEB).doc["status"]["readyReplicas"] == 4
    world.listed(world.server.get(KIND, WEB).view(PoolScale))
    world.clusters(cluster(SCALES, status(4, 4, 0)))
    await world.control.reconcile(WEB)
    assert world.server.get(KIND, WEB).doc["status"].get("readyReplicas", 0) == 0
    world.listed(world.server.get(KIND, WEB).view(PoolScale))
    world.clusters()
    await world.control.reconcile(WEB)
    left = world.server.get(KIND, WEB).doc["status"]
    assert (left.get("readyReplicas", 0), left.get("selector", ""), left["replicas"]) == (0, "", 4)


async def test_a_cluster_that_is_not_known_yet_is_not_missing() -> None:
    world = World()
    world.scales(scale("web", 4))
    await world.control.reconcile(WEB)
    assert world.ready() is None
    world.clusters()
    await world.control.reconcile(WEB)
    assert world.ready() == ("False", "ClusterMissing")


async def test_a_cluster_of_another_operator_is_left_to_it() -> None:
    world = World(wave="second")
    world.scales(scale("web", 4))
    world.clusters(cluster(SCALES, status(4, 4, 4)))
    await world.control.reconcile(WEB)
    assert world.ready() is None


async def test_nothing_is_written_twice_and_an_edit_in_between_wins() -> None:
    world = World()
    world.scales(scale("web", 4))
    world.clusters(cluster(SCALES, status(4, 4, 4)))
    await world.control.reconcile(WEB)
    written = world.server.get(KIND, WEB)
    world.listed(written.view(PoolScale))
    await world.control.reconcile(WEB)
    assert world.server.get(KIND, WEB).meta["resourceVersion"] == written.meta["resourceVersion"]
    world.clusters(cluster(SCALES, status(4, 4, 3)))
    world.server.patch(KIND, WEB, {"spec": {"replicas": 8}}, PatchKind.MERGE)
    with pytest.raises(Conflict):
        await world.control.reconcile(WEB)


def test_it_hears_of_changes_and_of_the_end_of_a_rival() -> None:
    run_virtual(hears())


async def hears() -> None:
    world = World()
    world.scales(scale("web", 4), scale("young", 5, created="2026-02-01T00:00:00Z"))
    world.clusters(cluster(SCALES, status(4, 4, 4)))
    task = asyncio.get_running_loop().create_task(world.control.run())
    await asyncio.sleep(5.0)
    assert (world.ready(), world.ready("young")) == (("True", "Applied"), ("False", "Conflict"))
    left = world.server.get(KIND, Key("prod", "young")).view(PoolScale)
    world.listed(left)
    await asyncio.sleep(5.0)
    assert world.ready("young") == ("False", "Resizing")
    await world.control.stop(1.0)
    await task
