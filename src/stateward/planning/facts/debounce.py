"""Combines changes of data that come together into one restart: a member starts when nothing has changed for a while.

People and tools write one Secret after the other. Without this the first member would restart for the first Secret, and
again for the last. A restart in progress is not stopped, and a broken member is repaired with what is there.
"""

from collections.abc import Sequence

from stateward.api.values.settling import seconds_left
from stateward.planning.model.member import Changing, Inputs
from stateward.planning.model.referenced_data import KEPT, input_changed, is_referenced_data

SETTLING = "DataChanging"
"""Reason to wait: the data that a member uses has changed just now."""


def with_observed_change(before: Changing | None, was: Inputs, data: Inputs, now: float) -> Changing | None:
    """Return what is known of changes at time `now`, when the data was found to be so, and `was` that before."""
    if not data:
        return None
    if not any(input_changed(name, was, data) for name in was.keys() | data.keys()):
        return before
    if before is not None and seconds_left(before.since, before.last, now) > 0:
        return Changing(before.since, now)
    return Changing(now, now)


def is_settling(changing: Changing | None, names: Sequence[str], now: float) -> bool:
    """Return whether a change of these inputs waits at time `now`, as its data may change again."""
    if changing is None or not any(is_referenced_data(name) or name.startswith(f"{KEPT}/") for name in names):
        return False
    return seconds_left(changing.since, changing.last, now) > 0
