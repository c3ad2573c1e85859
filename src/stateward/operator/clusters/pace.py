"""How soon a cluster is looked at again when no event tells of a change.

The looks at settled clusters are spread over the whole period, each cluster at a moment of its own. Without that, all
clusters that were looked at together (after a start, or after a watch began anew) would be looked at together for ever:
a burst of work once a minute, during which an event waits behind every cluster that is only looked at in passing.
"""

from collections.abc import Sequence
from zlib import crc32

from stateward.api.kinds.status import ClusterStatus
from stateward.kube.objects.metadata import Key
from stateward.planning.model.actions import Action
from stateward.planning.model.times import parse_time

CLOSELY_SECONDS = 1.0
"""How soon to look again while a process is restarted in its pod, as every second that it is away counts, and while
changes settle."""
BUSY_SECONDS = 3.0
"""How soon to look again while something goes on: the database tells no one when a shard has moved."""
STUCK_SECONDS = 30.0
"""How soon to look again, at the latest, at a cluster in which nothing has moved on for long."""
STUCK_SHARE = 1 / 200
"""Which share of the time without progress may pass until the next look: 3 s after 10 minutes, 30 s after 100. What
ends a wait after days, and causes no event, is seen half a minute later; until then the database is left in peace."""
SETTLED_SECONDS = 60.0
"""How often to look at a cluster that is as it should be."""


def next_look(key: Key, *, settled: bool, now: float, closely: bool = False, idle: float = 0.0) -> float:
    """Return the seconds until the next look at time `now` (seconds since the epoch).

    `idle` is for how long, in seconds, nothing has moved on in a cluster that is not settled. The first look at a
    settled cluster comes after half a period to one and a half, all later ones after one. The moment depends on nothing
    but the name, so that it is the same in every process.
    """
    if not settled:
        return max(CLOSELY_SECONDS if closely else BUSY_SECONDS, min(STUCK_SECONDS, idle * STUCK_SHARE))
    moment = crc32(str(key).encode()) / 2**32 * SETTLED_SECONDS
    earliest = SETTLED_SECONDS / 2
    return earliest + (moment - now - earliest) % SETTLED_SECONDS


def repeats(actions: Sequence[Action], before: Sequence[Action]) -> bool:
    """Return whether a round did nothing, or only what the round before had done to no avail.

    Rounds that tell the database something read everything live. Of a drain that the database refuses for hours, each
    look would do so.
    """
    return all(action in before for action in actions)


def stillness(status: ClusterStatus, now: float) -> float:
    """Return for how long, in seconds, nothing has moved on in a cluster: no progress, and no new reason to wait."""
    times = [parse_time(text) for text in (status.last_progress, *(wait.since for wait in status.waiting))]
    return max(0.0, now - max((when for when in times if when is not None), default=now))
