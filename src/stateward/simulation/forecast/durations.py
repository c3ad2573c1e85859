"""How long things take: what a forecast of time is made from. Measured where the cluster tells, or else assumed."""

from collections.abc import Mapping

from msgspec import Struct


class Durations(Struct, frozen=True):
    """Times in seconds, rates in bytes a second."""

    start: float = 60.0
    """From the making of a pod until its member serves in the database."""
    starts: Mapping[str, float] = {}
    """The same by pool, where it is known."""
    stop: float = 10.0
    """From the deletion of a pod until it is gone."""
    rate: float = 40.0 * 2**20
    """What one node takes of recovering copies. Source: the default of `indices.recovery.max_bytes_per_sec`."""
    at_once: int = 2
    """Copies that a node takes, and gives, at once. Source: the default of `node_concurrent_recoveries`."""
    reopen: float = 2.0
    """For a copy whose data is on the node already and whose primary has gone on."""
    overhead: float = 1.0
    """Added to each copy that is recreated or moved, besides its bytes."""
    grow: float = 30.0
    """Until a larger volume is there."""
    reaction: float = 1.5
    """Until the operator sees what the database does not tell by itself: half of the time between two looks."""
    delay: float = 60.0
    """Until a copy whose node left is recreated. Source: `index.unassigned.node_left.delayed_timeout`."""

    def start_of(self, pool: str) -> float:
        """Return how long a member of a pool takes to serve."""
        return self.starts.get(pool, self.start)
