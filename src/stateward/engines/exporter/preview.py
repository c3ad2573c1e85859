"""What a changed spec does to the exporter, in sentences for `plan`."""

from collections.abc import Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.engines.exporter.objects import asked_of


def exporter_notes(cluster: Cluster) -> Iterator[str]:
    """Yield the sentences about a cluster as offered, with the status that it has."""
    there = cluster.status.metrics is not None
    if (asked_of(cluster) is not None) is not there:
        yield "the exporter of metrics is removed" if there else "an exporter of metrics starts; no member changes"
