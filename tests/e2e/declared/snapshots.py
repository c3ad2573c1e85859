"""Snapshots in end-to-end tests: taken, kept by a schedule, and restored, with each document found by its id."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.api.values import conditions
from stateward.api.values.names import LABEL_ALLOWED
from stateward.kube.client.client import ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.declared.views import SEARCH_RESTORES, SEARCH_SNAPSHOT_SCHEDULES, SEARCH_SNAPSHOTS
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.declared.objects import SearchObjects, applied
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import Client, client
from tests.e2e.secured import ready as secured

REPOSITORIES = "/tmp/repositories"  # noqa: S108 - in the pod
USER = 1000
"""The user of the database in its pods."""
SHARED = "/mnt/repositories"
"""Where members of one cluster have the same directory."""
LARGER = {"limits": {"memory": "1Gi"}, "requests": {"memory": "768Mi", "cpu": "50m"}}
"""One member with system indices, a data stream and snapshots: Elasticsearch takes more than others in tests."""
DOCUMENTS = 500
CONTAINERS = {OPENSEARCH.resource.kind: "opensearch", ELASTICSEARCH.resource.kind: "elasticsearch"}
"""The database's container in its pods, by the kind of cluster."""


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
        stuck = conditions.stalled(found.status.conditions)
        return stuck is not None and stuck.reason == reason

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

    await snapshots.declare(SEARCH_SNAPSHOTS, "by-hand", indices=["orders"], deletionPolicy="Delete")
    await operator.kill()
    taken = await snapshots.until(SEARCH_SNAPSHOTS, "by-hand", ready)
    assert (taken.status.state, taken.status.indices, taken.status.shards.failed) == ("SUCCESS", 1, 0)
    assert taken.status.size_bytes > 0
    status, listed = await person.ask("_snapshot/files/by-hand")
    assert (status, len(listed["snapshots"])) == (200, 1)
    assert listed["snapshots"][0]["metadata"]["stateward.dev/search-snapshot"].endswith("/by-hand")

    await everything(snapshots, person)
    await unwritable(snapshots, person)
    await renamed(snapshots, person, operator)
    await replaced(snapshots, person)
    await scheduled(snapshots, person)
    await snapshots.delete(SEARCH_SNAPSHOTS, "by-hand")
    assert (await person.ask("_snapshot/files/by-hand"))[0] == 404


async def everything(snapshots: Snapshots, person: Client) -> None:
    """Without a list, data streams are saved, and what belongs to the database is not."""
    template = {"index_patterns": ["events"], "data_stream": {}, "priority": 500}
    assert (await person.ask("_index_template/events", "PUT", template))[0] == 200
    assert (await person.ask("events/_doc", "POST", {"@timestamp": "2026-11-25T03:00:00Z"}))[0] == 201
    status, resolved = await person.ask("_resolve/index/*?expand_wildcards=all")
    assert status == 200
    assert any(each["name"].startswith(".") for each in resolved["indices"])
    await snapshots.declare(SEARCH_SNAPSHOTS, "everything")
    await snapshots.until(SEARCH_SNAPSHOTS, "everything", ready)
    status, listed = await person.ask("_snapshot/files/everything")
    assert status == 200
    (found,) = listed["snapshots"]
    assert found["data_streams"] == ["events"]
    assert "orders" in found["indices"]
    assert any(each.startswith(".ds-events-") for each in found["indices"])
    assert not [each for each in found["indices"] if each.startswith(".") and not each.startswith(".ds-events-")]
    await snapshots.delete(SEARCH_SNAPSHOTS, "everything")
    assert (await person.ask("_snapshot/files/everything", "DELETE"))[0] == 200, "it stays by default"


async def unwritable(snapshots: Snapshots, person: Client) -> None:
    """A repository that may only be read, and one that is not there, are told as such."""
    settings = {"location": f"{REPOSITORIES}/one", "readonly": True}
    assert (await person.ask("_snapshot/archive", "PUT", {"type": "fs", "settings": settings}))[0] == 200
    await snapshots.declare(SEARCH_SNAPSHOTS, "unwritten", repository="archive")
    await snapshots.until(SEARCH_SNAPSHOTS, "unwritten", stalled("RepositoryFails"))
    await snapshots.declare(SEARCH_SNAPSHOTS, "nowhere", repository="missing")
    await snapshots.until(SEARCH_SNAPSHOTS, "nowhere", stalled("Refused"))
    for name in ("unwritten", "nowhere"):
        await snapshots.delete(SEARCH_SNAPSHOTS, name)


