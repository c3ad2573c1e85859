"""`python -m bench.clusters.operated KUBECONFIG`: the operator in a process of its own, with a counter of writes.

Two things differ from `stateward operator`: each cluster's database is asked at the address of its stand-in, and what
goes to the API server is counted on its way. `/report` beside the metrics tells the counts; the port is said first.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import msgspec
from aiohttp import web

from bench.clusters import fleet
from stateward.api.kinds.cluster import Cluster
from stateward.engines import opensearch
from stateward.engines.connection.base import Target
from stateward.engines.connection.http import HttpTransport, open_session
from stateward.kube.access.config import connect
from stateward.kube.cache.deltas import Delta
from stateward.kube.client.client import ApplyOptions, Body, DeleteOptions, PatchKind
from stateward.kube.client.http_client import HttpApi
from stateward.kube.election.lease import LeaderElection
from stateward.kube.election.lease_record import LeaseTiming
from stateward.kube.objects.metadata import Key, T
from stateward.kube.objects.resource import Resource
from stateward.operator.assembly import Operator
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.operator.runtime import logs
from stateward.operator.runtime.health import health_routes, metrics_routes
from stateward.operator.runtime.listener import serve
from stateward.operator.runtime.memory import return_large_blocks
from stateward.operator.runtime.options import OperatorOptions
from stateward.operator.runtime.signals import until_signalled


class Report(msgspec.Struct, frozen=True):
    """What the operator has done and holds: counts since its start, except where it says now."""

    writes: dict[str, int]
    reconciliations: int
    reactions: list[float]
    """Seconds from the event of an edited cluster to the first write for it, one for each edit."""
    objects: dict[str, int]
    """Objects in the caches now, by kind."""
    settled: int
    """Clusters now that are Ready, by a status that speaks of their newest generation."""
    waiting: int
    """Keys now in the queue."""


class Tally:
    """Counts writes, and how long the first one takes after a cluster was edited."""

    def __init__(self) -> None:
        self.writes: Counter[str] = Counter()
        self.reactions: list[float] = []
        self._edited: dict[Key, float] = {}

    def heard(self, delta: Delta[Cluster]) -> None:
        """Take the time of an edit; events of statuses are none."""
        if delta.old and delta.new and delta.old.metadata.generation != delta.new.metadata.generation:
            self._edited.setdefault(delta.key, time.perf_counter())

    def writes_to(self, resource: Resource[T], verb: str, key: Key) -> None:
        """Count a write, just before it is sent; `key` is that of the object."""
        self.writes[f"{verb} {resource.plural}"] += 1
        began = self._edited.pop(_cluster(resource, key), None)
        if began is not None:
            self.reactions.append(time.perf_counter() - began)


def _cluster(resource: Resource[T], key: Key) -> Key:
    """Return the cluster that an object belongs to: the names of all of its objects begin with its own."""
    if resource.plural == CLUSTERS.plural:
        return key
    return Key(key.namespace, "-".join(key.name.split("-")[:2]))


class CountingApi(HttpApi):
    """The client for a real server, with a tally of what is written through it."""

    tally: Tally

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        """Count and create."""
        name = body.get("metadata", {}).get("name", "") if isinstance(body, dict) else ""
        self.tally.writes_to(resource, "create", Key(namespace, name))
        return await super().create(resource, body, namespace=namespace)

    async def apply(self, resource: Resource[T], key: Key, body: Body, options: ApplyOptions) -> T:
        """Count and apply."""
        self.tally.writes_to(resource, "apply", key)
        return await super().apply(resource, key, body, options)

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        """Count and patch."""
        self.tally.writes_to(resource, f"patch {subresource} of" if subresource else "patch", key)
        return await super().patch(resource, key, body, kind=kind, subresource=subresource)

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        """Count and delete."""
        self.tally.writes_to(resource, "delete", key)
        return await super().delete(resource, key, options)


class StandInFamily(OpenSearchFamily):
    """OpenSearch clusters whose databases answer at the addresses of their stand-ins."""

    def target(self, existing: ClusterObjects) -> Target:
        """Return the stand-in's address, as often as there are pods that could be asked."""
        target = super().target(existing)
        place = f"{fleet.address(existing.cluster.metadata.name)}:{fleet.PORT}"
        schemes = (url.partition("://")[0] for url in target.endpoints)
        return msgspec.structs.replace(target, endpoints=tuple(f"{scheme}://{place}" for scheme in schemes))


def report(operator: Operator, tally: Tally) -> Report:
    """Return what the operator has done and holds."""
    reconciled = operator.metrics.reconciled.collect()
    (controller,) = operator.controllers.values()
    samples = [sample.value for metric in reconciled for sample in metric.samples if sample.name.endswith("_total")]
    return Report(
        writes=dict(tally.writes),
        reconciliations=int(sum(samples)),
        reactions=tally.reactions,
        objects={name: len(store) for name, store in controller.caches.owned.items()},
        settled=sum(is_settled(cluster) for cluster in controller.caches.clusters.all()),
        waiting=len(controller.queue),
    )


def is_settled(cluster: Cluster) -> bool:
    """Whether a cluster's status says of its newest generation that it is Ready."""
    ready = any(each.type == "Ready" and each.status == "True" for each in cluster.status.conditions)
    return ready and cluster.status.observed_generation == cluster.metadata.generation


async def operate(kubeconfig: str) -> None:
    """Run the operator until a signal asks it to stop."""
    options = OperatorOptions(lease_namespace=fleet.NAMESPACE, identity="bench")
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(CountingApi(connect(kubeconfig=kubeconfig)))
        api.tally = tally = Tally()
        session = await stack.enter_async_context(open_session())
        operator = Operator(api, (StandInFamily(opensearch.driver(HttpTransport(session))),), options)
        # Renewed as often as ever, but not lost while a busy machine keeps the API server from answering.
        timing = LeaseTiming(duration=120, renew_deadline=100)
        operator.election = LeaderElection(api, Key(fleet.NAMESPACE, "stateward"), options.identity, timing=timing)
        operator.controllers[OPENSEARCH.engine].caches.clusters.subscribe(tally.heard)

        async def told(_: web.Request) -> web.Response:
            body = msgspec.json.encode(report(operator, tally))
            return web.Response(body=body, content_type="application/json")

        routes = [
            *health_routes(operator.unfilled),
            *metrics_routes(operator.metrics.registry),
            web.get("/report", told),
        ]
        port = await stack.enter_async_context(serve("127.0.0.1", 0, routes))
        print("answers on port", port, flush=True)
        await until_signalled(operator.run, operator.stop)


if __name__ == "__main__":
    logs.configure("info")
    return_large_blocks()
    asyncio.run(operate(sys.argv[1]))
