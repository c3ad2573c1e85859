"""The part of a cluster's status about its exporter, and the events about it."""

from typing import Any

import msgspec

from stateward.api.kinds.access.metrics import MetricsStatus
from stateward.api.kinds.cluster import Cluster
from stateward.api.values.conditions import readable
from stateward.kube.client.client import Api
from stateward.kube.events.event_record import Severity
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.resource import Resource
from stateward.operator.beside.status_parts import StatusParts
from stateward.planning.model.times import rfc3339

ACTION = "Metrics"
NORMAL = frozenset({"MetricsStarting", "MetricsRemoving", "MetricsWaitForDatabase"})
"""Reasons that end by themselves; all others are warnings."""


def dated(before: MetricsStatus | None, after: MetricsStatus, now: float) -> MetricsStatus:
    """Return a status with the time of its state: that of before, if the state is the same."""
    known = before or MetricsStatus()
    same = (known.reason, known.available) == (after.reason, after.available)
    since = known.since_time if same and known.since_time else rfc3339(now)
    return msgspec.structs.replace(after, since_time=since)


def stopped(before: MetricsStatus | None, reason: str, message: str, now: float) -> MetricsStatus:
    """Return the status of an exporter that waits for something; what is known of it stays."""
    known = before or MetricsStatus()
    return dated(known, msgspec.structs.replace(known, available=False, reason=reason, message=message), now)


class Reporter(StatusParts):
    """Writes the status of one cluster's exporter, and tells people what has changed."""

    def __init__(self, api: Api, kind: Resource[Any], recorder: EventRecorder, live: Cluster) -> None:
        super().__init__(api, kind, recorder, live, ACTION)

    async def report(self, after: MetricsStatus | None) -> None:
        """Write the part, if it has changed; raises Conflict if the cluster has changed, ApiError."""
        before, after = self.live.status.metrics, readable(after) if after else None
        if before == after:
            return
        if after is None:
            self.tell(Severity.NORMAL, "MetricsRemoved", "the exporter of metrics is removed")
        elif after.reason and (before is None or before.reason != after.reason):
            severity = Severity.NORMAL if after.reason in NORMAL else Severity.WARNING
            self.tell(severity, after.reason, f"metrics: {after.message}")
        elif after.available and (before is None or not before.available):
            self.tell(Severity.NORMAL, "MetricsAvailable", f"metrics: served at {after.url}")
        await self.write({"metrics": (before, after)})
