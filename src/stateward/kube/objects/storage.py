"""Projections of volume claims, volumes and their classes; sizes stay quantities as written ("20Gi")."""

from msgspec import field

from stateward.kube.objects.metadata import ObjectMeta, WireRecord
from stateward.kube.objects.pods import Condition


class VolumeRequests(WireRecord):
    """The requested resources of a claim, including `requests["storage"]`."""

    requests: dict[str, str] = field(default_factory=dict)


class ClaimSpec(WireRecord):
    """The spec of a claim; `volume_name` is empty until the claim is bound."""

    resources: VolumeRequests = VolumeRequests()
    storage_class_name: str | None = None
    volume_name: str = ""
    access_modes: tuple[str, ...] = ()


class ClaimStatus(WireRecord):
    """The status of a claim; conditions show a resize in progress."""

    phase: str = ""
    capacity: dict[str, str] = field(default_factory=dict)
    allocated_resources: dict[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class PersistentVolumeClaim(WireRecord):
    """A volume claim."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def requested(self) -> str:
        """The requested size; empty if there is none."""
        return self.spec.resources.requests.get("storage", "")

    @property
    def capacity(self) -> str:
        """The actual size; empty until the claim is bound."""
        return self.status.capacity.get("storage", "")


class ClaimReference(WireRecord):
    """The claim that a volume is bound to."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeSpec(WireRecord):
    """The spec of a volume."""

    capacity: dict[str, str] = field(default_factory=dict)
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    persistent_volume_reclaim_policy: str = ""


class VolumeStatus(WireRecord):
    """The phase of a volume."""

    phase: str = ""


class PersistentVolume(WireRecord):
    """A volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class StorageClass(WireRecord):
    """A storage class: its provisioner, and whether its volumes can be expanded."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    allow_volume_expansion: bool = False
    volume_binding_mode: str = "Immediate"
    reclaim_policy: str = "Delete"

    @property
    def is_default(self) -> bool:
        """Whether claims without a class get this one."""
        return self.metadata.annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
