"""Clusters for the tests of pod rights, and the refusals of their pods."""

from typing import Any

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster
from stateward.api.values.base import Json
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.kinds import kind_of
from stateward.operator.pod_rights.labels import PodRights

SEARCH: list[Json] = [
    {"name": "managers", "replicas": 3, "roles": ["cluster_manager"]},
    {"name": "hot", "replicas": 2, "roles": ["data"], "storage": {"ephemeral": True}},
]


def made(record: type[Cluster], version: str, pools: list[Json], status: Json | None = None, **spec: Any) -> Cluster:
    meta = {"name": "logs", "namespace": "data", "uid": "u"}
    whole = {"version": version, "pools": pools, **spec}
    body = {"kind": record.__name__, "metadata": meta, "spec": whole, "status": status or {}}
    return msgspec.convert(body, record)


def search(pools: list[Json] | None = None, **spec: Any) -> Cluster:
    return made(OpenSearchCluster, "2.19.5", pools or SEARCH, **spec)


def container(name: str = "opensearch", **fields: Any) -> Json:
    return {"spec": {"containers": [{"name": name, **fields}]}}


async def asked(api: Any, cluster: Cluster, *, labelled: bool = True) -> list[str]:
    rights = PodRights(api, unconnected(kind_of(cluster)), labelled=labelled)
    return [refusal.message for refusal in await rights.of_spec(cluster)]


ALLOWED = {"stateward.dev/allowed-for-pods": "true"}


ELASTIC: list[Json] = [{"name": "managers", "replicas": 3, "roles": ["master"]}, {"name": "hot", "replicas": 2}]


PROCESSES: list[Json] = [
    {"name": "storage", "processClass": "storage", "replicas": 3},
    {"name": "log", "processClass": "log", "replicas": 3},
    {"name": "rest", "processClass": "stateless", "replicas": 3},
]


def elastic(**spec: Any) -> Cluster:
    return made(ElasticsearchCluster, "8.19.4", ELASTIC, **spec)


def foundation(**spec: Any) -> Cluster:
    return made(FoundationDBCluster, "7.3.63", PROCESSES, {"version": "7.1.61"}, **spec)
