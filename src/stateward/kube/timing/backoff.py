"""Waiting longer after each failure, with jitter so that many clients do not come back at the same instant."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential delays in seconds: `first`, times `factor` each time, at most `longest`.

    `jitter` is the share of the delay that is drawn at random: 0.5 gives between 0.5 and 1.0 of it.
    """

    first: float = 0.5
    longest: float = 30.0
    factor: float = 2.0
    jitter: float = 0.5

    def delay(self, failures: int, chance: random.Random) -> float:
        """Return the seconds to wait after `failures` failures in a row (1 or more)."""
        # The exponent is bounded because a float overflows long before a stream has failed for a week.
        full = min(self.longest, self.first * self.factor ** min(failures - 1, 60))
        return full * (1.0 - self.jitter * chance.random())
