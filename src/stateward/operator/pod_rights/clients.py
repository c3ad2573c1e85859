"""Services of others that would send traffic to a cluster's pods, by labels from its spec or by its name. Pure.

The right to write a cluster is not a right to write Services. A label on pods would be as good: traffic for the Service
of another application, including passwords, would reach pods whose image the cluster's author chooses. So would a name:
Helm charts of the same databases select pods by the usual labels, such as `app.kubernetes.io/instance`. A Service that
selects by a label of Stateward was made for its pods. One that does not is looked at before the first pods are created,
and never later: its author then knows the pods.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import GROUP
from stateward.kube.objects.nodes import Service
from stateward.operator.databases.engine import Family
from stateward.operator.objects.permission import allowed
from stateward.operator.pod_rights.finished import FinalTemplate, final_templates


@dataclass(frozen=True, slots=True)
class LabelledPods:
    """The pods of a pool, or of a Deployment beside the cluster, with the labels that are their own."""

    labels: Mapping[str, str]
    own: Mapping[str, str]
    chosen: FinalTemplate | None
    """The template, if the spec gives them labels; no others are remembered, for they are large."""
    new: bool = True
    """Whether there are none yet."""

    @property
    def matters(self) -> bool:
        """Return whether a Service could select them that was not made for them."""
        return self.new or self.chosen is not None

    @property
    def place(self) -> str:
        """Return the field of the resource that gives them labels."""
        return NAME if self.chosen is None else self.chosen.field(("metadata", "labels"))

    def field(self, selector: Mapping[str, str]) -> str:
        """Return the field of the resource that makes the pods selected; empty if they are not, or may be."""
        if not selector or not selector.items() <= self.labels.items():
            return ""
        added = sorted(name for name, value in selector.items() if self.own.get(name) != value)
        if added and self.chosen is not None:
            return self.chosen.field(("metadata", "labels", f"[{added[0]}]"))
        return NAME if self.new and not any(name.startswith(f"{GROUP}/") for name in selector) else ""


NAME = "metadata.name"
"""The field behind the labels that every pod of a cluster has."""


def labelled_pods(family: Family, cluster: Cluster) -> tuple[LabelledPods, ...]:
    """Return the pods of a valid cluster as if there were none yet, one for each pool."""
    return tuple(labelled_template(made, new=True) for made in final_templates(family, cluster))


def labelled_template(made: FinalTemplate, *, new: bool) -> LabelledPods:
    """Return the pods of a template."""
    labels, own = (each["metadata"]["labels"] for each in (made.template, made.bare))
    return LabelledPods(labels, own, made if labels != own else None, new)


def selected_by_services(
    cluster: Cluster, pods: Iterable[LabelledPods], services: Iterable[Service]
) -> Iterator[tuple[str, str]]:
    """Yield the fields by which pods are selected, and the Services that select them without allowing it."""
    for service in services:
        if not allowed(service.metadata.labels, cluster.metadata.name):
            found = (field for each in pods if (field := each.field(service.spec.selector)))
            for field in dict.fromkeys(found):
                yield field, service.metadata.name
