"""How long a plan may prepare before it stops a member.

The database may take a minute to prepare: a flush waits for copies on a node that hangs, and a busy manager leaves a
change of settings in its queue. Then the plan is older than the failure that delayed it, and is made again first.
"""

from math import inf

from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.planning.after_refusal import needs_new_plan
from stateward.planning.model.actions import Action, Flush

LONG = 5.0
"""Seconds of preparation after which a plan stops no member and deletes no volume."""
KEPT = 60.0
"""Seconds for which a flush counts for the plan that is made again: otherwise a slow one would delay each plan."""


class Preparation:
    """The preparation of the plan of each cluster; safe to use for several clusters at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began: dict[Key, float] = {}
        """When the actions of the present plan began; minus infinity when something has failed since it was made."""
        self._delayed: dict[Key, float] = {}
        """When a plan was left for the next round."""

    def begin(self, key: Key) -> None:
        """Remember that the actions of a new plan begin."""
        self._began[key] = self._clock.monotonic()

    def flush_failed(self, key: Key) -> None:
        """Remember that a flush has failed: a copy may be gone that the plan relies on."""
        self._began[key] = -inf

    def is_outdated(self, key: Key, action: Action) -> bool:
        """Return whether an action has to wait for a plan that is made again.

        The disaster this prevents: a member hangs just after the database was read, the flush waits for its copies
        until it is removed from the cluster, and then the member with the last other copies is stopped.
        """
        now = self._clock.monotonic()
        if not needs_new_plan(action) or now - self._began.get(key, now) <= LONG:
            return False
        self._delayed[key] = now
        return True

    def done_before(self, key: Key, action: Action) -> bool:
        """Return whether an action is the flush that the plan before has tried; it counts once."""
        if not isinstance(action, Flush):
            return False
        delayed = self._delayed.pop(key, None)
        return delayed is not None and self._clock.monotonic() - delayed <= KEPT

    def forget(self, key: Key) -> None:
        """Forget a cluster that is gone."""
        self._began.pop(key, None)
        self._delayed.pop(key, None)
