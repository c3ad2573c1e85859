"""The parts of a cluster's status about remote clusters, and the events about them."""

from typing import Any

from msgspec.structs import replace

from stateward.api.kinds.access.remote import RemoteAccessStatus, RemoteClusterStatus
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.conditions import readable
from stateward.kube.client.client import Api
from stateward.kube.events.event_record import Severity
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.resource import Resource
from stateward.operator.beside.status_parts import StatusParts
from stateward.planning.model.times import rfc3339

ACTION = "RemoteClusters"
CONNECTED, WAITING, REMOVING = "Connected", "Waiting", "Removing"
NORMAL = frozenset({"RemoteClusterConnecting", "RemoteClusterRemoving", "RemoteClusterWaitForDatabase"})
"""Reasons that usually end by themselves; all others are warnings."""

Known = dict[str, RemoteClusterStatus]
"""Statuses by alias."""


def dated(before: RemoteClusterStatus | None, after: RemoteClusterStatus, now: float) -> RemoteClusterStatus:
    """Return a status with the time of its state: that of before, if the state is the same."""
    if before is not None and (before.state, before.reason) == (after.state, after.reason) and before.since_time:
        return replace(after, since_time=before.since_time)
    return replace(after, since_time=rfc3339(now))


class Reporter(StatusParts):
    """Writes what is known of one cluster's remote clusters, and tells people what has changed."""

    def __init__(self, api: Api, kind: Resource[Any], recorder: EventRecorder, live: SearchCluster) -> None:
        super().__init__(api, kind, recorder, live, ACTION)

    @property
    def known(self) -> Known:
        """What the status says now, by alias."""
        return {each.name: each for each in self.live.status.remote_clusters or ()}

    async def report(self, after: Known, access: RemoteAccessStatus | None) -> None:
        """Write both parts, if they have changed; raises Conflict if the cluster has changed, ApiError."""
        before, known = self.live.status.remote_access, self.live.status.remote_clusters
        after, access = {alias: readable(each) for alias, each in after.items()}, readable(access) if access else None
        listed = list(after.values()) or None
        if (listed, access) == (known or None, before):
            return
        for alias, status in after.items():
            self._tell(self.known.get(alias), status)
        for alias in self.known.keys() - after.keys():
            self.tell(Severity.NORMAL, "RemoteClusterRemoved", f"remote cluster {alias}: it is removed")
        if access is not None and access.reason and (before is None or before.reason != access.reason):
            self.tell(Severity.WARNING, access.reason, access.message)
        await self.write({"remoteClusters": (known, listed), "remoteAccess": (before, access)})

    def left(self, alias: str) -> None:
        """Tell that an alias stays in the database as a person has set it."""
        note = f"remote cluster {alias}: its settings in the database were changed by hand, so they stay"
        self.tell(Severity.WARNING, "RemoteClusterLeft", note)

    def _tell(self, before: RemoteClusterStatus | None, after: RemoteClusterStatus) -> None:
        if before is not None and (before.state, before.reason) == (after.state, after.reason):
            return
        if after.reason:
            severity = Severity.NORMAL if after.reason in NORMAL else Severity.WARNING
            self.tell(severity, after.reason, f"remote cluster {after.name}: {after.message}")
        elif after.state == CONNECTED:
            self.tell(Severity.NORMAL, "RemoteClusterConnected", f"remote cluster {after.name}: {after.cluster}")
