"""Delays that grow with each failure, with jitter so that clients do not all retry at the same time."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential delays in seconds: `first`, times `factor` each time, at most `longest`.

    `jitter` is the random share of the delay: 0.5 gives between 0.5 and 1.0 of it.
    """

    first: float = 0.5
    longest: float = 30.0
    factor: float = 2.0
    jitter: float = 0.5

    def delay(self, failures: int, rng: random.Random) -> float:
        """Return the seconds to wait after `failures` consecutive failures (1 or more)."""
        # The exponent is limited because a float overflows long before a stream has failed for a week.
        full = min(self.longest, self.first * self.factor ** min(failures - 1, 60))
        return full * (1.0 - self.jitter * rng.random())
