"""The controller of exporters of metrics."""

from dataclasses import dataclass

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.engines.exporter.objects import asked_of
from stateward.engines.foundationdb.exporter.objects import running
from stateward.operator.beside.control import BesideControl, Setting, Tools
from stateward.operator.beside.owned import Memo
from stateward.operator.exporters.health import AsksExporter
from stateward.operator.exporters.reconcile import Round


@dataclass(frozen=True, slots=True)
class ExportersPart:
    """Exporters, as the control of what is beside clusters sees them; `image` is the operator's own."""

    image: str
    ask: AsksExporter
    name: str = "metrics"
    label: str = names.LABEL_METRICS

    def matters(self, cluster: Cluster) -> tuple[object, ...] | None:
        """Return what of a cluster begins a round if it changes; None without an exporter and its rests."""
        asked = asked_of(cluster)
        if asked is None and cluster.status.metrics is None:
            return None
        programs = running(cluster) if isinstance(cluster, FoundationDBCluster) else ""
        return (asked, cluster.spec.image, cluster.status.bootstrap, programs)

    def round(self, tools: Tools, live: Cluster, memo: Memo) -> Round:
        """Return a round of a cluster."""
        return Round(tools, self.image, self.ask, live, memo)


def exporters_control(setting: Setting, image: str, ask: AsksExporter) -> BesideControl:
    """Return the control of exporters; `image` is the operator's own, empty if it does not know it."""
    return BesideControl(setting, ExportersPart(image, ask))
