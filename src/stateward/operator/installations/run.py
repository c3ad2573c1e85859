"""Continues the running plan as far as possible."""

from dataclasses import dataclass

from msgspec.structs import replace

from stateward.api.kinds.installation import InstallationStatus, RunStatus
from stateward.kube.events.event_record import Severity
from stateward.kube.objects.errors import ApiError
from stateward.operator.installations.context import SharedTools
from stateward.operator.installations.execution.service_account import error_text, reason_of
from stateward.operator.installations.execution.step_execution import StepExecution
from stateward.operator.installations.execution.tasks import Tasks
from stateward.operator.installations.finish import Finisher
from stateward.operator.installations.objects.faults import HeldError
from stateward.operator.installations.removed_objects import removed_objects
from stateward.operator.installations.status_writer import StatusWriter
from stateward.packages.plans.choice import CLEANUP
from stateward.packages.plans.progress import ENDED, Result, Stage, StepName, advance, next_look, ready, stage
from stateward.packages.plans.run_record import ended, failing, remembered, run_of, settled, with_progress
from stateward.packages.plans.steady_state import place_of
from stateward.packages.plans.work import Cause, errand_of
from stateward.packages.rendering.rendering import Use

BUSY_SECONDS = 5.0
"""Seconds until the next check of what a step waits for, without an event of a watch."""
MOST_ROUNDS = 200
"""Steps in one reconciliation; after that other installations are next."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a plan is carried out with; `follows` is the plan or the removal after it, in a sentence."""

    shared: SharedTools
    status_writer: StatusWriter
    use: Use
    timeout: float
    follows: str = ""


async def continue_run(
    running: RunContext, status: InstallationStatus, run: RunStatus
) -> tuple[InstallationStatus, float]:
    """Continue a plan; return the written status, and the seconds until the next reconciliation.

    Raises ApiError, LostLease.
    """
    status_writer, package = running.status_writer, running.use.package
    applier = running.shared.applier(status_writer.live, errand_of(run))
    execute = running.shared.execute_of(status_writer.live)
    tasks = Tasks(
        applier, running.shared.library, execute, running.shared.background, run.start_time, running.shared.image
    )
    execution = StepExecution(applier, tasks, status_writer.mark, running.shared.rendered_steps)
    for _ in range(MOST_ROUNDS):
        progress = run_of(run, running.timeout)
        names = ready(package, progress, status_writer.now())
        if not names:
            break
        results: dict[StepName, Result] = {}
        for name in names:
            place = place_of(running.use, run.plan, name)
            results[name] = await execution.carry_out(running.use, place, progress.step(name))
        progress = advance(progress, results, status_writer.now())
        run = with_progress(run, progress)
        _tell(status_writer, execution.restarted)
        if stage(package, progress) in ENDED:
            break  # The end is written with it: an operator that stops in between repeats the last step.
        status = await status_writer.write(replace(status, run=run))
        if not any(r.stage is Stage.DONE for r in results.values()):
            break
    progress = run_of(run, running.timeout)
    found = stage(package, progress)
    if found is Stage.FAILED:
        return await _ended(running, status, ended(run, Stage.FAILED, failing(run), status_writer.now())), 0.0
    if found is Stage.DONE:
        return await _finished(running, status, run)
    again = next_look(progress, status_writer.now())
    return status, BUSY_SECONDS if again is None else min(max(again, 0.05), BUSY_SECONDS)


async def _finished(
    running: RunContext, status: InstallationStatus, run: RunStatus
) -> tuple[InstallationStatus, float]:
    status_writer = running.status_writer
    if run.plan != CLEANUP:
        finisher, reason = Finisher(running.shared, status_writer.live), ""
        try:
            waits = await finisher.finish(running.use, run.start_time)
        except (HeldError, ApiError) as error:
            waits, reason = error_text(error), reason_of(error)
        _tell(status_writer, finisher.restarted)
        if waits:
            stuck = (reason, f"the end of plan {run.plan}: {waits}") if reason else None
            return await status_writer.write(replace(status, run=replace(run, message=waits)), stuck), BUSY_SECONDS
    done = ended(run, Stage.DONE, "", status_writer.now())
    installed = status.installed if run.plan == CLEANUP else run.target
    removed, rendered_steps = status.removed, running.shared.rendered_steps
    if run.cause != Cause.DELETION:
        works = await rendered_steps.renderable(running.use, run.plan)
        removed = await removed_objects(rendered_steps, running.use, works, removed, done=True)
    return await _ended(running, replace(status, installed=installed, removed=removed), done), 0.0


async def _ended(running: RunContext, status: InstallationStatus, run: RunStatus) -> InstallationStatus:
    status_writer = running.status_writer
    after = running.follows if run.stage == Stage.DONE else ""  # Else tools would take it for ready in between.
    done = replace(status, run=settled(run), history=remembered(status.history, run))
    reason = "Removing" if run.cause == Cause.DELETION else "PlanRuns"
    written = await status_writer.write(done, doing=after, reason=reason)
    if run.stage == Stage.DONE:
        status_writer.tell(Severity.NORMAL, "PlanDone", f"plan {run.plan} is done")
    return written


def _tell(status_writer: StatusWriter, restarted: list[str]) -> None:
    for text in restarted:
        status_writer.tell(Severity.NORMAL, "Restart", f"pods restart because data that they use has changed: {text}")
    restarted.clear()
