"""Stand-in databases: one HTTP server that answers for every cluster, each at an address of its own."""

from collections.abc import Mapping

import msgspec
from aiohttp import web

from bench.clusters import fleet
from bench.clusters.world.answers import Running, Settings, formed, unformed
from stateward.api.values import names
from stateward.engines.search.database import driver
from stateward.kube.cache.deltas import Delta
from stateward.kube.objects.pods import Pod


class Database:
    """One cluster's database: made of the pods that are Ready, and formed as soon as one of them may form it.

    Kwok's pods don't wait for leave before they are Ready, as real ones do; so either of the two forms the database.
    """

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.formed = False
        self.pods: dict[str, Pod] = {}
        self._settings: Settings = {"persistent": {}, "transient": {}}
        self._answers: Mapping[str, bytes] | None = None

    def tell(self, member: str, pod: Pod | None) -> None:
        """Take in the newest version of a member's pod; None when it is gone."""
        if pod is None:
            self.pods.pop(member, None)
        else:
            self.pods[member] = pod
            self.formed = self.formed or forms(pod)
        self._answers = None

    def answer(self, path: str) -> bytes | None:
        """Return the answer to a GET of this path; None where it is not known."""
        if self._answers is None:
            self._answers = self._answered()
        return self._answers.get(path)

    def write(self, method: str, path: str, body: bytes) -> bytes | None:
        """Do what a rollout asks for, and return the answer; None where it is not known."""
        if (method, path) == ("POST", "/_flush"):
            return b'{"_shards": {"failed": 0}}'
        if (method, path) != ("PUT", driver.SETTINGS):
            return None
        for section, changed in msgspec.json.decode(body, type=Settings).items():
            merged = {**self._settings[section], **changed}
            self._settings[section] = {key: value for key, value in merged.items() if value is not None}
        self._answers = None
        return b'{"acknowledged": true}'

    def _answered(self) -> Mapping[str, bytes]:
        name = f"{fleet.NAMESPACE}.{self.cluster}"
        if not self.formed:
            return unformed(name)
        up = [running(member, pod) for member, pod in self.pods.items() if pod.ready]
        return formed(name, f"uuid-of-{self.cluster}", up, self._settings)


class Databases:
    """The databases of all clusters, by name; they come into being when they are first spoken of."""

    def __init__(self) -> None:
        self._databases: dict[str, Database] = {}

    def of(self, cluster: str) -> Database:
        """Return the database of a cluster."""
        return self._databases.setdefault(cluster, Database(cluster))

    def heard(self, delta: Delta[Pod]) -> None:
        """Tell the database of a pod what has become of it."""
        pod = delta.new or delta.old
        labels = pod.metadata.labels if pod else {}
        self.of(labels.get(names.LABEL_CLUSTER, "")).tell(labels.get(names.LABEL_MEMBER, ""), delta.new)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, as the cluster whose address it came to."""
        host: str = request.transport.get_extra_info("sockname")[0] if request.transport else ""
        database, method, path = self.of(fleet.cluster_at(host)), request.method, request.path
        found = database.answer(path) if method == "GET" else database.write(method, path, await request.read())
        if found is None:
            return web.json_response({"error": f"a stand-in has no answer to {method} {path}"}, status=400)
        return web.Response(body=found, content_type="application/json")


def forms(pod: Pod) -> bool:
    """Whether a pod forms its database: by the operator's leave, or by being Ready as the one to ask for it."""
    marks = pod.metadata.annotations
    candidate = marks.get(names.ANNOTATION_BOOTSTRAP_CANDIDATE) == "true"
    return marks.get(names.ANNOTATION_BOOTSTRAP) == "granted" or (candidate and pod.ready)


def running(member: str, pod: Pod) -> Running:
    """Return the database node that a pod is."""
    roles = pod.metadata.labels.get(names.LABEL_ROLES, "")
    version = pod.metadata.annotations.get(names.ANNOTATION_VERSION, "")
    return Running(member, version, voting="voting" in roles, data="data" in roles)
