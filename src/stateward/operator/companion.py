"""What runs beside the controller of clusters, in the same process and under the same lease."""

from typing import Protocol


class Companion(Protocol):
    """A controller of its own, with caches of its own; it begins to watch when this process is the one that works."""

    async def run(self) -> None:
        """Watch and work until cancelled, or until `stop`."""
        ...

    async def stop(self, grace: float) -> None:
        """Finish what was begun, within `grace` seconds."""
        ...
