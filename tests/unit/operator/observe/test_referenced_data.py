"""Data of others is read when a watch shows a change, live before what destroys, and otherwise not again."""

import asyncio
import base64
import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from stateward.kube.cache.store import Store
from stateward.kube.client.client import ApplyOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.observe.referenced_data import ReferencedData
from stateward.operator.restarts.views import SourceView
from stateward.packages.restarts.dependencies import SECRET
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store as Objects
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock
from tests.support.requests import counted_requests
from tests.unit.engines.search_clusters import cluster
from tests.unit.operator.observe.test_known_data import ENV, STORE

HOME = cluster().metadata.namespace


class Stage:
    """An API server with a Secret, and what is known of it; the test says what the watch shows."""

    def __init__(self, *, labelled: bool = False) -> None:
        clock = WorldClock(asyncio.get_running_loop())
        objects = Objects(clock.monotonic, clock.now)
        self.api = WorldApi(Server(objects), ChangeSignal(objects), Network(random.Random(0), lambda _: None))  # noqa: S311
        self.data = ReferencedData(self.api, HOME, clock, labelled=labelled)
        self.watch: Store[SourceView] = Store("secrets")
        self.heard: list[Key] = []
        self.data.follow({SECRET: self.watch}, self.heard.append)

    async def put(self, name: str, value: str, **more: Any) -> None:
        data = {"a": base64.b64encode(value.encode()).decode()}
        meta = {"name": name, "namespace": HOME, **more}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
        await self.api.apply(kinds.SECRETS, Key(HOME, name), body, ApplyOptions("person"))

    async def show(self, *names: str) -> None:
        found = [await self.api.get(kinds.SECRETS.raw(), Key(HOME, name)) for name in names]
        self.watch.feed().replace([msgspec.convert(each, SourceView, strict=False) for each in found], "1")

    async def known(self, *, live: bool = False, **spec: Any) -> ClusterObjects:
        existing = ClusterObjects(cluster(**spec), (), (), (), (), {}, {}, live=live)
        return (await self.data.known(existing))[0]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return counted_requests(monkeypatch)


@pytest.fixture
async def stage(calls: Counter[str]) -> Stage:
    made = Stage()
    await made.api.create(kinds.NAMESPACES, {"metadata": {"name": HOME}})
    for name in ("words", "store"):
        await made.put(name, "1")
    await made.show("words", "store")
    await made.known(podTemplate=ENV)
    calls.clear()
    return made


async def test_data_is_read_again_only_when_the_watch_shows_another_version(stage: Stage, calls: Counter[str]) -> None:
    first = await stage.known(podTemplate=ENV)
    assert not calls
    await stage.put("words", "2")
    await stage.show("words", "store")
    calls.clear()
    second = await stage.known(podTemplate=ENV)
    assert calls == {"get /secrets": 1}
    assert first.cluster.status.data_digests != second.cluster.status.data_digests


async def test_a_live_observation_reads_it_although_the_watch_shows_no_change(
    stage: Stage, calls: Counter[str]
) -> None:
    await stage.put("words", "2")
    calls.clear()
    cached = await stage.known(podTemplate=ENV)
    assert not calls
    live = await stage.known(podTemplate=ENV, live=True)
    assert calls == {"get /secrets": 1}
    assert cached.cluster.status.data_digests != live.cluster.status.data_digests


@pytest.mark.parametrize(
    ("spec", "name"), [({"podTemplate": ENV}, "words"), ({"secureSettings": STORE}, "store"), ({}, "")]
)
async def test_a_cluster_is_woken_by_what_it_uses_and_by_nothing_else(
    stage: Stage, spec: dict[str, Any], name: str
) -> None:
    await stage.known(**spec)
    stage.heard.clear()
    for changed in ("words", "store"):
        await stage.put(changed, "2")
        await stage.show("words", "store")
    assert len(stage.heard) == bool(name)


ALLOWED = {"labels": {"stateward.dev/allowed-for-pods": "logs"}}


@pytest.fixture
async def strict() -> Stage:
    """A stage whose operator requires the label."""
    made = Stage(labelled=True)
    await made.api.create(kinds.NAMESPACES, {"metadata": {"name": HOME}})
    return made


@pytest.mark.parametrize("more", [{}, {"labels": {"stateward.dev/allowed-for-pods": "other"}}])
async def test_of_a_secret_that_is_not_allowed_nothing_is_known(strict: Stage, more: dict[str, Any]) -> None:
    """The author of a cluster may not read it: even a digest would tell whether its content is what they guess."""
    for name in ("words", "store"):
        await strict.put(name, "1", **more)
    await strict.show("words", "store")
    found = await strict.known(podTemplate=ENV, secureSettings=STORE)
    assert (found.cluster.status.data_digests, found.keystore) == (None, None)


async def test_the_label_makes_a_secret_known_and_without_it_the_last_state_stays(strict: Stage) -> None:
    await strict.put("words", "1", **ALLOWED)
    await strict.show("words")
    first = (await strict.known(podTemplate=ENV)).cluster.status.data_digests
    assert first is not None
    await strict.put("words", "2")
    await strict.show("words")
    status = {"dataDigests": first}
    assert (await strict.known(status=status, podTemplate=ENV)).cluster.status.data_digests == first
    await strict.put("words", "2", **ALLOWED)
    await strict.show("words")
    assert (await strict.known(status=status, podTemplate=ENV)).cluster.status.data_digests != first


@pytest.mark.parametrize(("uid", "known"), [("mine", True), ("other", False)])
async def test_certificates_that_the_operator_made_for_the_cluster_need_no_label(
    strict: Stage, uid: str, known: bool
) -> None:
    owner = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "name": "logs", "controller": True}
    own = cluster().metadata.uid
    await strict.put("logs-tls", "1", ownerReferences=[{**owner, "uid": own if uid == "mine" else "x"}])
    await strict.show("logs-tls")
    env = {"containers": [{"name": "opensearch", "envFrom": [{"secretRef": {"name": "logs-tls"}}]}]}
    found = (await strict.known(podTemplate={"spec": env})).cluster.status.data_digests
    assert (found is not None) is known
