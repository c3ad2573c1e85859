"""Many runs of one change, and what they say together."""

from collections.abc import Callable, Iterable, Sequence
from math import ceil

from msgspec import Struct

from stateward.forecast.durations import Durations
from stateward.planning.model.observation import Observation
from stateward.simulation.rehearsal.faults import Fault, Kind, fault_of
from stateward.simulation.rehearsal.measures import Total
from stateward.simulation.rehearsal.rules import Rules
from stateward.simulation.rehearsal.run import SEARCH, Outcome, Watcher, play
from stateward.simulation.rehearsal.timings import Spread, drawn

HURTS = 3
"""Faults that are named as the worst."""


class Rehearsal(Struct, frozen=True):
    """A change to rehearse: an observation with the changed spec, its time, and what to draw from."""

    start: Observation
    now: float
    durations: Durations
    spread: Spread = Spread()
    kinds: tuple[Kind, ...] = ()
    rules: Rules = SEARCH

    @property
    def known(self) -> bool:
        """Whether the database reports its copies: otherwise nothing about copies and writes is known."""
        return self.rules.known(self.start)


class Run(Struct, frozen=True):
    """What happened in the run of one seed, and in the same run without its fault."""

    outcome: Outcome
    undisturbed: Outcome

    @property
    def fraction(self) -> float:
        """How far the change was when the fault occurred, from 0 to 1."""
        fault, length = self.outcome.fault, self.undisturbed.seconds
        return min(1.0, fault.at / length) if fault is not None and length else 0.0


class Quantiles(Struct, frozen=True):
    """The spread of a duration over runs, in seconds."""

    p10: float
    p50: float
    p90: float
    p95: float
    worst: float


class Frequency(Struct, frozen=True):
    """How often and how long something was so, over all runs; times in seconds."""

    runs: int
    """In how many runs it was so at all."""
    p50: float
    """Its total time in a run, over the runs in which it was so: median, 95th percentile and most."""
    p95: float
    worst: float
    most: int
    """The most shards at once."""


class Summary(Struct, frozen=True):
    """What all runs say."""

    runs: int
    completed: int
    seconds: Quantiles | None
    """Of the runs that complete; None if none does."""
    single: Frequency
    red: Frequency
    refused: Frequency
    most_down: int
    lost: int
    """Runs at whose end a shard has no copy."""
    waits: tuple[tuple[int, str], ...]
    """What the runs wait for that do not complete: number of runs and an example, the most frequent first."""
    worst: Run
    hurts: tuple[Run, ...]
    """The faults that hurt most, one for each target, the worst first."""


def one_run(rehearsal: Rehearsal, seed: int, watch: Watcher | None = None) -> Run:
    """Return the run of a seed; `watch` receives each of its reconciliations."""
    start, now, rules = rehearsal.start, rehearsal.now, rehearsal.rules
    quiet = play(start, now, durations_of(rehearsal, seed), seed, rules=rules)
    fault = fault_of(start, rehearsal.kinds, seed, quiet.seconds)
    return Run(play(start, now, durations_of(rehearsal, seed), seed, fault, watch, rules=rules), quiet)


def durations_of(rehearsal: Rehearsal, seed: int) -> Durations:
    """Return the durations of the run of a seed: the same with and without its fault."""
    return drawn(rehearsal.durations, rehearsal.spread, seed)


def summary(runs: Iterable[Run], *, known: bool = True) -> Summary:
    """Return what runs say together; they may come in any order. Raise ValueError without a run.

    `known` says whether the database reports its copies: without them, runs that do not complete are the worst.
    """

    def damage(outcome: Outcome) -> tuple[float, ...]:
        return outcome.damage if known else outcome.damage_without_shards

    found = sorted(runs, key=lambda run: run.outcome.seed)
    outcomes = [run.outcome for run in found]
    done = [outcome.seconds for outcome in outcomes if outcome.completed]
    return Summary(
        runs=len(found),
        completed=len(done),
        seconds=Quantiles(*(quantile(done, part) for part in (0.1, 0.5, 0.9, 0.95, 1.0))) if done else None,
        single=frequency(outcomes, lambda outcome: outcome.single),
        red=frequency(outcomes, lambda outcome: outcome.red),
        refused=frequency(outcomes, lambda outcome: outcome.refused),
        most_down=max(outcome.most_down for outcome in outcomes),
        lost=sum(outcome.lost > 0 for outcome in outcomes),
        waits=tuple(waits(outcomes)),
        worst=max(found, key=lambda run: damage(run.outcome)),
        hurts=tuple(hurts(found, damage)),
    )


def frequency(outcomes: Sequence[Outcome], of: Callable[[Outcome], Total]) -> Frequency:
    """Return how often and how long something was so."""
    totals = [of(outcome) for outcome in outcomes]
    seconds = [total.seconds for total in totals if total.times]
    if not seconds:
        return Frequency(0, 0.0, 0.0, 0.0, 0)
    most = max(total.most for total in totals)
    return Frequency(len(seconds), quantile(seconds, 0.5), quantile(seconds, 0.95), max(seconds), most)


def quantile(values: Sequence[float], part: float) -> float:
    """Return the smallest value that at least this part of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(part * len(ordered)) - 1)]


def waits(outcomes: Iterable[Outcome]) -> list[tuple[int, str]]:
    """Return what runs wait for that do not complete, with the number of runs, the most frequent first."""
    found = dict[str, list[str]]()
    for outcome in outcomes:
        if not outcome.completed:
            reason, sentence = outcome.waits_for
            found.setdefault(reason, []).append(sentence)
    return sorted(((len(texts), texts[0]) for texts in found.values()), key=lambda each: (-each[0], each[1]))


def hurts(runs: Iterable[Run], damage: Callable[[Outcome], tuple[float, ...]]) -> list[Run]:
    """Return the runs with the faults that hurt most, at most one for each target and kind."""
    worst = dict[tuple[Kind, str], Run]()
    for run in sorted(runs, key=lambda each: damage(each.outcome), reverse=True):
        fault: Fault | None = run.outcome.fault
        if fault is not None and damage(run.outcome) > damage(run.undisturbed):
            worst.setdefault((fault.kind, fault.place), run)
    return [*worst.values()][:HURTS]
