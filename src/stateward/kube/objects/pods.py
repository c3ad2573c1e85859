"""Projections of Pods: their placement, their containers, and their state."""

from datetime import datetime

import msgspec

from stateward.kube.objects.metadata import ObjectMeta, WireRecord


class Condition(WireRecord):
    """One condition of a status; `status` is "True", "False" or "Unknown"."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


def condition_holds(conditions: tuple[Condition, ...], kind: str) -> bool:
    """Whether the condition exists and is "True"."""
    return any(condition.type == kind and condition.status == "True" for condition in conditions)


class Waiting(WireRecord):
    """A container that has not started, and the reason."""

    reason: str = ""
    message: str = ""


class Running(WireRecord):
    """A running container."""

    started_at: datetime | None = None


class Terminated(WireRecord):
    """A terminated container, and its exit."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerState(WireRecord):
    """At most one of the three is set; none means that the kubelet has not reported yet."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(WireRecord):
    """The kubelet's report on one container; `last_state` is that of its previous run."""

    name: str = ""
    image: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class Container(WireRecord):
    """A container in the spec."""

    name: str = ""
    image: str = ""


class ClaimSource(WireRecord):
    """The claim of a volume."""

    claim_name: str = ""


class ConfigMapSource(WireRecord):
    """The ConfigMap of a volume."""

    name: str = ""


class Volume(WireRecord):
    """A volume of a pod; only volumes of claims and of ConfigMaps have a source here."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    config_map: ConfigMapSource | None = None


class PodSpec(WireRecord):
    """The spec of a pod; `node_name` is empty until the pod is scheduled."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()


class PodStatus(WireRecord):
    """The status of a pod; `phase` is empty until it is reported."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(WireRecord):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def ready(self) -> bool:
        """Whether the kubelet reports the pod as ready, and it is not terminating."""
        return condition_holds(self.status.conditions, "Ready") and not self.metadata.terminating

    @property
    def claim_names(self) -> tuple[str, ...]:
        """The names of the volume claims that the pod uses."""
        sources = (volume.persistent_volume_claim for volume in self.spec.volumes)
        return tuple(source.claim_name for source in sources if source is not None)


def mounts(volumes: tuple[Volume, ...], config_map: str) -> bool:
    """Return whether one of the volumes mounts a ConfigMap."""
    return any(each.config_map is not None and each.config_map.name == config_map for each in volumes)
