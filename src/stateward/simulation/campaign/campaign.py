"""Many runs on all cores, and their report: violations, coverage and speed."""

import gc
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec import Struct, structs

from stateward.simulation.campaign.engine_setups import ENGINES, FOUNDATIONDB
from stateward.simulation.campaign.run import YEAR, Outcome, Plan, simulate_one
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.timing.bounds import Bounds

MONTHLY = 10
"""One of this many seeds is a month of ordinary operation if no duration is given."""
MONTH = 30 * 86400.0
"""Seconds of virtual time."""


class Report(Struct, frozen=True):
    """The results of many runs."""

    seeds: int
    failed: tuple[Outcome, ...]
    hours: float
    """Simulated cluster-hours."""
    seconds: float
    """Real time."""
    counts: Mapping[str, int]
    """How often each fault, edit, action and event occurred."""
    skipped: float = 0.0
    """The skipped part of these hours, in which no event was due."""

    @property
    def hours_per_minute(self) -> float:
        """Simulated cluster-hours for each real minute."""
        return self.hours * 60 / self.seconds if self.seconds else 0.0


def simulate_many(
    engine: str,
    seeds: Iterable[int],
    *,
    plan: Plan | None = None,
    bounds: Bounds | None = None,
    cores: int | None = None,
    progress: Callable[[Outcome], None] = lambda _: None,
) -> Report:
    """Run all seeds, on all cores; without a plan each as `usual`. Raises ValueError for an unknown engine.

    To see the events of a failing seed, run it again alone with a trace.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r} is not simulated; known are {', '.join(ENGINES)}")
    began = time.perf_counter()
    outcomes: list[Outcome] = []
    work = partial(run_one, engine=engine, plan=plan, bounds=bounds)
    # Each worker excludes the objects of its modules from garbage collection, because collecting them takes as long as
    # minutes of a world.
    with multiprocessing.get_context("spawn").Pool(cores or os.cpu_count(), initializer=gc.freeze) as pool:
        for outcome in pool.imap_unordered(work, seeds):
            outcomes.append(outcome)
            progress(outcome)
    return report(outcomes, time.perf_counter() - began)


@contextmanager
def workers(cores: int) -> Generator[Callable[[Sequence[tuple[int, Plan]]], list[Outcome]]]:
    """Provide a function that runs seeds with their plans on several cores."""
    with multiprocessing.get_context("spawn").Pool(cores, initializer=gc.freeze) as pool:
        yield lambda cases: pool.starmap(attempt, cases, chunksize=1)


def usual(engine: str, seed: int) -> Plan:
    """Return the run of a seed if no duration is given: a storm of an hour, or a month of ordinary operation.

    A storm shows the interaction of concurrent events; a month shows what each of them leaves behind. Every tenth seed
    is a month, except with FoundationDB, where a quiet period between two faults cannot be skipped.
    """
    if engine == FOUNDATIONDB or seed % MONTHLY:
        return Plan(engine=engine)
    return Plan(engine=engine, chaos=MONTH, slower=YEAR)


def run_one(seed: int, engine: str, plan: Plan | None, bounds: Bounds | None = None) -> Outcome:
    """Run one seed of a campaign."""
    plan = usual(engine, seed) if plan is None else plan
    return attempt(seed, structs.replace(plan, engine=engine, bounds=bounds or plan.bounds))


def attempt(seed: int, plan: Plan) -> Outcome:
    """Run one seed; an uncaught error is a violation of its run, and does not end other runs."""
    try:
        return simulate_one(seed, plan)[0]
    except Exception as error:  # noqa: BLE001 - any error is reported with its seed
        broken = Violation("crash", 0.0, f"the run raised {type(error).__name__}: {error}")
        return Outcome(seed, (broken,), 0.0, {})


def report(outcomes: Sequence[Outcome], seconds: float) -> Report:
    """Return the report of runs that took this many real seconds together."""
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        counts.update(outcome.counts)
    failed = sorted((o for o in outcomes if o.violations), key=lambda o: o.seed)
    hours, skipped = sum(o.hours for o in outcomes), sum(o.skipped for o in outcomes)
    return Report(len(outcomes), tuple(failed), hours, seconds, dict(sorted(counts.items())), skipped)
