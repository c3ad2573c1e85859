"""Durations of one run, drawn around the usual ones.

All but reactions are lognormal: a duration is a product of independent factors (load, size, cache), is never negative,
and has a longer tail above its median than below. Source: the lognormal model of task durations; the spreads below are
assumed, except that of starts, which is measured if a cluster has enough pods.
"""

import random
from collections import Counter
from math import hypot

from msgspec import Struct
from msgspec.structs import replace

from stateward.forecast.durations import Durations


class Spread(Struct, frozen=True):
    """Standard deviations of the logarithms of durations: 0.25 means that two of three lie within a quarter."""

    start: float = 0.25
    """Of each start. Assumed if fewer than four starts were measured."""
    first: float = 0.5
    """Of the first start of a new member, in addition: its volume and its first files come with it.

    Source: in the benchmark `forecasts`, first starts took 0.8 to 2.2 times as long as those of the same pool.
    """
    usual: float = 0.1
    """Of the usual start, once for the run: how well it is known."""
    stop: float = 0.4
    """Of stops in one run: a process that flushes ends later."""
    rate: float = 0.3
    """Of the recovery throughput in one run: other work uses the same disks and network."""
    reopen: float = 0.5
    """Of the recovery of copies from local data, which depends on what was written since, and of what each adds."""
    grow: float = 0.5
    """Of the expansion of volumes in one run: it depends on the storage provider."""
    together: float = 0.5
    """Of starts of all members at once in one run, in addition: forming the cluster again is not even.

    Source: in the benchmark `forecasts`, such restarts of one cluster took 21 to 40 s.
    """
    reaction: float = 1.0
    """Of each reaction of the operator, not as a logarithm but as the share of the usual one that it may be shorter or
    longer: a change comes at any moment between two rounds, so it is noticed after no time or twice the usual one.
    """


FIXED = Spread(*[0.0] * len(Spread.__struct_fields__))
"""Every duration is the usual one."""


def drawn(usual: Durations, spread: Spread, seed: int) -> Durations:
    """Return the durations of one run; limits and delays that are settings of the database stay as they are."""
    rng = random.Random(f"timings {seed}")  # noqa: S311 - repeatable

    def around(value: float, sigma: float) -> float:
        return value * rng.lognormvariate(0.0, sigma)

    found = replace(
        usual,
        stop=around(usual.stop, spread.stop),
        rate=around(usual.rate, spread.rate),
        reopen=around(usual.reopen, spread.reopen),
        overhead=around(usual.overhead, spread.reopen),
        grow=around(usual.grow, spread.grow),
        reaction_factor=ReactionFactors(seed, spread.reaction),
        factor=StartFactors(seed, spread, around(1.0, spread.usual)),
    )
    together = around(1.0, spread.together)
    measured = {pool: seconds * together for pool, seconds in usual.together.items()}
    return replace(found, crowd=usual.crowd * together, together=measured)


class StartFactors:
    """The factor of each start: that of a member's nth start is the same with and without a fault.

    `usual` is the factor of all starts of the run.
    """

    def __init__(self, seed: int, spread: Spread, usual: float = 1.0) -> None:
        self._seed, self._usual = seed, usual
        self._sigma, self._first = spread.start, hypot(spread.start, spread.first)
        self._numbers = Counter[str]()

    def __call__(self, member: str, new: bool) -> float:
        """Return the factor of the next start of a member; `new` if it was never in the cluster."""
        self._numbers[member] += 1
        rng = random.Random(f"start {self._seed} {member} {self._numbers[member]}")  # noqa: S311 - repeatable
        return self._usual * rng.lognormvariate(0.0, self._first if new else self._sigma)


class ReactionFactors:
    """The factor of each reaction of the operator: uniform around one, within `share` of it."""

    def __init__(self, seed: int, share: float) -> None:
        self._rng = random.Random(f"reactions {seed}")  # noqa: S311 - repeatable
        self._share = share

    def __call__(self) -> float:
        """Return the factor of the next reaction."""
        return self._rng.uniform(1.0 - self._share, 1.0 + self._share)
