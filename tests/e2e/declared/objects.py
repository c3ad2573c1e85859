"""Declared objects in end-to-end tests: stored, awaited, and their life on a real database."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stateward.api.kinds.search_object import SearchObject
from stateward.api.values import conditions
from stateward.kube.client.client import ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.operator.declared.views import SEARCH_OBJECTS
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import Client

BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "component": ("componentTemplate/base", {"template": {"settings": {"number_of_replicas": 0}}}),
    "index-template": ("indexTemplate/logs", {"index_patterns": ["logs-*"], "composed_of": ["base"]}),
    "pipeline": ("ingestPipeline/clean", {"description": "cleans", "processors": []}),
    "settings": ("clusterSettings", {"persistent": {"search.max_buckets": 20000}}),
}
"""Objects that each engine and version has, with or without security, by the name of their resource."""


@dataclass
class SearchObjects:
    """The declared objects of one cluster."""

    clusters: Clusters
    cluster: str

    async def declare(self, name: str, what: str, body: dict[str, Any], **spec: Any) -> None:
        """Store a declared object; `what` is its kind and name, or its path."""
        of = {"kind": self.clusters.kind.resource.kind, "name": self.cluster}
        document = {
            "apiVersion": SEARCH_OBJECTS.api_version,
            "kind": SEARCH_OBJECTS.kind,
            "metadata": {"name": name, "namespace": self.clusters.namespace},
            "spec": {"cluster": of, "path" if what.startswith("/") else "object": what, "body": body, **spec},
        }
        await self.clusters.api.apply(SEARCH_OBJECTS, self._key(name), document, ApplyOptions("test", force=True))

    async def get(self, name: str) -> SearchObject:
        return await self.clusters.api.get(SEARCH_OBJECTS, self._key(name))

    async def until(self, name: str, holds: Callable[[SearchObject], bool], seconds: float = 120.0) -> SearchObject:
        """Wait until something holds of an object; fails with what it says last."""
        found = await self.get(name)
        try:
            async with asyncio.timeout(seconds):
                while not holds(found):
                    await asyncio.sleep(0.3)
                    found = await self.get(name)
        except TimeoutError:
            raise AssertionError(f"{name}: {found.status}") from None
        return found

    async def delete(self, name: str, seconds: float = 120.0) -> None:
        """Delete an object, and wait until it is gone."""
        found = await self.get(name)
        await self.clusters.api.delete(
            SEARCH_OBJECTS, self._key(name), DeleteOptions(Preconditions(found.metadata.uid))
        )
        async with asyncio.timeout(seconds):
            try:
                while True:
                    await self.get(name)
                    await asyncio.sleep(0.3)
            except NotFound:
                return

    def _key(self, name: str) -> Key:
        return Key(self.clusters.namespace, name)


def applied(found: SearchObject) -> bool:
    """Return whether the object is in the database as this generation declares it."""
    seen = found.status.observed_generation == found.metadata.generation
    return seen and any(each.type == "Ready" and each.status == "True" for each in found.status.conditions)


def stalled(reason: str) -> Callable[[SearchObject], bool]:
    """Return a condition: a person is needed, for a reason."""

    def holds(found: SearchObject) -> bool:
        stuck = conditions.stalled(found.status.conditions)
        return stuck is not None and stuck.reason == reason

    return holds


async def live_and_die(
    objects: SearchObjects, bodies: dict[str, tuple[str, dict[str, Any]]], person: Client, operator: OperatorPods
) -> None:
    """Require the whole life of objects: created, left alone, corrected, and gone, while the operator is killed.

    `bodies` has the object and its body by the name of the resource, and `index-template` among them.
    """
    for name, (what, body) in bodies.items():
        await objects.declare(name, what, body)
    for name in bodies:
        await objects.until(name, applied)
    before = {name: (await objects.get(name)).status for name in bodies}

    await operator.kill()
    await asyncio.sleep(10)
    assert {name: (await objects.get(name)).status for name in bodies} == before, "nothing is written again"

    path = bodies["index-template"][0].replace("indexTemplate/", "_index_template/")
    assert (await person.ask(path, "DELETE"))[0] == 200
    await operator.kill()  # The next one compares everything at its start.
    async with asyncio.timeout(120):
        while (await person.ask(path))[0] != 200:
            await asyncio.sleep(0.5)

    for name in reversed(bodies):
        await objects.delete(name)
    assert (await person.ask(path))[0] == 404
