"""A clock that is as wrong as an operator's may be: by less than a minute, which the operator does not correct."""

import random
from datetime import datetime, timedelta

from stateward.kube.timing.clock import Clock

SHARE = 0.3
"""The part of all storms in which the operator has such clocks."""
COUNTED = "operator started with a wrong clock"
"""The counter name of the starts of operators with such a clock."""


def drawn(seed: int) -> bool:
    """Return whether the operator of a seed has such clocks, without a change of what else it draws."""
    return random.Random(f"{seed}/clocks").random() < SHARE  # noqa: S311 - the seed repeats the run


class WrongClock:
    """A clock whose wall time is wrong by a number of seconds."""

    def __init__(self, right: Clock, error: float) -> None:
        self._right_now, self._error = right.now, timedelta(seconds=error)
        self.monotonic, self.sleep, self.timeout = right.monotonic, right.sleep, right.timeout

    def now(self) -> datetime:
        """Return the wrong wall time in UTC."""
        return self._right_now() + self._error
