"""The objects of a search cluster, as the tests read them."""

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values.base import Json
from stateward.engines import opensearch
from stateward.planning.safety.disruption_budget import Budget

OWNER = {
    "apiVersion": "stateward.dev/v1alpha1",
    "kind": "OpenSearchCluster",
    "name": "logs",
    "uid": "u-1",
    "controller": True,
    "blockOwnerDeletion": True,
}


def workload(made: OpenSearchCluster, pool: str = "hot", ordinal: int = 0, version: str = "2.19.5") -> Json:
    return opensearch.member_objects(made, pool, ordinal, version).workload


def pod(made: OpenSearchCluster, pool: str = "hot", ordinal: int = 0, version: str = "2.19.5") -> Json:
    return workload(made, pool, ordinal, version)["spec"]["template"]


def shared(made: OpenSearchCluster, *budgets: Budget, voters: tuple[str, ...] = ()) -> dict[tuple[str, str], Json]:
    objects = opensearch.cluster_objects(made, voters, budgets)
    return {(item["kind"], item["metadata"]["name"]): item for item in objects}
