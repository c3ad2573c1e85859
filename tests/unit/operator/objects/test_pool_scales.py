"""Which PoolScale a pool follows, and what counts when they cannot be read."""

import random
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.scaling.pool_scale import PoolScale
from stateward.kube.client.client import ListOptions, Page
from stateward.kube.objects.errors import ApiError, Forbidden, Unavailable, UnknownResource
from stateward.kube.objects.metadata import ObjectMeta
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.watching import Unreadable
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.objects.caches import Caches, Objects
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH
from stateward.operator.objects.pool_scales import POOL_SCALES, asked, asked_live
from stateward.planning.model.observation import Asked
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from tests.unit.engines.search_clusters import SPEC, cluster, with_pool

KIND = "stateward.dev/poolscales"


def scale(
    name: str, replicas: int = 4, pool: str = "hot", created: str = "2026-01-01T00:00:00Z", **more: Any
) -> PoolScale:
    meta = {"name": name, "namespace": "prod", "uid": f"u-{name}", "creationTimestamp": created, **more}
    of = {"kind": "OpenSearchCluster", "name": "logs"}
    document = {"metadata": meta, "spec": {"cluster": of, "pool": pool, "replicas": replicas}}
    return msgspec.convert(document, PoolScale)


def test_the_oldest_one_of_a_pool_counts() -> None:
    scales = [scale("young", 9, created="2026-02-01T00:00:00Z"), scale("old", 4), scale("other", 2, pool="cold")]
    assert asked(scales) == {"hot": Asked(4, "old"), "cold": Asked(2, "other")}


def test_one_that_is_being_deleted_does_not_count() -> None:
    going = scale("old", 4, deletionTimestamp="2026-03-01T00:00:00Z")
    assert asked([going, scale("young", 9, created="2026-02-01T00:00:00Z")]) == {"hot": Asked(9, "young")}
    assert asked([going]) == {}


class Unhelpful(WorldApi):
    """An API server that refuses to list PoolScales."""

    error: ApiError | None = None
    garbled = False

    async def list(
        self, resource: Resource[Any], selection: Selection, options: ListOptions | None = None
    ) -> Page[Any]:
        if self.error is not None:
            raise self.error
        page = await super().list(resource, selection, options)
        unreadable = (Unreadable(ObjectMeta(name="odd"), "no number"),) if self.garbled else ()
        return Page(page.items, page.resource_version, "", unreadable)


@pytest.fixture
async def api() -> Unhelpful:
    store = Store(VirtualClock().monotonic, VirtualClock().now)
    server = Server(store)
    server.create("/namespaces", "", {"metadata": {"name": "prod"}})
    server.create(KIND, "prod", msgspec.to_builtins(scale("web", 5)) | {"status": {}})
    return Unhelpful(server, ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311


SCALES = with_pool("hot", scaling={"min": 2, "max": 9})


async def test_a_live_read_finds_what_is_asked(api: Unhelpful) -> None:
    assert await asked_live(api, "OpenSearchCluster", cluster(SCALES)) == {"hot": Asked(5, "web")}
    assert await asked_live(api, "ElasticsearchCluster", cluster(SCALES)) == {}


async def test_without_a_pool_that_follows_them_none_is_read(api: Unhelpful) -> None:
    api.error = Unavailable("down")
    rules = with_pool("hot", scaling={"min": 2, "max": 9, "rules": [{"measure": "CPU", "above": 70, "below": 40}]})
    for spec in (SPEC, rules):
        assert await asked_live(api, "OpenSearchCluster", cluster(spec)) == {}


@pytest.mark.parametrize("error", [Forbidden("no right"), UnknownResource("no such kind")])
async def test_what_may_not_be_read_is_not_known(api: Unhelpful, error: ApiError) -> None:
    api.error = error
    assert await asked_live(api, "OpenSearchCluster", cluster(SCALES)) is None


async def test_one_that_cannot_be_read_makes_all_unknown(api: Unhelpful) -> None:
    api.garbled = True
    assert await asked_live(api, "OpenSearchCluster", cluster(SCALES)) is None


async def test_an_api_server_that_does_not_answer_is_no_answer(api: Unhelpful) -> None:
    api.error = Unavailable("down")
    with pytest.raises(Unavailable):
        await asked_live(api, "OpenSearchCluster", cluster(SCALES))


async def test_a_cache_that_is_not_complete_knows_nothing_and_wakes_only_its_own_clusters() -> None:
    objects, mine, others = Objects(), list[Any](), list[Any]()
    caches, elsewhere = Caches(OPENSEARCH, objects), Caches(ELASTICSEARCH, objects)
    caches.on_change(mine.append)
    elsewhere.on_change(others.append)
    caches.clusters.feed().replace([cluster(SCALES)], "5")
    key = caches.clusters.keys()[0]
    objects.scales.wrote(scale("web", 5))
    assert (mine[-1], others) == (key, [])
    known = caches.cluster_objects(key)
    assert known is not None
    assert known.asked is None
    objects.scales.feed().replace([scale("web", 5)], "7")
    known = caches.cluster_objects(key)
    assert known is not None
    assert known.asked == {"hot": Asked(5, "web")}
    assert POOL_SCALES.plural == "poolscales"
