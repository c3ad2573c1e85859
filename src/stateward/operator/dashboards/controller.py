"""The controller of dashboards and routes."""

from dataclasses import dataclass

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.operator.beside.control import BesideControl, Setting, Tools
from stateward.operator.beside.owned import Memo
from stateward.operator.dashboards.health import AsksHealth
from stateward.operator.dashboards.reconcile import Asks, Round
from stateward.operator.security.given_secrets import GivenSecrets


@dataclass(frozen=True, slots=True)
class DashboardsPart:
    """Dashboards and routes, as the control of what is beside clusters sees them."""

    asks: Asks
    name: str = "dashboards"
    label: str = names.LABEL_DASHBOARDS

    def matters(self, cluster: Cluster) -> tuple[object, ...] | None:
        """Return what of a cluster begins a round if it changes; None without dashboards, routes and their rests."""
        if not isinstance(cluster, SearchCluster):
            return None
        status, spec = cluster.status, cluster.spec
        asked = (spec.dashboards or spec.routes) is not None
        if not asked and status.dashboards is None and status.routes is None:
            return None
        return (spec.dashboards, spec.routes)

    def round(self, tools: Tools, live: Cluster, memo: Memo) -> Round:
        """Return a round of a cluster; raises TypeError if its engine has no dashboards."""
        if not isinstance(live, SearchCluster):
            raise TypeError(f"{type(live).__name__} has no dashboards")
        return Round(tools, self.asks, live, memo)


def dashboards_control(setting: Setting, health: AsksHealth, *, routes: bool) -> BesideControl:
    """Return the control of dashboards and routes; `health` asks instances, `routes` is whether routes are made."""
    given = GivenSecrets(setting.api, setting.clock, labelled=setting.labelled)
    return BesideControl(setting, DashboardsPart(Asks(given, health, routes)))
