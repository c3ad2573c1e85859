"""Parts of a cluster's status about what is beside its database.

Only these fields are written, and only to the state of the cluster that was read: the rounds of the database write the
others, with the same precondition, so that neither overwrites the other.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Record
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import Conflict, Invalid
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.resource import Resource

Part = Record | Sequence[Record]
"""The value of one field of the status."""


class StatusParts:
    """Writes parts of the status of one cluster, and tells people what has changed; `action` is that of the events."""

    def __init__(self, api: Api, kind: Resource[Any], recorder: EventRecorder, live: Cluster, action: str) -> None:
        self._api = api
        self._kind = kind
        self._recorder = recorder
        self._action = action
        self.live = live
        """The cluster as it was read, or written last."""

    async def write(self, parts: Mapping[str, tuple[Part | None, Part | None]]) -> None:
        """Write fields of the status from what they are to what they are to be.

        Raises Conflict if the cluster has changed, ApiError.
        """
        meta = self.live.metadata
        patch: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/uid", "value": meta.uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
        ]
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

    def tell(self, severity: Severity, reason: str, note: str) -> None:
        """Record an event about the cluster."""
        self._recorder.record(Occurrence(about(self._kind, self.live), severity, reason, self._action, note[:900]))
