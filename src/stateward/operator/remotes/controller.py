"""The controller of remote clusters."""

from dataclasses import dataclass

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.operator.beside.control import BesideControl, Setting, Tools
from stateward.operator.beside.owned import Memo
from stateward.operator.remotes.reconcile import Round


@dataclass(frozen=True, slots=True)
class RemotesPart:
    """Remote clusters, as the control of what is beside clusters sees them."""

    name: str = "remotes"
    label: str = ""

    def matters(self, cluster: Cluster) -> tuple[object, ...] | None:
        """Return what of a cluster begins a round if it changes; None without remote clusters and their rests."""
        if not isinstance(cluster, SearchCluster):
            return None
        spec, status = cluster.spec, cluster.status
        if not spec.remote_clusters and spec.remote_access is None and not _left(cluster):
            return None
        return (spec.remote_clusters, spec.remote_access, status.bootstrap)

    def round(self, tools: Tools, live: Cluster, memo: Memo) -> Round:
        """Return a round of a cluster; raises TypeError if its engine has no remote clusters."""
        if not isinstance(live, SearchCluster):
            raise TypeError(f"{type(live).__name__} has no remote clusters")
        return Round(tools, live, memo)


def _left(cluster: SearchCluster) -> bool:
    return bool(cluster.status.remote_clusters) or cluster.status.remote_access is not None


def remotes_control(setting: Setting) -> BesideControl:
    """Return the control of remote clusters."""
    return BesideControl(setting, RemotesPart())
