"""The parts of a cluster's status about its dashboards and routes: written beside those of the database."""

from typing import Any

import msgspec

from stateward.api.kinds.access.dashboards import DashboardsStatus
from stateward.api.kinds.access.routes import RoutesStatus
from stateward.api.kinds.cluster import Cluster
from stateward.api.values.conditions import readable
from stateward.engines.search.dashboards.decision import Decision
from stateward.kube.client.client import Api
from stateward.kube.events.event_record import Severity
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.resource import Resource
from stateward.operator.beside.status_parts import StatusParts
from stateward.planning.model.times import rfc3339

ACTION = "Dashboards"
NORMAL = frozenset(
    {
        "DashboardsStarting",
        "DashboardsStopping",
        "DashboardsRemoving",
        "DashboardsWaitForCluster",
        "DashboardsWaitForUpgrade",
    }
)
"""Reasons that end by themselves; all others are warnings."""


def dashboards_status(
    before: DashboardsStatus | None, made: Decision, *, replicas: int, ready: int, url: str, now: float
) -> DashboardsStatus:
    """Return the status after a decision at time `now`, in seconds since the epoch."""
    known = before or DashboardsStatus()
    after = DashboardsStatus(
        version=made.version or known.version,
        replicas=replicas,
        ready=ready,
        available=made.available,
        url=url,
        reason=made.reason,
        message=made.message,
    )
    return dated(known, after, now)


def stopped(before: DashboardsStatus | None, reason: str, message: str, now: float) -> DashboardsStatus:
    """Return the status of dashboards that wait for something else; what is known of them stays."""
    known = before or DashboardsStatus()
    return dated(known, msgspec.structs.replace(known, available=False, reason=reason, message=message), now)


def dated(before: DashboardsStatus, after: DashboardsStatus, now: float) -> DashboardsStatus:
    """Return a status with the time of its state: that of before, if the state is the same."""
    same = (before.reason, before.available, before.version) == (after.reason, after.available, after.version)
    since = before.since_time if same and before.since_time else rfc3339(now)
    return msgspec.structs.replace(after, since_time=since)


class Reporter(StatusParts):
    """Writes the status of one cluster's dashboards and routes, and tells people what has changed."""

    def __init__(self, api: Api, kind: Resource[Any], recorder: EventRecorder, live: Cluster) -> None:
        super().__init__(api, kind, recorder, live, ACTION)

    async def report(self, dashboards: DashboardsStatus | None, routes: RoutesStatus | None) -> None:
        """Write both parts, if they have changed; raises Conflict if the cluster has changed, ApiError."""
        status = self.live.status
        dashboards, routes = readable(dashboards) if dashboards else None, readable(routes) if routes else None
        if (status.dashboards, status.routes) == (dashboards, routes):
            return
        self._announce(status.dashboards, dashboards)
        if routes is not None and routes.reason and (status.routes is None or status.routes.reason != routes.reason):
            self.tell(Severity.WARNING, routes.reason, routes.message)
        await self.write({"dashboards": (status.dashboards, dashboards), "routes": (status.routes, routes)})

    def _announce(self, before: DashboardsStatus | None, after: DashboardsStatus | None) -> None:
        if after is None:
            self.tell(Severity.NORMAL, "DashboardsRemoved", "the dashboards are removed")
        elif after.reason and (before is None or before.reason != after.reason):
            severity = Severity.NORMAL if after.reason in NORMAL else Severity.WARNING
            self.tell(severity, after.reason, f"dashboards: {after.message}")
        elif after.available and (before is None or not before.available):
            self.tell(Severity.NORMAL, "DashboardsAvailable", f"dashboards: {after.ready} of {after.version} serve")
