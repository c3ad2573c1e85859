"""How fast a disk fills, from a bounded number of measurements, and when it will be full."""

from collections.abc import Sequence
from itertools import combinations
from statistics import median

from stateward.planning.model.observation import DiskSample

LIMIT = 24
"""Number of measurements that are kept."""
PERIOD = 7 * 86_400.0
"""Seconds for which a measurement is kept: it covers the daily and the weekly rhythm of most indices."""
SHORTEST = 3600.0
"""Seconds between two measurements at least: each one is a write of the status."""
ENOUGH = 4
"""Number of measurements without which no rate is known."""
ENOUGH_SECONDS = 6 * 3600.0
"""Seconds that they have to cover: the copy of a shard that arrives must not look like a disk that fills."""
HORIZON = 365 * 86_400.0
"""Seconds beyond which no forecast is made."""


def with_sample(samples: Sequence[DiskSample], new: DiskSample) -> tuple[DiskSample, ...]:
    """Return the measurements with a new one, if it is due.

    While they cover a short time they are close together. When there are too many, every other one is dropped, so they
    always cover the whole time since the first one, up to `PERIOD`.
    """
    known = tuple(s for s in samples if new.at - PERIOD <= s.at <= new.at)
    if known and new.at - known[-1].at < max(SHORTEST, (known[-1].at - known[0].at) / LIMIT):
        return known
    return (*known, new) if len(known) < LIMIT else (*known[::2], new)


def fill_rate(samples: Sequence[DiskSample]) -> float | None:
    """Return how fast the disk fills in bytes a second, negative if it empties; None if that is not known.

    It is the Theil-Sen estimator: the median of the slopes between all pairs of measurements. Up to 29 % of them may be
    outliers, such as those while a copy of a shard moves. Source: P. K. Sen, Estimates of the Regression Coefficient
    Based on Kendall's Tau, Journal of the American Statistical Association 63 (1968), after H. Theil (1950).
    """
    if len(samples) < ENOUGH or samples[-1].at - samples[0].at < ENOUGH_SECONDS:
        return None
    return median((b.used - a.used) / (b.at - a.at) for a, b in combinations(samples, 2) if b.at > a.at)


def full_at(samples: Sequence[DiskSample], size: int) -> float | None:
    """Return when a disk of `size` bytes will be full; None if that is not known, or not within `HORIZON`."""
    rate = fill_rate(samples)
    if rate is None or rate <= 0:
        return None
    seconds = max(0.0, size - samples[-1].used) / rate
    return samples[-1].at + seconds if seconds <= HORIZON else None
