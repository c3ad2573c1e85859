"""What is written of an installation's runs, and what is read of them again: the only memory that a plan has."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from stateward.api.kinds.installation import InstallationStatus, PastRun, RunStatus, StateStatus, StepStatus
from stateward.packages.format.records import Package
from stateward.packages.plans.choice import Chosen, State
from stateward.packages.plans.progress import ENDED, Run, Stage, StepName, StepProgress

REMEMBERED = 10
"""Runs in the history."""


def written(moment: float) -> str:
    """Return a time (seconds since the epoch) as text; empty for 0."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else ""


def read(moment: str) -> float:
    """Return a written time in seconds since the epoch; 0 for an invalid one."""
    try:
        return datetime.fromisoformat(moment).timestamp() if moment else 0.0
    except ValueError:
        return 0.0


def state_of(status: StateStatus | None) -> State | None:
    """Return the state that a status speaks of."""
    return None if status is None else State(status.digest, status.parameters)


def state_status(package: Package, name: str, values: Mapping[str, Any]) -> StateStatus:
    """Return the written state of a package, under the name of its object, with values."""
    fixed = sorted(parameter.name for parameter in package.parameters.values() if parameter.immutable)
    return StateStatus(
        package=name, digest=package.digest, version=package.version, parameters=dict(values), immutable=fixed
    )


def with_values(status: InstallationStatus, wanted: State) -> InstallationStatus:
    """Return the status of an installation at rest with the given values that change nothing, such as a default.

    The disaster this prevents: the next version has another default, and its upgrade takes that for the current value.
    """
    installed = status.installed
    if installed is None:
        return status
    return replace(status, installed=replace(installed, parameters=dict(wanted.values)))


def fixed_values(installed: StateStatus | None) -> dict[str, Any] | None:
    """Return the values that cannot change, None for a parameter without one; None before the installation.

    An operator before this record wrote each value of an immutable parameter: there, what has a value is fixed.
    """
    if installed is None:
        return None
    names = installed.parameters if installed.immutable is None else installed.immutable
    return {name: installed.parameters.get(name) for name in names}


def is_running(run: RunStatus | None) -> bool:
    """Return whether a run has not ended yet."""
    return run is not None and run.stage not in {str(stage) for stage in ENDED}


def run_of(status: RunStatus, timeout: float) -> Run:
    """Return the progress of a run; `timeout` is how many seconds a step may take (0: any)."""
    steps: dict[StepName, StepProgress] = {}
    for step in status.steps:
        steps[step.phase, step.step] = StepProgress(
            Stage(step.stage),
            step.message,
            read(step.start_time),
            step.failures,
            read(step.next_attempt_time),
            step.reason,
            frozenset(step.finished),
        )
    return Run(status.plan, read(status.start_time), steps, timeout)


def begun(chosen: Chosen, target: StateStatus, package: Package, now: float, cause: str) -> RunStatus:
    """Return a run that begins now, for a cause (`work.Cause`), with all of its steps."""
    names = [(phase.name, step.name) for phase in package.operator.plans[chosen.plan].phases for step in phase.steps]
    steps = [StepStatus(phase=phase, step=step, stage=Stage.PENDING) for phase, step in names]
    return RunStatus(
        plan=chosen.plan,
        description=chosen.why,
        cause=cause,
        stage=Stage.RUNNING,
        start_time=written(now),
        target=target,
        steps=steps,
    )


def with_progress(status: RunStatus, run: Run) -> RunStatus:
    """Return a run with what its steps have come to."""
    return replace(status, steps=[_step(step, run.step((step.phase, step.step))) for step in status.steps])


def _step(status: StepStatus, progress: StepProgress) -> StepStatus:
    return StepStatus(
        phase=status.phase,
        step=status.step,
        stage=progress.stage,
        message=progress.message,
        start_time=written(progress.since),
        failures=progress.failures,
        next_attempt_time=written(progress.again),
        reason=progress.reason,
        finished=sorted(progress.finished),
    )


def at_once(status: RunStatus) -> RunStatus:
    """Return a run whose steps are all tried now, without any delay."""
    return replace(status, steps=[replace(step, next_attempt_time="") for step in status.steps])


def ended(status: RunStatus, stage: Stage, message: str, now: float) -> RunStatus:
    """Return a run that has come to its end."""
    return replace(status, stage=stage, message=message, completion_time=written(now))


def settled(run: RunStatus) -> RunStatus:
    """Return a run that has ended, without its target if it is done, because that is installed: values may be large."""
    return replace(run, target=None) if run.stage == Stage.DONE else run


def remembered(history: list[PastRun], run: RunStatus) -> list[PastRun]:
    """Return the history with a run that has ended, the newest first."""
    version = run.target.version if run.target else ""
    past = PastRun(
        plan=run.plan,
        description=run.description,
        version=version,
        stage=run.stage,
        message=run.message,
        start_time=run.start_time,
        completion_time=run.completion_time,
    )
    return [past, *history][:REMEMBERED]


def failing(run: RunStatus) -> str:
    """Return what the steps that are not done say, in one line."""
    open_steps = [step for step in run.steps if step.stage != Stage.DONE and step.message]
    return "; ".join(f"{step.phase}/{step.step}: {step.message}" for step in open_steps)
