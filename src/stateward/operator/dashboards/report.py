"""The parts of a cluster's status about its dashboards and routes: written beside those of the database.

Only these fields are written, and only to the state of the cluster that was read: the rounds of the database write the
others, with the same precondition, so that neither overwrites the other.
"""

from typing import Any

import msgspec

from stateward.api.kinds.access.dashboards import DashboardsStatus
from stateward.api.kinds.access.routes import RoutesStatus
from stateward.api.kinds.cluster import Cluster
from stateward.engines.search.dashboards.decision import Decision
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import Conflict, Invalid
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.resource import Resource
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


class Reporter:
    """Writes the status of one cluster, and tells people what has changed."""

    def __init__(self, api: Api, kind: Resource[Any], recorder: EventRecorder, live: Cluster) -> None:
        self._api = api
        self._kind = kind
        self._recorder = recorder
        self.live = live
        """The cluster as it was read, or written last."""

    async def write(self, dashboards: DashboardsStatus | None, routes: RoutesStatus | None) -> None:
        """Write both parts, if they have changed; raises Conflict if the cluster has changed, ApiError."""
        status = self.live.status
        if (status.dashboards, status.routes) == (dashboards, routes):
            return
        self._announce(status.dashboards, dashboards)
        if routes is not None and routes.reason and (status.routes is None or status.routes.reason != routes.reason):
            self._tell(Severity.WARNING, routes.reason, routes.message)
        meta = self.live.metadata
        patch: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/uid", "value": meta.uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
        ]
        parts = {"dashboards": (status.dashboards, dashboards), "routes": (status.routes, routes)}
        for name, (before, after) in parts.items():
            path = f"/status/{name}"
            if after is not None:
                patch.append({"op": "add", "path": path, "value": msgspec.to_builtins(after)})
            elif before is not None:
                patch.append({"op": "remove", "path": path})
        try:
            self.live = await self._api.patch(
                self._kind, key_of(self.live), patch, kind=PatchKind.JSON, subresource="status"
            )
        except Invalid as error:
            if error.causes:
                raise
            # The server's message for a failed precondition: the cluster was edited in between.
            raise Conflict(f"{key_of(self.live)} has changed since it was read") from error

    def _announce(self, before: DashboardsStatus | None, after: DashboardsStatus | None) -> None:
        if after is None:
            self._tell(Severity.NORMAL, "DashboardsRemoved", "the dashboards are removed")
        elif after.reason and (before is None or before.reason != after.reason):
            severity = Severity.NORMAL if after.reason in NORMAL else Severity.WARNING
            self._tell(severity, after.reason, f"dashboards: {after.message}")
        elif after.available and (before is None or not before.available):
            self._tell(Severity.NORMAL, "DashboardsAvailable", f"dashboards: {after.ready} of {after.version} serve")

    def _tell(self, severity: Severity, reason: str, note: str) -> None:
        self._recorder.record(Occurrence(about(self._kind, self.live), severity, reason, ACTION, note[:900]))
