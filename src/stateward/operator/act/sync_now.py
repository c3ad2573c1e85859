"""Makes the kubelet update a changed configuration in its pod at once.

A kubelet updates mounted Secrets when it syncs the pod: after a change of the pod, and otherwise once in one to two
minutes. Members restart one after the other, each with a configuration that is written just before, so each of them
would wait that long. So the pod is annotated with the checksum of what was written. Nothing depends on the annotation:
the agent's report of the mounted configuration decides.
"""

from stateward.api.values import names
from stateward.engines.pods.objects import MemberObjects
from stateward.kube.objects.pods import Pod
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.observation import Ref


def behind(existing: ClusterObjects, objects: MemberObjects) -> tuple[Ref, str] | None:
    """Return the pod whose agent lacks the annotation for this configuration, and the checksum; else None."""
    member = objects.workload["metadata"]["name"]
    checksum: str = objects.config["metadata"]["annotations"][names.ANNOTATION_CHECKSUM]
    for pod in existing.pods:
        meta = pod.metadata
        if meta.labels.get(names.LABEL_MEMBER) == member and _waits(pod, checksum):
            return Ref(meta.name, meta.uid, meta.resource_version), checksum
    return None


def _waits(pod: Pod, checksum: str) -> bool:
    told = pod.metadata.annotations
    last = told.get(names.ANNOTATION_WRITTEN) or told.get(names.ANNOTATION_CHECKSUM)
    return names.ANNOTATION_AGENT in told and not pod.metadata.terminating and checksum != last
