"""The progress of a plan: the next steps, and the effect of their results. A pure function of the record.

A step is tried until it is done. A temporary failure is retried after a growing delay; a fatal one ends the plan. All
of this is in the record, so a successor continues where the last operator stopped; since each step is idempotent, its
progress within a step does not matter.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from stateward.packages.format.records import Package, Phase, Strategy

FIRST_DELAY_SECONDS = 2.0
LONGEST_DELAY_SECONDS = 120.0


class Stage(StrEnum):
    """The stage of a step or a plan."""

    PENDING = "Pending"
    RUNNING = "Running"
    WAITING = "Waiting"
    RETRYING = "Retrying"
    DONE = "Done"
    FAILED = "Failed"


ENDED = frozenset({Stage.DONE, Stage.FAILED})

StepName = tuple[str, str]
"""The phase and the step."""


@dataclass(frozen=True, slots=True)
class StepProgress:
    """The progress of one step, with the times of its first and next attempt in seconds since the epoch.

    `reason` says, for programs, why it needs manual intervention. `finished` are its jobs and pods that are done.
    """

    stage: Stage = Stage.PENDING
    message: str = ""
    since: float = 0.0
    failures: int = 0
    again: float = 0.0
    reason: str = ""
    finished: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a plan; `timeout` is the limit for a step in seconds (0: none)."""

    plan: str
    started: float
    steps: Mapping[StepName, StepProgress] = field(default_factory=dict[StepName, StepProgress])
    timeout: float = 0.0

    def step(self, name: StepName) -> StepProgress:
        """Return the progress of a step."""
        return self.steps.get(name, StepProgress())


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an attempt of a step.

    It is DONE, WAITING (for health; all of its objects were created), RUNNING (some are not created yet), RETRYING (a
    temporary error) or FAILED.

    `reason` says, for programs, why retries are in vain until a user changes something.
    `finished` are jobs and pods that are done.
    """

    stage: Stage
    message: str = ""
    reason: str = ""
    finished: frozenset[str] = frozenset()


def ready(package: Package, run: Run, now: float) -> tuple[StepName, ...]:
    """Return the steps to try at this time, in the order of the plan; raises KeyError if there is no such plan."""
    found: list[StepName] = []
    if stage(package, run) in ENDED:
        return ()
    plan = package.operator.plans[run.plan]
    for phase in plan.phases:
        if not _ended(phase, run):
            found += _of_phase(phase, run)
            if plan.strategy is Strategy.SERIAL:
                break
    return tuple(name for name in found if next_attempt(run.step(name), now) <= now)


def next_attempt(step: StepProgress, now: float) -> float:
    """Return when a step is tried next; at once if a clock that was ahead has stored a time beyond any delay."""
    return step.again if step.again <= now + LONGEST_DELAY_SECONDS else now


def _of_phase(phase: Phase, run: Run) -> Iterable[StepName]:
    left = [(phase.name, step.name) for step in phase.steps]
    left = [name for name in left if run.step(name).stage is not Stage.DONE]
    return left[:1] if phase.strategy is Strategy.SERIAL else left


def _ended(phase: Phase, run: Run) -> bool:
    return all(run.step((phase.name, step.name)).stage is Stage.DONE for step in phase.steps)


def stage(package: Package, run: Run) -> Stage:
    """Return the stage of the whole plan: failed as soon as one step is, done when all are."""
    stages = [run.step((p.name, s.name)).stage for p in package.operator.plans[run.plan].phases for s in p.steps]
    if Stage.FAILED in stages:
        return Stage.FAILED
    return Stage.DONE if all(found is Stage.DONE for found in stages) else Stage.RUNNING


def advance(run: Run, results: Mapping[StepName, Result], now: float) -> Run:
    """Return the run with what tries of steps came to at this time."""
    steps = dict(run.steps)
    for name, result in results.items():
        steps[name] = _advanced(run, run.step(name), result, now)
    return replace(run, steps=steps)


def _advanced(run: Run, step: StepProgress, result: Result, now: float) -> StepProgress:
    # A time that is ahead was stored by a clock that was, and counts as now.
    since = now if step.stage is Stage.PENDING else min(step.since, now)
    if result.stage is Stage.DONE:
        return StepProgress(Stage.DONE, result.message, since)
    if result.stage is Stage.FAILED:
        return StepProgress(Stage.FAILED, result.message, since, step.failures)
    if run.timeout and now - since >= run.timeout:
        late = f"did not finish within {run.timeout:.0f} seconds: {result.message}"
        return StepProgress(Stage.FAILED, late, since, step.failures)
    finished = step.finished | result.finished
    if result.stage is Stage.RETRYING:
        failures = step.failures + 1
        delay = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(failures - 1, 30))
        return StepProgress(Stage.RETRYING, result.message, since, failures, now + delay, result.reason, finished)
    return StepProgress(result.stage, result.message, since, finished=finished)


def next_look(run: Run, now: float) -> float | None:
    """Return the seconds until the next attempt or time-out in the record; None if there is none."""
    times: list[float] = []
    for step in run.steps.values():
        if step.stage in ENDED or step.stage is Stage.PENDING:
            continue
        if (again := next_attempt(step, now)) > now:
            times.append(again)
        if run.timeout and (late := step.since + run.timeout) > now:
            times.append(late)  # One that is late already fails with its next attempt, and not before.
    return min(times) - now if times else None
