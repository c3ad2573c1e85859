"""The durations of a forecast: measured on the cluster if possible, otherwise assumed."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct

STEP = 1.0
"""Seconds between two rounds while the operator has something to do: its own writes wake it, once a second.

Source: `stateward.kube.queue.event_pace`; in the benchmark `forecasts`, half of the pauses between actions are 1.0 s.
"""
REACTION = 1.5
"""Seconds until the operator notices a change of the database, usually: half of its resync interval."""
SOON_SHARE = 1 / 3
"""The share of this for what an event of Kubernetes reports, while a process restarts in its pod, and for copies that
recover soon after a step: the next round comes within a second then, not within three.
"""
NEW_POD = 3.0
"""Seconds that a new pod needs more than a process in a kept one.

Source: the parts of absences in docs/measurements.md, measured by the benchmark `inplace`.
"""
STOP_SHARE = 0.1
"""The share of the stop in the absence of a process whose pod is kept; its data is flushed before. Source: the same."""
RECENTLY = 5.0
"""For how many seconds after a step the operator looks as soon at recovering copies as at what Kubernetes reports."""
CROWD = 2.5
"""How many times as long a start takes as usual if all members of a cluster start at once, assumed.

They wait for each other, form the cluster again, and may share machines. Source: on a machine of its own a member
starts as fast as alone; six members on two cores took three to five times as long (the benchmark `forecasts`).
"""
LEAST = 0.5
"""Seconds that a process needs to start, or a volume to be expanded, at least."""


class News(StrEnum):
    """What is new for the operator since its last round."""

    NOTHING = ""
    SILENT = "silent"
    """A change of the database, which reports no event."""
    EVENT = "event"
    """A change of a pod or a volume, which Kubernetes reports."""


class Durations(Struct, frozen=True):
    """Times in seconds, rates in bytes a second."""

    start: float = 60.0
    """From the creation of a pod until its member serves."""
    starts: Mapping[str, float] = {}
    """The same by pool, if it is known."""
    restarts: Mapping[str, float] = {}
    """By pool, how long a member is away while its process is restarted in its pod, if it is known."""
    together: Mapping[str, float] = {}
    """By pool, how long a member is away while all processes of the cluster are restarted in their pods, if known."""
    crowd: float = CROWD
    """What starts of all members at once take, as a multiple of the usual, where `together` does not say it."""
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
    grow: float = 15.0
    """Until a volume is expanded. Assumed: local storage takes a second or two, disks of a cloud up to two minutes."""
    delay: float = 60.0
    """Until a copy of a departed node is recreated. Source: `index.unassigned.node_left.delayed_timeout`."""

    factor: Callable[[str, bool], float] | None = None
    """By member, and whether it is new: what its next start takes, as a multiple of the usual; None: as long."""
    reaction_factor: Callable[[], float] | None = None
    """How soon the operator notices the next change, as a multiple of the usual; None if always as soon."""

    def start_of(self, pool: str, member: str = "", *, new: bool = False, together: bool = False) -> float:
        """Return the duration of the next start of a member of a pool.

        It is `new` if it was never in the cluster; `together` says whether all members start at once.
        """
        usual = self.starts.get(pool, self.start)
        if together:
            usual = in_a_new_pod(self.together[pool]) if pool in self.together else usual * self.crowd
        return usual if self.factor is None else usual * self.factor(member, new)

    def absence(self, pool: str, *, together: bool = False) -> float:
        """Return how long a member is away while its process, or all of them, are restarted in their pods, usually."""
        alone = self.restarts.get(pool, in_a_kept_pod(self.starts.get(pool, self.start)))
        return self.together.get(pool, alone * self.crowd) if together else alone

    def stop_of_process(self, pool: str) -> float:
        """Return the duration of the stop of a process whose pod is kept."""
        return min(self.stop, STOP_SHARE * self.absence(pool))

    def start_of_process(self, pool: str, member: str = "", *, together: bool = False) -> float:
        """Return the duration of the next start of a member's process in its pod, or of all members at once.

        An absence lasts from the request to stop the process until the operator has noticed that the member serves. In
        between it noticed the end of the process, in the next round at the earliest.
        """
        noticing = REACTION * SOON_SHARE
        stop = self.stop_of_process(pool)
        until_start = STEP if stop <= STEP else stop + noticing
        usual = max(LEAST, self.absence(pool, together=together) - until_start - noticing)
        return usual if self.factor is None else usual * self.factor(member, False)

    def reaction_to(self, news: News, *, closely: bool) -> float:
        """Return the seconds until the operator notices a change, which it does sooner while it looks `closely`."""
        usual = REACTION * (SOON_SHARE if closely or news is News.EVENT else 1.0)
        return usual if self.reaction_factor is None else usual * self.reaction_factor()


def in_a_new_pod(absence: float) -> float:
    """Return the start of a member in a new pod, from its absence when its process was restarted in a kept one."""
    return absence * (1 - STOP_SHARE) + NEW_POD


def in_a_kept_pod(start: float) -> float:
    """Return the absence of a member whose process is restarted in its pod, from its start in a new one."""
    return max(LEAST, (start - NEW_POD) / (1 - STOP_SHARE))
