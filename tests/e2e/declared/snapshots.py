"""Snapshots in end-to-end tests: taken, kept by a schedule, and restored, with each document found by its id."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stateward.kube.client.client import ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.declared.views import SEARCH_RESTORES, SEARCH_SNAPSHOT_SCHEDULES, SEARCH_SNAPSHOTS
from tests.e2e.clusters import Clusters
from tests.e2e.declared.objects import SearchObjects, applied
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import Client

REPOSITORIES = "/tmp/repositories"  # noqa: S108 - in the pod
DOCUMENTS = 500


@dataclass
class Snapshots:
    """The snapshots, schedules and restores of one cluster."""

    clusters: Clusters
    cluster: str

    async def declare(self, kind: Resource[Any], name: str, **spec: Any) -> None:
        of = {"kind": self.clusters.kind.resource.kind, "name": self.cluster}
        document = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name, "namespace": self.clusters.namespace},
            "spec": {"cluster": of, "repository": "files", **spec},
        }
        await self.clusters.api.apply(kind, self._key(name), document, ApplyOptions("test", force=True))

    async def until(self, kind: Resource[Any], name: str, holds: Callable[[Any], bool], seconds: float = 180.0) -> Any:
        """Wait until something holds of a resource; fails with what it says last."""
        found: Any = None
        try:
            async with asyncio.timeout(seconds):
                while found is None or not holds(found):
                    await asyncio.sleep(0.3)
                    found = await self.clusters.api.get(kind, self._key(name))
        except TimeoutError:
            raise AssertionError(f"{name}: {found and found.status}") from None
        return found

    async def delete(self, kind: Resource[Any], name: str) -> None:
        """Delete a resource, and wait until it is gone."""
        found = await self.clusters.api.get(kind, self._key(name))
        await self.clusters.api.delete(kind, self._key(name), DeleteOptions(Preconditions(found.metadata.uid)))
        async with asyncio.timeout(120):
            try:
                while True:
                    await self.clusters.api.get(kind, self._key(name))
                    await asyncio.sleep(0.3)
            except NotFound:
                return

    def _key(self, name: str) -> Key:
        return Key(self.clusters.namespace, name)


def ready(found: Any) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in found.status.conditions)


def stalled(reason: str) -> Callable[[Any], bool]:
    def holds(found: Any) -> bool:
        return any(
            each.type == "Stalled" and each.status == "True" and each.reason == reason
            for each in found.status.conditions
        )

    return holds


async def write(person: Client, index: str) -> None:
    """Write documents with known ids."""
    for number in range(DOCUMENTS):
        status, answer = await person.ask(f"{index}/_doc/{number}", "PUT", {"number": number})
        assert status == 201, answer


async def require_all(person: Client, index: str) -> None:
    """Require each document, by its id."""
    for number in range(DOCUMENTS):
        status, answer = await person.ask(f"{index}/_doc/{number}")
        assert status == 200, (index, number)
        assert answer["_source"] == {"number": number}


async def save_and_restore(clusters: Clusters, cluster: str, person: Client, operator: OperatorPods) -> None:
    """Require the life of snapshots and restores, while the operator is killed in each of them."""
    body = {"type": "fs", "settings": {"location": f"{REPOSITORIES}/one"}}
    objects, snapshots = SearchObjects(clusters, cluster), Snapshots(clusters, cluster)
    await objects.declare("files", "snapshotRepository/files", body, deletionPolicy="Retain")
    await objects.until("files", applied)
    await write(person, "orders")

    await snapshots.declare(SEARCH_SNAPSHOTS, "by-hand", indices=["orders"])
    await operator.kill()
    taken = await snapshots.until(SEARCH_SNAPSHOTS, "by-hand", ready)
    assert (taken.status.state, taken.status.indices, taken.status.shards.failed) == ("SUCCESS", 1, 0)
    assert taken.status.size_bytes > 0
    status, listed = await person.ask("_snapshot/files/by-hand")
    assert (status, len(listed["snapshots"])) == (200, 1)
    assert listed["snapshots"][0]["metadata"]["stateward.dev/search-snapshot"].endswith("/by-hand")

    await renamed(snapshots, person, operator)
    await replaced(snapshots, person)
    await scheduled(snapshots, person)
    await snapshots.delete(SEARCH_SNAPSHOTS, "by-hand")
    assert (await person.ask("_snapshot/files/by-hand"))[0] == 404


async def renamed(snapshots: Snapshots, person: Client, operator: OperatorPods) -> None:
    """Restore under another name; over the open index it is refused."""
    await snapshots.declare(SEARCH_RESTORES, "over", snapshot="by-hand")
    refused = await snapshots.until(SEARCH_RESTORES, "over", stalled("IndicesExist"))
    assert "orders" in refused.status.activity
    await snapshots.delete(SEARCH_RESTORES, "over")
    words = {"renamePattern": "(.+)", "renameReplacement": "restored-$1"}
    await snapshots.declare(SEARCH_RESTORES, "beside", latest=True, indices=["orders"], **words)
    await operator.kill()
    done = await snapshots.until(SEARCH_RESTORES, "beside", ready)
    assert (done.status.phase, done.status.documents) == ("Done", DOCUMENTS)
    await require_all(person, "restored-orders")


async def replaced(snapshots: Snapshots, person: Client) -> None:
    """Restore over the index: what was deleted is back, and what came later is gone."""
    assert (await person.ask("orders/_doc/0", "DELETE"))[0] == 200
    assert (await person.ask("orders/_doc/later", "PUT", {"number": -1}))[0] == 201
    await snapshots.declare(SEARCH_RESTORES, "instead", snapshot="by-hand", existing="Replace")
    done = await snapshots.until(SEARCH_RESTORES, "instead", ready)
    assert [(each.name, each.replaced, each.documents) for each in done.status.indices] == [("orders", True, DOCUMENTS)]
    await require_all(person, "orders")
    assert (await person.ask("orders/_doc/later"))[0] == 404


async def scheduled(snapshots: Snapshots, person: Client) -> None:
    """Have a snapshot each minute, of which one is kept."""
    every = {"schedule": "* * * * *", "indices": ["orders"], "retention": {"maxCount": 1}}
    await snapshots.declare(SEARCH_SNAPSHOT_SCHEDULES, "minutely", **every)
    first = await snapshots.until(SEARCH_SNAPSHOT_SCHEDULES, "minutely", lambda found: found.status.last_success)
    known = first.status.last_success.name

    def another(found: Any) -> bool:
        return found.status.last_success is not None and found.status.last_success.name != known

    await snapshots.until(SEARCH_SNAPSHOT_SCHEDULES, "minutely", another)
    async with asyncio.timeout(120):
        while (await person.ask(f"_snapshot/files/{known}"))[0] != 404:
            await asyncio.sleep(1)
    await snapshots.delete(SEARCH_SNAPSHOT_SCHEDULES, "minutely")
    status, left = await person.ask("_snapshot/files/_all")
    assert status == 200
    assert "by-hand" in {each["snapshot"] for each in left["snapshots"]}
