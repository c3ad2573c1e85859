"""How long a plan may prepare before it stops a member.

The database may take a minute to prepare: a flush waits for copies on a node that hangs, and a busy manager leaves a
change of settings in its queue. Then the plan is older than the failure that delayed it, and is made again first.
"""

from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.planning.model.actions import Action, DeletePod, DeleteVolume, Flush, Release, SetPhase, StopProcess
from stateward.planning.model.phase import STOPPING

LONG = 5.0
"""Seconds after whose preparation a plan stops no member and deletes no volume."""
KEPT = 60.0
"""Seconds for which a flush counts for the plan that is made again: otherwise a slow one would delay each plan."""


class Preparation:
    """The preparation of the plan of each cluster; safe to use for several clusters at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._delayed: dict[Key, float] = {}
        """When a plan was left for the next round because its preparation had taken long."""

    def begin(self) -> float:
        """Return the time at which the actions of a plan begin."""
        return self._clock.monotonic()

    def takes_long(self, key: Key, action: Action, began: float) -> bool:
        """Return whether an action has to wait for a plan that is made again.

        The disaster this prevents: a member hangs just after the database was read, the flush waits for its copies
        until it is removed from the cluster, and then the member with the last other copies is stopped.
        """
        now = self._clock.monotonic()
        if not stops(action) or now - began <= LONG:
            return False
        self._delayed[key] = now
        return True

    def done_before(self, key: Key, action: Action) -> bool:
        """Return whether an action is the flush that the plan before has waited for; it counts once."""
        if not isinstance(action, Flush):
            return False
        delayed = self._delayed.pop(key, None)
        return delayed is not None and self._clock.monotonic() - delayed <= KEPT

    def forget(self, key: Key) -> None:
        """Forget a cluster that is gone."""
        self._delayed.pop(key, None)


def stops(action: Action) -> bool:
    """Return whether an action stops a member, or begins to, or deletes what it leaves."""
    if isinstance(action, SetPhase):
        return action.phase in STOPPING
    return isinstance(action, DeletePod | StopProcess | Release | DeleteVolume)
