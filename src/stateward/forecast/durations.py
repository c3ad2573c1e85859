"""The durations of a forecast: measured on the cluster if possible, otherwise assumed."""

from collections.abc import Callable, Mapping

from msgspec import Struct

STEP = 0.4
"""Seconds between two rounds while the operator has something to do: its own writes wake it.

Source: the benchmark `forecasts`, restarts of six members in kept pods.
"""
REACTION = 1.5
"""Seconds until the operator notices a change of the database, usually: half of its resync interval."""


class Durations(Struct, frozen=True):
    """Times in seconds, rates in bytes a second."""

    start: float = 60.0
    """From the creation of a pod until its member serves."""
    starts: Mapping[str, float] = {}
    """The same by pool, if it is known."""
    restarts: Mapping[str, float] = {}
    """By pool, how long a member is away while its process is restarted in its pod, if it is known."""
    stop: float = 10.0
    """From the request to delete a pod until its end."""
    rate: float = 40.0 * 2**20
    """The recovery throughput of one node. Source: the default of `indices.recovery.max_bytes_per_sec`."""
    at_once: int = 2
    """Concurrent incoming, and outgoing, recoveries of a node. Source: the default of `node_concurrent_recoveries`."""
    reopen: float = 2.0
    """For a copy whose data is already on the node."""
    overhead: float = 1.0
    """Added to each recreated or moved copy."""
    grow: float = 30.0
    """Until a volume is expanded."""
    reaction: float = REACTION
    """Until the operator notices a change of the database."""
    delay: float = 60.0
    """Until a copy of a departed node is recreated. Source: `index.unassigned.node_left.delayed_timeout`."""

    factor: Callable[[str], float] | None = None
    """By member: what its next start takes, as a multiple of the usual; None if every start takes as long."""

    def start_of(self, pool: str, member: str = "") -> float:
        """Return the duration of the next start of a member of a pool."""
        usual = self.starts.get(pool, self.start)
        return usual if self.factor is None else usual * self.factor(member)

    def stop_of_process(self, pool: str) -> float:
        """Return the duration of the stop of a process whose pod is kept."""
        return min(self.stop, self._busy(pool) / 2) if pool in self.restarts else self.stop

    def start_of_process(self, pool: str, member: str) -> float:
        """Return the duration of the next start of a member's process in its pod."""
        if pool not in self.restarts:
            return self.start_of(pool, member)
        usual = self._busy(pool) - self.stop_of_process(pool)
        return usual if self.factor is None else usual * self.factor(member)

    def _busy(self, pool: str) -> float:
        """Return for how long the process stops and starts: the absence without what the operator takes in between.

        It notices the end of the process, requests the start in the next round, and notices that the member serves.
        """
        return max(1.0, self.restarts[pool] - 2 * REACTION - STEP)
