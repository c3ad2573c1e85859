"""What is beside a cluster in end-to-end tests: whether anything of it is left."""

from typing import Any

from stateward.kube.objects import resources as kinds
from stateward.kube.objects.resource import Resource, Selection
from tests.e2e.clusters import Clusters

ENDED = ("Succeeded", "Failed")


async def require_gone(clusters: Clusters, labels: str, *others: Resource[Any]) -> None:
    """Require that no workload and no object of other kinds has these labels.

    A pod that has ended does not count: the kubelet removes it a moment later.
    """
    selection = Selection(clusters.namespace, labels=labels)
    for each in (kinds.DEPLOYMENTS, kinds.SERVICES, *others):
        kind = each.metadata_only()
        assert not (await clusters.api.list(kind, selection)).items, kind.kind
    pods = (await clusters.api.list(kinds.PODS, selection)).items
    assert not [pod.metadata.name for pod in pods if pod.status.phase not in ENDED]
