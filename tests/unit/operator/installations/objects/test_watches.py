"""The watch of a kind follows the versions in which the server serves it."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from msgspec.structs import replace

from stateward.kube.cache.reflector import ReflectorOptions
from stateward.kube.client.client import Page
from stateward.kube.objects.errors import UnknownResource
from stateward.kube.objects.metadata import Key, ObjectMeta, PartialObject
from stateward.kube.objects.watching import Added, Bookmark, Marked
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.installations.objects.kinds import ServedKinds
from stateward.operator.installations.objects.watches import PATIENCE, Watches
from stateward.packages.plans.steps import ANNOTATION_PLAN, LABEL_PART_OF, set_id

THING = ("example.dev", "Thing")
HOME = Key("prod", "web")
SET = set_id("web", "prod")


class Server:
    """Serves things in some versions; `names` exist, in namespace prod or in none."""

    def __init__(self, *versions: str, namespaced: bool = True) -> None:
        self.versions = versions
        self.home = "prod" if namespaced else ""
        self.names = ["a"]
        self.watched: list[str] = []
        self.broken = asyncio.Event()

    async def request(self, request: Any) -> bytes:
        await asyncio.sleep(0)
        if request.path == "/apis":
            versions = [{"version": version} for version in self.versions]
            return msgspec.json.encode({"groups": [{"name": "example.dev", "versions": versions}] if versions else []})
        if request.path.rpartition("/")[2] not in self.versions:
            raise UnknownResource(f"no {request.path}")
        return msgspec.json.encode({"resources": [{"name": "things", "kind": "Thing", "namespaced": bool(self.home)}]})

    async def watch(self, resource: Any, selection: Any, _start: Any) -> AsyncGenerator[Any]:
        self.watched.append(f"{selection.namespace}/{resource.version}")
        if resource.version not in self.versions:
            raise UnknownResource("404 page not found")
        for name in self.names if selection.namespace == self.home else ():
            meta = ObjectMeta(name=name, namespace=self.home, uid=name, resource_version="1")
            by_plan = replace(meta, labels={LABEL_PART_OF: SET}, annotations={ANNOTATION_PLAN: "deploy"})
            yield Added(PartialObject(metadata=by_plan))
        ended = {"k8s.io/initial-events-end": "true"}
        yield Bookmark(Marked(metadata=ObjectMeta(resource_version="5", annotations=ended)))
        self.broken.clear()
        await self.broken.wait()

    async def list(self, resource: Any, _selection: Any, _options: Any) -> Page[Any]:
        """Return the present version, which a watch compares that broke."""
        if resource.version not in self.versions:
            raise UnknownResource("404 page not found")
        return Page((), "5")

    def serve(self, *versions: str) -> None:
        """Serve these versions from now on; streams end."""
        self.versions = versions
        self.broken.set()


def watching(server: Any, *namespaces: str) -> Watches:
    options = ReflectorOptions(clock=VirtualClock())
    return Watches(server, ServedKinds(server, VirtualClock()), namespaces, options, lambda _: None)


def found(watches: Watches) -> list[str] | None:
    objects = watches.of(HOME, [THING])
    return None if objects is None else [each.metadata.name for each in objects.get(THING, ())]


async def test_a_kind_is_watched_in_another_version_when_the_first_is_not_served_any_longer() -> None:
    server: Any = Server("v1beta1")
    watches = watching(server, "prod", "test")
    async with asyncio.TaskGroup() as group:
        watches.use(HOME, frozenset({THING}), group)
        await asyncio.sleep(20)
        assert found(watches) == ["a"]
        server.names = ["b"]
        server.serve("v1")
        await asyncio.sleep(30)
        assert "prod/v1" in server.watched
        assert found(watches) == ["b"]
        watches.stop()


async def test_a_kind_that_goes_is_unknown_until_it_comes_back() -> None:
    server: Any = Server("v1")
    watches = watching(server, "prod")
    async with asyncio.TaskGroup() as group:
        watches.use(HOME, frozenset({THING}), group)
        await asyncio.sleep(20)
        server.serve()
        await asyncio.sleep(20)
        assert found(watches) is None
        assert watches.all_of(HOME, [THING]) is None
        await asyncio.sleep(PATIENCE)
        assert found(watches) == []
        asked = len(server.watched)
        await asyncio.sleep(3600)
        assert len(server.watched) == asked
        server.serve("v1")
        await asyncio.sleep(61)
        assert found(watches) == ["a"]
        watches.stop()


async def test_objects_of_no_namespace_belong_to_their_installation() -> None:
    server: Any = Server("v1", namespaced=False)
    watches = watching(server, "prod", "test")
    async with asyncio.TaskGroup() as group:
        watches.use(HOME, frozenset({THING}), group)
        await asyncio.sleep(20)
        assert found(watches) == ["a"]
        watches.stop()
