"""Stand-ins for Elasticsearch, as far as an operator asks: each cluster is its pods that are Ready, and green.

They answer at once, and a node is ready to be restarted as soon as it is asked to prepare for it.
"""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from bench.clusters import fleet
from bench.clusters.world.answers import INDICES
from stateward.kube.cache.deltas import Delta
from stateward.kube.objects.pods import Pod

PORT = 9200
LABELS = "elasticsearch.k8s.elastic.co/"
LABEL_CLUSTER = LABELS + "cluster-name"
ACKNOWLEDGED: dict[str, Any] = {"acknowledged": True}
_TAKEN = frozenset({"/_cluster/settings", "/_cluster/voting_config_exclusions", "/_flush", "/_license/start_basic"})
"""Requests that change nothing of what is told afterwards."""


class Reply(NamedTuple):
    """The status and the body of an answer."""

    status: HTTPStatus
    body: Any


class Elasticsearch:
    """One cluster's database."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.pods: dict[str, Pod] = {}
        self._stopping: dict[str, str] = {}
        """What a node was asked to prepare for, by its id."""
        self._wish = 0
        """The version of the nodes that the operator says it wants."""

    def answer(self, method: str, path: str, body: bytes = b"") -> Reply:
        """Return the answer to a request; BAD_REQUEST where it is not known."""
        parts = path.strip("/").split("/")
        if not self._up():
            return Reply(HTTPStatus.SERVICE_UNAVAILABLE, {"error": {"reason": "no node is up"}})
        match method, parts:
            case _, ["_nodes", *identifiers, "shutdown"]:
                return self._shutdown(method, "".join(identifiers), body)
            case _, ["_internal", "desired_nodes", *rest]:
                return self._desired(method, rest)
            case "GET", _ if (found := self._told().get(path)) is not None:
                return _ok(found)
            case "PUT" | "POST" | "DELETE", _ if path in _TAKEN:
                return _ok(ACKNOWLEDGED)
            case _:
                return Reply(HTTPStatus.BAD_REQUEST, {"error": {"reason": f"no answer to {method} {path}"}})

    def _told(self) -> dict[str, Any]:
        """Return the answers, by path, that are the same until a pod changes."""
        up, name = self._up(), {"cluster_name": self.cluster}
        version = {"number": self._version(up[0]), "build_flavor": "default"}
        return {
            "/": {**name, "cluster_uuid": f"uuid-of-{self.cluster}", "version": version},
            "/_cluster/health": {**name, "status": "green", "timed_out": False, "number_of_nodes": len(up)},
            "/_nodes/_all/no-metrics": {"nodes": dict(map(self._node, up))},
            "/_nodes/_master": {"nodes": dict([self._node(pod) for pod in up if _has(pod, "node-master")][:1])},
            "/_cluster/settings": {"persistent": {}, "transient": {}},
            "/_security/api_key": {"api_keys": []},
            "/_cat/shards": list(self._shards(up)),
            "/_license": {"license": {"status": "active", "type": "basic", "uid": f"license-of-{self.cluster}"}},
        }

    def _shutdown(self, method: str, identifier: str, body: bytes) -> Reply:
        if method == "PUT":
            self._stopping[identifier] = str(msgspec.json.decode(body)["type"]).upper()
            return _ok(ACKNOWLEDGED)
        if method == "DELETE":
            self._stopping.pop(identifier, None)
            return _ok(ACKNOWLEDGED)
        asked = {each: kind for each, kind in self._stopping.items() if identifier in {"", each}}
        done = {"status": "COMPLETE"}
        parts = {"shard_migration": done, "persistent_tasks": done, "plugins": done}
        return _ok({"nodes": [{"node_id": each, "type": kind, **done, **parts} for each, kind in asked.items()]})

    def _desired(self, method: str, rest: list[str]) -> Reply:
        if method == "PUT":
            self._wish = int(rest[1])
        if method == "GET" and not self._wish:
            return Reply(HTTPStatus.NOT_FOUND, {"error": {"reason": "none yet"}})
        return _ok({"history_id": self.cluster, "version": self._wish, "nodes": []})

    def _up(self) -> list[Pod]:
        ready = sorted((pod for pod in self.pods.values() if pod.ready), key=lambda pod: pod.metadata.name)
        return ready if any(_has(pod, "node-master") for pod in ready) else []

    def _node(self, pod: Pod) -> tuple[str, dict[str, Any]]:
        roles = [role for role in ("master", "data", "ingest") if _has(pod, f"node-{role}")]
        return f"id-of-{pod.metadata.name}", {"name": pod.metadata.name, "version": self._version(pod), "roles": roles}

    def _version(self, pod: Pod) -> str:
        return pod.metadata.labels.get(LABELS + "version", "")

    def _shards(self, up: list[Pod]) -> Iterator[dict[str, str]]:
        holders = [pod.metadata.name for pod in up if _has(pod, "node-data")]
        for number in range(INDICES if len(holders) > 1 else 0):
            for place, kind in enumerate("pr"):
                node = holders[(number + place) % len(holders)]
                shard = {"index": f"logs-{number:03d}", "shard": "0", "prirep": kind}
                yield {**shard, "state": "STARTED", "node": node}


class Databases:
    """The databases of all clusters, by name; they come into being when they are first spoken of."""

    def __init__(self) -> None:
        self._databases: dict[str, Elasticsearch] = {}

    def of(self, cluster: str) -> Elasticsearch:
        """Return the database of a cluster."""
        return self._databases.setdefault(cluster, Elasticsearch(cluster))

    def heard(self, delta: Delta[Pod]) -> None:
        """Tell the database of a pod what has become of it."""
        pod = delta.new or delta.old
        cluster = pod.metadata.labels.get(LABEL_CLUSTER, "") if pod else ""
        if delta.new is None:
            self.of(cluster).pods.pop(delta.key.name, None)
        else:
            self.of(cluster).pods[delta.key.name] = delta.new

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, as the cluster whose address it came to."""
        host: str = request.transport.get_extra_info("sockname")[0] if request.transport else ""
        found = self.of(fleet.cluster_at(host)).answer(request.method, request.path, await request.read())
        if found.status is HTTPStatus.BAD_REQUEST:
            print(found.body, flush=True)
        headers = {"X-Elastic-Product": "Elasticsearch"}
        return web.json_response(found.body, status=found.status, headers=headers)


def _has(pod: Pod, role: str) -> bool:
    return pod.metadata.labels.get(LABELS + role) == "true"


def _ok(body: Any) -> Reply:
    return Reply(HTTPStatus.OK, body)
