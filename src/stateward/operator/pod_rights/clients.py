"""Services of others that would send traffic to a cluster's pods, by labels from its spec. Pure.

The right to write a cluster is not a right to write Services. A label on pods would be as good: traffic for the Service
of another application, including passwords, would reach pods whose image the cluster's author chooses.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stateward.api.kinds.cluster import Cluster
from stateward.kube.objects.nodes import Service
from stateward.operator.databases.engine import Family
from stateward.operator.objects.permission import allowed
from stateward.operator.pod_rights.finished import FinalTemplate, final_templates


@dataclass(frozen=True, slots=True)
class LabelledPods:
    """Pods that have labels beside their own."""

    labels: Mapping[str, str]
    own: Mapping[str, str]
    made: FinalTemplate

    def field(self, selector: Mapping[str, str]) -> str:
        """Return the field of the spec that makes the pods selected; empty if they are not, or are without it."""
        if not selector or not selector.items() <= self.labels.items():
            return ""
        added = sorted(name for name, value in selector.items() if self.own.get(name) != value)
        return self.made.field(("metadata", "labels", f"[{added[0]}]")) if added else ""


def labelled_pods(family: Family, cluster: Cluster) -> tuple[LabelledPods, ...]:
    """Return the pods of a valid cluster to which its spec gives labels, one for each pool."""
    return tuple(_marked(family, cluster))


def _marked(family: Family, cluster: Cluster) -> Iterator[LabelledPods]:
    for made in final_templates(family, cluster):
        yield from labelled_template(made)


def labelled_template(made: FinalTemplate) -> Iterator[LabelledPods]:
    """Yield the pods of a template, if the spec gives them labels."""
    labels, own = (each["metadata"]["labels"] for each in (made.template, made.bare))
    if labels != own:
        yield LabelledPods(labels, own, made)


def selected_by_services(
    cluster: Cluster, pods: Iterable[LabelledPods], services: Iterable[Service]
) -> Iterator[tuple[str, str]]:
    """Yield the fields by which pods are selected, and the Services that select them without allowing it.

    A Service that selects them without these fields was made for them.
    """
    for service in services:
        if not allowed(service.metadata.labels, cluster.metadata.name):
            found = (field for each in pods if (field := each.field(service.spec.selector)))
            for field in dict.fromkeys(found):
                yield field, service.metadata.name
