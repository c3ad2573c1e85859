"""What is watched for restart control: no data, and of workloads only whether they ask for it.

All ConfigMaps and Secrets of the namespaces are watched, because any of them may be used; of each only its name and
version are kept. Their data is read when it is needed, and kept by nobody.
"""

from msgspec import field

from stateward.api.values.base import GROUP
from stateward.kube.objects.metadata import Key, WireRecord
from stateward.kube.objects.resource import Resource
from stateward.packages.restarts.dependencies import CONFIG_MAP, PROVIDER_CLASS, SECRET
from stateward.packages.restarts.guards import ANNOTATION_PAUSED, ANNOTATION_WINDOW

ANNOTATION_CONTROL = f"{GROUP}/restart-on-change"
"""On a workload: `true` asks for restart control."""


class Asks(WireRecord):
    """The annotations with which people ask for restart control, and hold it back."""

    control: str = field(default="", name=ANNOTATION_CONTROL)
    paused: str = field(default="", name=ANNOTATION_PAUSED)
    window: str = field(default="", name=ANNOTATION_WINDOW)


class WorkloadMeta(WireRecord):
    """The metadata of a workload, as far as it is read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    annotations: Asks = Asks()


class WorkloadView(WireRecord):
    """A workload, as far as it is watched."""

    metadata: WorkloadMeta = WorkloadMeta()

    @property
    def controlled(self) -> bool:
        """Whether it asks for restart control."""
        return self.metadata.annotations.control.strip().lower() == "true"

    @property
    def concerns(self) -> tuple[object, ...]:
        """What of it is a reason to look: not that its pods come and go, which a status tells many times."""
        meta = self.metadata
        return (meta.uid, meta.generation, meta.annotations)


class SourceMeta(WireRecord):
    """The metadata of a ConfigMap or Secret, as far as it is read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class SourceView(WireRecord):
    """A ConfigMap or Secret, as far as it is watched."""

    metadata: SourceMeta = SourceMeta()


WORKLOADS = {
    kind: Resource("apps", "v1", plural, kind, WorkloadView, partial=True)
    for kind, plural in (("Deployment", "deployments"), ("StatefulSet", "statefulsets"), ("DaemonSet", "daemonsets"))
}
"""Workloads whose controllers start pods anew when the template changes, by kind."""
SOURCES = {
    CONFIG_MAP: Resource("", "v1", "configmaps", CONFIG_MAP, SourceView, partial=True),
    SECRET: Resource("", "v1", "secrets", SECRET, SourceView, partial=True),
}
"""Where data comes from, by kind."""
PROVIDER_CLASSES = Resource(
    "secrets-store.csi.x-k8s.io", "v1", "secretproviderclasses", PROVIDER_CLASS, SourceView, partial=True
)
"""Read when a workload uses one; not watched, because few clusters serve it."""


class Workload(WireRecord, frozen=True):
    """Which workload: its kind and where it is."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        """Where it is."""
        return Key(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"