async def renamed(snapshots: Snapshots, person: Client, operator: OperatorPods) -> None:
    """Restore under another name; over the open index it is refused."""
    await snapshots.declare(SEARCH_RESTORES, "over", snapshot="by-hand")
    refused = await snapshots.until(SEARCH_RESTORES, "over", stalled("IndicesExist"))
    assert "orders" in refused.status.activity
    await snapshots.delete(SEARCH_RESTORES, "over")
    words = {"renamePattern": "(.+)", "renameReplacement": "restored-$1"}
    await snapshots.declare(SEARCH_RESTORES, "beside", snapshot="by-*", indices=["orders"], **words)
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


async def share(clusters: Clusters, path: Path) -> str:
    """Make a volume of a directory of the machine, for all members on all nodes; returns the name of its claim."""
    name, spec = f"repositories-{clusters.namespace}", {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {**spec, "capacity": {"storage": "1Gi"}, "hostPath": {"path": str(path)}},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": {LABEL_ALLOWED: "true"}},
        "spec": {**spec, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}},
    }
    await clusters.api.create(kinds.VOLUMES, volume)
    await clusters.api.create(kinds.CLAIMS, claim, namespace=clusters.namespace)
    return name


async def with_shared(clusters: Clusters, path: Path) -> dict[str, Any]:
    """Return the part of a cluster's spec by which all members have one directory for repositories."""
    mount = {"name": "repositories", "mountPath": SHARED}
    volume = {"name": "repositories", "persistentVolumeClaim": {"claimName": await share(clusters, path)}}
    container = {"name": CONTAINERS[clusters.kind.resource.kind], "volumeMounts": [mount]}
    return {
        "podTemplate": {"spec": {"containers": [container], "volumes": [volume]}},
        "config": {"path.repo": [SHARED]},
    }


def to_lose(version: str, manager: str) -> dict[str, Any]:
    """Return the spec of a cluster that is lost, but for where its repository is."""
    return {
        "version": version,
        "pools": [pool("nodes", 3, manager, "data", "ingest")],
        "security": {"enabled": True},
        "volumes": {"whenDeleted": "Delete"},
    }


async def formed(clusters: Clusters, spec: dict[str, Any], repository: dict[str, Any]) -> SearchObjects:
    """Form a cluster that declares a repository; returns its objects, the repository not yet Ready."""
    objects = SearchObjects(clusters, "lost")
    await clusters.apply("lost", **spec)
    await clusters.until("lost", secured, seconds=600)
    await objects.declare("files", "snapshotRepository/files", repository, deletionPolicy="Retain")
    return objects


