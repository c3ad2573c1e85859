"""Pods, as far as they are read: where they run, what runs in them, and what state it is in."""

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
    """Whether the condition is there and "True": a missing one is not."""
    return any(condition.type == kind and condition.status == "True" for condition in conditions)


class Waiting(WireRecord):
    """A container that has not started, and why not."""

    reason: str = ""
    message: str = ""


class Running(WireRecord):
    """A container that runs."""

    started_at: datetime | None = None


class Terminated(WireRecord):
    """A container that has ended, and how."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerState(WireRecord):
    """At most one of the three is set; none means that the kubelet has not said yet."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(WireRecord):
    """What the kubelet says about one container; `last_state` is that of its run before."""

    name: str = ""
    image: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class Container(WireRecord):
    """A container as asked for."""

    name: str = ""
    image: str = ""


class ClaimSource(WireRecord):
    """The claim behind a volume."""

    claim_name: str = ""


class ConfigMapSource(WireRecord):
    """The ConfigMap behind a volume."""

    name: str = ""


class Volume(WireRecord):
    """A volume of a pod; only those on claims and of ConfigMaps have a source here."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    config_map: ConfigMapSource | None = None


class PodSpec(WireRecord):
    """What was asked for; `node_name` is empty until the pod is scheduled."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()


class PodStatus(WireRecord):
    """What is; `phase` is empty where nobody has said yet."""

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
        """Whether the kubelet says that the pod serves, and it is not on its way out."""
        return condition_holds(self.status.conditions, "Ready") and not self.metadata.terminating

    @property
    def claim_names(self) -> tuple[str, ...]:
        """The names of the volume claims that the pod uses."""
        sources = (volume.persistent_volume_claim for volume in self.spec.volumes)
        return tuple(source.claim_name for source in sources if source is not None)


def mounts(volumes: tuple[Volume, ...], config_map: str) -> bool:
    """Return whether one of the volumes shows a ConfigMap."""
    return any(each.config_map is not None and each.config_map.name == config_map for each in volumes)
