"""Stand-ins that record what a round writes and says."""

from types import SimpleNamespace
from typing import Any

from stateward.kube.timing.virtual_time import VirtualClock


class RecordingApi:
    """An API server that accepts each patch of a status, and changes nothing."""

    def __init__(self, live: Any) -> None:
        self.live = live
        self.patches: list[Any] = []

    async def patch(self, resource: Any, key: Any, patch: Any, **options: Any) -> Any:
        self.patches.append(patch)
        return self.live


class Said:
    """A recorder of events that keeps their reasons."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def record(self, occurrence: Any) -> None:
        self.reasons.append(occurrence.reason)


def tools(api: Any, kind: Any, said: Said) -> Any:
    """Return what the rounds beside a cluster need as long as they ask no database."""
    return SimpleNamespace(api=api, kind=kind, recorder=said, clock=VirtualClock(), engine="opensearch")
