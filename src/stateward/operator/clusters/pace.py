"""The pace of a cluster: its resync interval if no event reports a change, and how often its status is written.

Resyncs of settled clusters are spread over the whole period, each cluster at its own moment. Otherwise all clusters
that were reconciled together (after a start, or after a watch restarted) would stay together: a burst of work once a
minute, during which an event waits behind every cluster that is only resynced.
"""

from collections.abc import Sequence
from zlib import crc32

from stateward.api.kinds.status import ClusterStatus
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.planning.facts.debounce import SETTLING
from stateward.planning.model.actions import Action
from stateward.planning.model.observation import Database, Health, Observation
from stateward.planning.model.times import parse_time
from stateward.planning.plan import Plan

CLOSELY_SECONDS = 1.0
"""Seconds until the next reconciliation while something ends soon that causes no event (`changes_soon`)."""
RECENTLY_SECONDS = 5.0
"""For how long after a step copies that are not there yet count as ending soon: if a copy's data is on its node, it is
often back within a second.
"""
BUSY_SECONDS = 3.0
"""Seconds until the next reconciliation while work is in progress: the database reports no event when a shard has
moved.
"""
STUCK_SECONDS = 30.0
"""The longest interval of a cluster without progress for a long time."""
STUCK_SHARE = 1 / 200
"""The share of the time without progress that may pass until the next reconciliation: 3 s after 10 minutes, 30 s after
100. The end of a wait of days that causes no event is noticed half a minute later; until then the database gets few
requests.
"""
SETTLED_SECONDS = 60.0
"""The resync interval of a cluster that matches its spec."""
SILENT_SHARE = 1 / 10
"""The share of the time without progress that may pass until a database that does not answer is asked again, at most
`SETTLED_SECONDS`. Usually a pod that becomes Ready reports the end of its silence, and that causes a reconciliation at
once. If the network or a certificate is the cause, all databases may be silent together: 500 of them would need a whole
core every three seconds.
"""
STATUS_SECONDS = 10.0
"""The shortest time between a write of a status and the next one if only sentences, counts and times have changed."""
STATE_SECONDS = 5.0
"""The same if a member has changed its state."""
LASTING_SECONDS = 2.0
"""How long the states of members must have lasted before they are written: most states of a restart pass. States that
never last are written with the sentences."""


def next_reconciliation(
    key: Key, *, settled: bool, now: float, closely: bool = False, silent: bool = False, idle: float = 0.0
) -> float:
    """Return the seconds until the next reconciliation at time `now` (seconds since the epoch).

    `idle` is the time in seconds without progress of a cluster that is not settled; `silent` is whether its database
    did not answer. The first resync of a settled
    cluster comes after 0.5 to 1.5 periods, all later ones after one. The moment depends only on the name, so it is the
    same in every process.
    """
    if not settled and silent and not closely:
        return max(BUSY_SECONDS, min(SETTLED_SECONDS, idle * SILENT_SHARE))
    if not settled:
        return max(CLOSELY_SECONDS if closely else BUSY_SECONDS, min(STUCK_SECONDS, idle * STUCK_SHARE))
    moment = crc32(str(key).encode()) / 2**32 * SETTLED_SECONDS
    earliest = SETTLED_SECONDS / 2
    return earliest + (moment - now - earliest) % SETTLED_SECONDS


def changes_soon(observed: Observation, made: Plan, idle: float) -> bool:
    """Return whether something ends soon that causes no event; `idle` is the time in seconds without progress.

    A process restarts in its pod, and every second without it counts; or changes settle; or a step has just ended, and
    the database recovers copies.
    """
    restarts = any(member.pod is not None and member.pod.phase for member in observed.members)
    settles = any(wait.reason == SETTLING for wait in made.waits)
    database = observed.database
    recovers = isinstance(database, Database) and database.health is not Health.GREEN and idle < RECENTLY_SECONDS
    return restarts or settles or recovers


def repeats_previous_round(actions: Sequence[Action], before: Sequence[Action]) -> bool:
    """Return whether a round did nothing, or only what the previous round had done without effect.

    Rounds that send commands to the database read everything live. A drain that the database refuses for hours would
    cause that in each round.
    """
    return all(action in before for action in actions)


def seconds_without_progress(status: ClusterStatus, now: float) -> float:
    """Return for how long, in seconds, nothing has moved on in a cluster: no progress, and no new reason to wait."""
    times = [parse_time(text) for text in (status.last_progress_time, *(wait.since_time for wait in status.waiting))]
    return max(0.0, now - max((when for when in times if when is not None), default=now))


class StatusPace:
    """When the status of each cluster may be written: changes that are not urgent are written together."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._written: dict[Key, float] = {}
        self._differs: dict[Key, float] = {}
        """Since when the status of a cluster differs from the written one."""
        self._states: dict[Key, tuple[object, float]] = {}
        """The states that are not written yet, and since when they last."""

    def seconds_left(self, key: Key, states: object = None) -> float:
        """Return the seconds until a change that is not urgent may be written; 0 or less: now.

        `states` are those of the members if one of them has changed, else None.

        The bound holds however often members change their states. Plans do not rely on what waits.
        """
        now = self._clock.monotonic()
        written = self._written.get(key, now - STATUS_SECONDS)
        differs = self._differs.setdefault(key, now)
        if states is None:
            self._states.pop(key, None)
            return max(differs + LASTING_SECONDS, written + STATUS_SECONDS) - now
        known = self._states.get(key)
        if known is None or known[0] != states:
            known = self._states[key] = (states, now)
        lasting = max(known[1] + LASTING_SECONDS, written + STATE_SECONDS)
        return min(lasting, max(differs, written) + STATUS_SECONDS) - now

    def same(self, key: Key) -> None:
        """Note that the status is as it is written."""
        self._differs.pop(key, None)
        self._states.pop(key, None)

    def wrote(self, key: Key) -> None:
        """Note that the status is written now."""
        self._written[key] = self._clock.monotonic()
        self.same(key)

    def forget(self, key: Key) -> None:
        """Drop what is known of a cluster that is gone."""
        self._written.pop(key, None)
        self.same(key)
