"""Having a changed configuration arrive in its pod at once.

A kubelet brings changed Secrets into a pod when it looks at the pod: because the pod has changed, and else once in one
to two minutes. Members restart one after the other, each with a configuration that is written when its turn has come,
so each of them would wait that long. So the pod is changed: it is told what was written. Nothing depends on it: what
the agent says is mounted still decides.
"""

from stateward.api.values import names
from stateward.engines.pods.objects import MemberObjects
from stateward.kube.objects.pods import Pod
from stateward.operator.objects.cluster_objects import Holdings
from stateward.planning.model.observation import Ref


def behind(holdings: Holdings, objects: MemberObjects) -> tuple[Ref, str] | None:
    """Return the pod with an agent that was not told of this configuration, and its checksum; None without one."""
    member = objects.workload["metadata"]["name"]
    checksum: str = objects.config["metadata"]["annotations"][names.ANNOTATION_CHECKSUM]
    for pod in holdings.pods:
        meta = pod.metadata
        if meta.labels.get(names.LABEL_MEMBER) == member and _waits(pod, checksum):
            return Ref(meta.name, meta.uid, meta.resource_version), checksum
    return None


def _waits(pod: Pod, checksum: str) -> bool:
    told = pod.metadata.annotations
    last = told.get(names.ANNOTATION_WRITTEN) or told.get(names.ANNOTATION_CHECKSUM)
    return names.ANNOTATION_AGENT in told and not pod.metadata.terminating and checksum != last