async def lost_and_restored(
    clusters: Clusters, sandbox: Sandbox, operator: OperatorPods, spec: dict[str, Any], objects: SearchObjects
) -> None:
    """Require that a new cluster gets all documents, from manifests and what the repository has."""
    snapshots = Snapshots(clusters, "lost")
    await objects.until("files", applied, seconds=600)
    first = await clusters.until("lost", secured, seconds=600)
    async with client(sandbox, clusters, "lost") as person:
        settings = {"index.number_of_shards": 3, "index.number_of_replicas": 1}
        made = {"settings": settings, "aliases": {"current": {"is_write_index": True}}}
        assert (await person.ask("orders", "PUT", made))[0] == 200
        await write(person, "orders")
    await snapshots.declare(SEARCH_SNAPSHOTS, "before")
    taken = await snapshots.until(SEARCH_SNAPSHOTS, "before", ready)
    assert (taken.status.state, taken.status.shards.failed) == ("SUCCESS", 0)

    await destroyed(clusters, "lost")
    await clusters.apply("lost", **spec, bootstrap={"fromSnapshot": {"repository": "files", "snapshot": "bef*"}})
    await clusters.until("lost", lambda c: c.status.bootstrap is not None and c.status.bootstrap.formed, seconds=600)
    await operator.kill()
    second = await clusters.until("lost", secured, seconds=600)
    assert second.status.cluster_uuid not in ("", first.status.cluster_uuid)
    assert second.status.bootstrap is not None
    begun = (second.status.bootstrap.restored_snapshot, second.status.bootstrap.restored_documents)
    assert begun == ("before", DOCUMENTS), "Ready only when all documents are there"
    done = await snapshots.until(SEARCH_RESTORES, "lost-bootstrap", ready, seconds=30)
    assert [(each.name, each.documents) for each in done.status.indices] == [("orders", DOCUMENTS)]
    async with client(sandbox, clusters, "lost") as person:
        await require_all(person, "orders")
        status, aliases = await person.ask("_alias/current")
        assert (status, aliases) == (200, {"orders": {"aliases": {"current": {"is_write_index": True}}}})
        assert (await person.ask("current/_doc/later", "PUT", {"number": -1}))[0] == 201
    still = await snapshots.until(SEARCH_SNAPSHOTS, "before", ready)
    assert still.status.cluster_uuid == first.status.cluster_uuid


async def upgraded_after_a_snapshot(clusters: Clusters, sandbox: Sandbox, path: Path) -> None:
    """Require that an upgrade waits for a snapshot with all indices, and begins by itself once there is one."""
    spec: dict[str, Any] = {
        "pools": [pool("nodes", 3, "cluster_manager", "data", "ingest")],
        "security": {"enabled": False},
        "update": {"snapshotBeforeUpgrade": {"repository": "files", "maxAge": "1h"}},
        **await with_shared(clusters, path),
    }
    objects, snapshots = SearchObjects(clusters, "gated"), Snapshots(clusters, "gated")
    await clusters.apply("gated", version="2.17.1", **spec)
    await clusters.until("gated", settled, seconds=600)
    body = {"type": "fs", "settings": {"location": f"{SHARED}/one"}}
    await objects.declare("files", "snapshotRepository/files", body, deletionPolicy="Retain")
    await objects.until("files", applied)
    async with Client.plain(sandbox, f"gated.{clusters.namespace}.svc") as person:
        await write(person, "orders")
        await write(person, "others")
    before = {name: pod.metadata.uid for name, pod in (await clusters.pods("gated")).items()}
    await clusters.apply("gated", version="2.19.5", **spec)
    await clusters.until("gated", waits_for("there is none"))
    await snapshots.declare(SEARCH_SNAPSHOTS, "some", indices=["orders"])
    await snapshots.until(SEARCH_SNAPSHOTS, "some", ready)
    await clusters.until("gated", waits_for("some does not have others"))
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods("gated")).items()} == before
    await snapshots.declare(SEARCH_SNAPSHOTS, "all")
    done = await clusters.until("gated", lambda c: settled(c) and c.status.version == "2.19.5", seconds=600)
    assert not done.status.waiting
    async with Client.plain(sandbox, f"gated.{clusters.namespace}.svc") as person:
        await require_all(person, "orders")
        await require_all(person, "others")


def waits_for(text: str) -> Callable[[Cluster], bool]:
    """Return a condition: an upgrade waits for a snapshot, and says this."""
    return lambda cluster: any(w.reason == "SnapshotRequired" and text in w.message for w in cluster.status.waiting)


async def destroyed(clusters: Clusters, name: str) -> None:
    """Delete a cluster, and wait until its pods and volumes are gone."""
    found = await clusters.get(name)
    key = Key(clusters.namespace, name)
    await clusters.api.delete(clusters.kind.resource, key, DeleteOptions(Preconditions(found.metadata.uid)))
    labels = f"stateward.dev/cluster={name}"
    async with asyncio.timeout(300):
        while True:
            pods = await clusters.api.list(kinds.PODS, Selection(clusters.namespace, labels=labels))
            claims = await clusters.api.list(kinds.CLAIMS, Selection(clusters.namespace, labels=labels))
            if not pods.items and not claims.items:
                return
            await asyncio.sleep(1)
