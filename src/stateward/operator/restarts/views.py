"""The watched parts for restart control: no data, and of workloads only whether they request it.

All ConfigMaps and Secrets of the namespaces are watched, because any of them may be used; only the name and version of
each are kept. Their data is read when it is needed, and not kept.
"""

from msgspec import field

from stateward.api.values.base import GROUP
from stateward.kube.objects.metadata import Key, WireRecord
from stateward.kube.objects.resource import Resource
from stateward.packages.restarts.dependencies import CONFIG_MAP, PROVIDER_CLASS, SECRET
from stateward.packages.restarts.guards import ANNOTATION_PAUSED, ANNOTATION_WINDOW

ANNOTATION_CONTROL = f"{GROUP}/restart-on-change"
"""On a workload: `true` requests restart control."""


class RestartAnnotations(WireRecord):
    """The annotations that request restart control, or hold it back."""

    control: str = field(default="", name=ANNOTATION_CONTROL)
    paused: str = field(default="", name=ANNOTATION_PAUSED)
    window: str = field(default="", name=ANNOTATION_WINDOW)


class WorkloadMeta(WireRecord):
    """The metadata of a workload that is read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    annotations: RestartAnnotations = RestartAnnotations()


class WorkloadView(WireRecord):
    """The watched part of a workload."""

    metadata: WorkloadMeta = WorkloadMeta()

    @property
    def controlled(self) -> bool:
        """Whether it requests restart control."""
        return self.metadata.annotations.control.strip().lower() == "true"

    @property
    def concerns(self) -> tuple[object, ...]:
        """The parts whose change causes a reconciliation: not the progress of its pods, which changes often."""
        meta = self.metadata
        return (meta.uid, meta.generation, meta.annotations)


class SourceMeta(WireRecord):
    """The metadata of a ConfigMap or Secret that is read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class SourceView(WireRecord):
    """The watched part of a ConfigMap or Secret."""

    metadata: SourceMeta = SourceMeta()


WORKLOADS = {
    kind: Resource("apps", "v1", plural, kind, WorkloadView, partial=True)
    for kind, plural in (("Deployment", "deployments"), ("StatefulSet", "statefulsets"), ("DaemonSet", "daemonsets"))
}
"""Workloads whose controllers recreate pods when the template changes, by kind."""
SOURCES = {
    CONFIG_MAP: Resource("", "v1", "configmaps", CONFIG_MAP, SourceView, partial=True),
    SECRET: Resource("", "v1", "secrets", SECRET, SourceView, partial=True),
}
"""Sources of data, by kind."""
PROVIDER_CLASSES = Resource(
    "secrets-store.csi.x-k8s.io", "v1", "secretproviderclasses", PROVIDER_CLASS, SourceView, partial=True
)
"""Read when a workload uses one; not watched, because few clusters serve it."""


class Workload(WireRecord, frozen=True):
    """A workload by its kind and its key."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        """Its key."""
        return Key(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"
