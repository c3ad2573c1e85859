"""What the end-to-end tests do with clusters: apply them, wait for them with a deadline, ask the database behind them.

The database is reached through the API server's proxy, so no address outside the sandbox is ever used.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.kube.client.client import ApplyOptions, RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Selection
from stateward.operator.objects.kinds import OPENSEARCH, ClusterKind

Condition = Callable[[Cluster], bool]
SMALL = {"limits": {"memory": "640Mi"}, "requests": {"memory": "512Mi", "cpu": "50m"}}
"""Memory of a member in tests: half of it is the database's heap."""


def pool(name: str, replicas: int, *roles: str, **more: Any) -> dict[str, Any]:
    """Return a pool of small members with 1 GiB volumes."""
    return {
        "name": name,
        "replicas": replicas,
        "roles": list(roles),
        "resources": SMALL,
        "storage": {"size": "1Gi"},
        **more,
    }


def settled(cluster: Cluster) -> bool:
    """Return whether the operator has seen the newest spec and nothing is left to do."""
    seen = cluster.status.observed_generation == cluster.metadata.generation
    return seen and condition(cluster, "Ready") == "True"


def condition(cluster: Cluster, kind: str) -> str:
    """Return the status of a condition; empty when there is none."""
    return next((c.status for c in cluster.status.conditions if c.type == kind), "")


@dataclass
class Database:
    """The database of a cluster, through the API server's proxy to its client Service."""

    api: HttpApi
    namespace: str
    name: str

    async def ask(self, path: str, method: str = "GET", body: dict[str, Any] | None = None) -> Any:
        """Send one request and return the decoded answer; raises ApiError."""
        path, _, query = path.partition("?")
        pairs = {key: value for key, _, value in (pair.partition("=") for pair in query.split("&") if pair)}
        full = f"/api/v1/namespaces/{self.namespace}/services/{self.name}:http/proxy/{path}"
        answer = await self.api.request(RawRequest(full, method, pairs, body))
        return json.loads(answer)

    async def create_index(self, index: str, replicas: int = 1, shards: int = 2) -> None:
        settings = {"index.number_of_replicas": replicas, "index.number_of_shards": shards}
        await self.ask(index, "PUT", {"settings": settings})

    async def health(self) -> dict[str, Any]:
        return await self.ask("_cluster/health")

    async def settings(self) -> dict[str, Any]:
        answer = await self.ask("_cluster/settings?flat_settings=true")
        return {**answer["persistent"], **answer["transient"]}

    async def left_behind(self) -> dict[str, str]:
        """Return the settings that the operator sets for a step, and undoes; empty when no step is taken."""
        ours = ("cluster.routing", "cluster.metadata.stateward")
        return {key: value for key, value in (await self.settings()).items() if key.startswith(ours)}

    async def versions(self) -> dict[str, str]:
        answer = await self.ask("_nodes?filter_path=nodes.*.name,nodes.*.version")
        return {node["name"]: node["version"] for node in answer["nodes"].values()}


@dataclass
class Clusters:
    """Clusters of one kind in one namespace of the sandbox."""

    api: HttpApi
    namespace: str
    kind: ClusterKind = OPENSEARCH
    log: list[str] = field(default_factory=list[str])

    def database(self, name: str) -> Database:
        return Database(self.api, self.namespace, name)

    async def apply(self, name: str, **spec: Any) -> None:
        """Make a cluster's spec so; what is left out goes back to its default."""
        meta = {"name": name, "namespace": self.namespace}
        resource = self.kind.resource
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": spec}
        await self.api.apply(resource, Key(self.namespace, name), body, ApplyOptions("test", force=True))

    async def get(self, name: str) -> Cluster:
        return await self.api.get(self.kind.resource, Key(self.namespace, name))

    async def pods(self, name: str) -> dict[str, Pod]:
        labels = f"stateward.dev/cluster={name},stateward.dev/engine={self.kind.engine}"
        page = await self.api.list(kinds.PODS, Selection(self.namespace, labels=labels))
        return {pod.metadata.labels["stateward.dev/member"]: pod for pod in page.items}

    async def until(self, name: str, holds: Condition, *, seconds: float = 300.0) -> Cluster:
        """Wait until something holds of the cluster; fails with what it was doing last."""
        last: Cluster | None = None
        try:
            async with asyncio.timeout(seconds):
                while last is None or not holds(last):
                    await asyncio.sleep(0.5)
                    last = await self._look(name, last)
        except TimeoutError:
            status = last.status if last else None
            waits = [f"{w.subject}: {w.message}" for w in status.waiting] if status else []
            states = [f"{m.name} {m.state}: {m.reason}" for m in status.member_states] if status else []
            raise AssertionError(
                f"after {seconds} s: {status.activity if status else 'no answer'}\n" + "\n".join([*waits, *states])
            ) from None
        return last

    async def _look(self, name: str, last: Cluster | None) -> Cluster | None:
        try:
            found = await self.get(name)
        except ApiError:
            return last  # A loaded machine may miss an answer; the deadline stands.
        if last is None or found.status.activity != last.status.activity:
            self.log.append(found.status.activity)
        return found
