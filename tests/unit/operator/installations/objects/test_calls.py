"""How often the server is asked: about as often as there are objects, and never less than it takes to be sure."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from stateward.kube.cache.reflector import ReflectorOptions
from stateward.kube.client.client import ApplyOptions, DeleteOptions, ListOptions, Page, Preconditions
from stateward.kube.objects.metadata import Key, PartialObject, T
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.installations.objects.applier import Applier, ObjectTools
from stateward.operator.installations.objects.cached_objects import CachedObjects
from stateward.operator.installations.objects.faults import HeldError
from stateward.operator.installations.objects.kinds import Raw
from stateward.operator.installations.objects.views import INSTALLATIONS
from stateward.operator.installations.objects.watches import Watches
from stateward.operator.installations.objects.write_memory import WriteMemory
from stateward.packages.format.reading import read_package
from stateward.packages.format.yamltext import to_yaml
from stateward.packages.rendering.rendering import Use, places
from stateward.packages.restarts.digests import RootKey
from stateward.simulation.apiserver.client import WorldApi
from tests.unit.operator.installations.world import HOME, KnownKinds, World

MAPS = tuple(f"m{number}" for number in range(8))


class Counting(WorldApi):
    """A client that counts."""

    calls: Counter[str]

    async def get(self, resource: Resource[T], key: Key) -> T:
        self.calls[f"get {resource.plural}"] += 1
        return await super().get(resource, key)

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        self.calls[f"list {resource.plural}"] += 1
        return await super().list(resource, selection, options)

    async def apply(self, resource: Resource[T], key: Key, body: Any, options: ApplyOptions) -> T:
        self.calls[f"apply {resource.plural}"] += 1
        return await super().apply(resource, key, body, options)


@pytest.fixture
async def world() -> World:
    return World()


def counting(world: World) -> Counting:
    made = Counting(world.server, world.change_signal, world.network, "stateward")
    made.calls = Counter()
    return made


def config(name: str) -> str:
    of = ".Params.LEVEL" if name == "m0" else '"same"'
    return f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: "{{{{ {of} }}}}"}}\n'


def files(maps: tuple[str, ...] = MAPS, version: str = "1.0.0") -> dict[str, bytes]:
    """Return a package of some ConfigMaps and a Deployment that uses the first of them."""
    container = {"name": "c", "image": "none:1", "envFrom": [{"configMapRef": {"name": "m0"}}]}
    spec = {"selector": {"matchLabels": {"app": "w"}}, "template": {"spec": {"containers": [container]}}}
    work = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": spec}
    texts = {f"{name}.yaml": config(name) for name in maps} | {"w.yaml": to_yaml(work)}
    task = {"name": "all", "kind": "Apply", "spec": {"resources": sorted(texts)}}
    plan = {"phases": [{"name": "main", "steps": [{"name": "all", "tasks": ["all"]}]}]}
    head = {"apiVersion": "kudo.dev/v1beta1", "name": "made", "operatorVersion": version}
    found = {f"templates/{name}": text for name, text in texts.items()}
    found["operator.yaml"] = to_yaml(head | {"tasks": [task], "plans": {"deploy": plan}})
    found["params.yaml"] = to_yaml({"parameters": [{"name": "LEVEL", "default": "1"}]})
    return {path: text.encode() for path, text in found.items()}


async def test_a_step_that_waits_is_not_made_once_more_and_is_read_when_it_has_changed(world: World) -> None:
    world.package("made-1", files())
    world.healthy = False
    world.install("made-1")
    api = counting(world)
    async with world.operator(api):
        await world.until(lambda: "Deployment" in world.status().get("activity", ""))
        await asyncio.sleep(1.0)
        assert {n: c for n, c in api.calls.items() if n.startswith("apply")} == {
            "apply configmaps": len(MAPS),
            "apply deployments": 1,
        }
        api.calls.clear()
        await asyncio.sleep(30.0)
        assert not api.calls, "the watch shows that its status has not changed either"
        world.roll_out()
        await world.until(world.ready)
    assert api.calls == {"get deployments": 1}


async def test_a_change_asks_for_what_it_changes_and_restarts_once(world: World) -> None:
    world.package("made-1", files())
    world.install("made-1")
    api = counting(world)
    async with world.operator(api):
        await world.until(world.ready)
        await asyncio.sleep(5.0)
        api.calls.clear()
        world.install("made-1", LEVEL="2")
        await world.until(world.ready)
        await asyncio.sleep(30.0)
    assert world.rollouts == {"w": 1}
    assert api.calls["apply configmaps"] == 1
    assert not [name for name in api.calls if name.startswith("list")]
    assert api.calls["get configmaps"] == 0
    assert api.calls.total() <= 8, api.calls


async def test_objects_that_are_no_longer_rendered_are_pruned_by_their_creator_and_its_successor(
    world: World,
) -> None:
    world.package("made-1", files())
    world.package("made-2", files(MAPS[:6], "1.1.0"))
    world.package("made-3", files(MAPS[:4], "1.2.0"))
    world.install("made-1")
    async with world.operator():
        await world.until(world.ready)
        world.install("made-2")
        await world.until(world.ready)
    assert [name for name in MAPS if world.get("ConfigMap", name)] == list(MAPS[:6])
    world.install("made-3")
    async with world.operator():
        await world.until(world.ready)
    assert [name for name in MAPS if world.get("ConfigMap", name)] == list(MAPS[:4])


@dataclass(frozen=True, slots=True)
class Stale(CachedObjects):
    """Caches that still show what is gone."""

    shown: PartialObject

    def ours(self, kind: Raw, key: Key) -> PartialObject:
        return self.shown


async def test_what_a_user_has_put_in_the_place_of_an_object_is_not_overwritten(world: World) -> None:
    """The caches have not received it: the object is applied by its UID, which has changed."""
    world.package("made-1", files())
    world.install("made-1")
    async with world.operator():
        await world.until(world.ready)
    before = world.there("ConfigMap", "m0")
    meta = before["metadata"]
    world.server.delete("/configmaps", Key(HOME, "m0"), DeleteOptions(Preconditions(meta["uid"])))
    world.server.create("/configmaps", HOME, {"metadata": {"name": "m0"}, "data": {"a": "mine"}})

    live = await world.api.get(INSTALLATIONS, Key(HOME, "web"))
    shown = msgspec.convert({"metadata": meta}, PartialObject)
    use = Use(read_package(files()), "web", HOME, {"LEVEL": "3"})
    watches = Watches(world.api, KnownKinds(), ("",), ReflectorOptions(), lambda _: None)
    cached_objects = Stale(watches, WriteMemory(), Key(HOME, "web"), shown)
    applier = Applier(ObjectTools(world.api, KnownKinds(), RootKey(b"k" * 32)), live, cached_objects)
    place = next(iter(places(use.package, "deploy")))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m0"}, "data": {"a": "3"}}
    with pytest.raises(HeldError, match="already exists"):
        await applier.make(use, place, body)
    assert world.there("ConfigMap", "m0")["data"] == {"a": "mine"}


async def test_what_others_may_scale_is_read_before_it_is_applied(world: World) -> None:
    world.package("made-1", files())
    world.install("made-1")
    async with world.operator():
        await world.until(world.ready)
    made = world.there("ConfigMap", "m1")
    api, use = counting(world), Use(read_package(files()), "web", HOME)
    watches = Watches(api, KnownKinds(), ("",), ReflectorOptions(), lambda _: None)
    shown = msgspec.convert({"metadata": made["metadata"]}, PartialObject)
    live = await world.api.get(INSTALLATIONS, Key(HOME, "web"))
    cached_objects = Stale(watches, WriteMemory(), Key(HOME, "web"), shown)
    applier = Applier(ObjectTools(api, KnownKinds(), RootKey(b"k" * 32)), live, cached_objects)
    place = next(iter(places(use.package, "deploy")))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m1"}, "data": {"a": "4"}}
    await applier.make(use, place, body)
    assert api.calls == {"apply configmaps": 1}
    await applier.make(use, place, body | {"spec": {"replicas": 2}})
    assert api.calls == {"get configmaps": 1, "apply configmaps": 2}
