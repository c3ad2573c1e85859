"""The pods of a Deployment beside a cluster, read live."""

from collections.abc import Iterable

from stateward.kube.objects import resources as kinds
from stateward.kube.objects.pods import Pod
from stateward.operator.beside.owned import Owned

_ENDED = ("Succeeded", "Failed")


async def pods_of(owned: Owned, name: str, selector: dict[str, str]) -> tuple[Pod, ...]:
    """Return the pods that the Deployment `name` has made and that have not ended, also those that are ending.

    Raises ApiError.
    """
    prefix = f"{name}-"
    found = await owned.labelled(kinds.PODS, selector)
    return tuple(pod for pod in found if pod.status.phase not in _ENDED and _of_deployment(pod, prefix))


def addresses_of(pods: Iterable[Pod]) -> list[str]:
    """Return the addresses of the pods that are ready."""
    return sorted(pod.status.pod_ip for pod in pods if pod.ready and pod.status.pod_ip)


def _of_deployment(pod: Pod, prefix: str) -> bool:
    """Return whether a ReplicaSet of the Deployment controls a pod; others may have its labels."""
    owners = (owner for owner in pod.metadata.owner_references if owner.controller)
    return any(owner.kind == "ReplicaSet" and owner.name.startswith(prefix) for owner in owners)
