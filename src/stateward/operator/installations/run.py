"""Continues the running plan as far as possible."""

from dataclasses import dataclass

from msgspec.structs import replace

from stateward.api.kinds.installation import InstallationStatus, RunStatus
from stateward.kube.events.event_record import Severity
from stateward.kube.objects.errors import ApiError
from stateward.operator.installations.context import Surroundings
from stateward.operator.installations.execution.service_account import reason_of, said
from stateward.operator.installations.execution.step_execution import Carrier
from stateward.operator.installations.execution.tasks import Tasks
from stateward.operator.installations.finish import Finisher
from stateward.operator.installations.objects.faults import HeldError
from stateward.operator.installations.status_writer import Journal
from stateward.packages.plans.choice import CLEANUP
from stateward.packages.plans.progress import Result, Stage, StepName, advance, next_look, ready, stage
from stateward.packages.plans.run_record import ended, failing, remembered, run_of, with_progress
from stateward.packages.plans.steady_state import place_of
from stateward.packages.plans.work import errand_of
from stateward.packages.rendering.rendering import Use

BUSY_SECONDS = 5.0
"""Seconds until the next check of what a step waits for, without an event of a watch."""
MOST_ROUNDS = 200
"""Steps in one reconciliation; after that other installations are next."""


@dataclass(frozen=True, slots=True)
class Running:
    """What a plan is carried out with."""

    around: Surroundings
    journal: Journal
    use: Use
    timeout: float


async def go_on(running: Running, status: InstallationStatus, run: RunStatus) -> tuple[InstallationStatus, float]:
    """Continue a plan; return the written status, and the seconds until the next reconciliation.

    Raises ApiError, LostLease.
    """
    journal, package = running.journal, running.use.package
    hands = running.around.hands(journal.live, errand_of(run))
    execute = running.around.execute_of(journal.live)
    tasks = Tasks(hands, running.around.library, execute, running.around.aside, run.started, running.around.image)
    carrier = Carrier(hands, tasks, journal.mark, running.around.works)
    for _ in range(MOST_ROUNDS):
        progress = run_of(run, running.timeout)
        names = ready(package, progress, journal.now())
        if not names:
            break
        results: dict[StepName, Result] = {}
        for name in names:
            again = progress.step(name).stage is Stage.WAITING
            results[name] = await carrier.carry_out(running.use, place_of(running.use, run.plan, name), again=again)
        progress = advance(progress, results, journal.now())
        run = with_progress(run, progress)
        _tell(journal, carrier.restarted)
        status = await journal.write(replace(status, run=run))
        if stage(package, progress) is Stage.DONE or not any(r.stage is Stage.DONE for r in results.values()):
            break
    progress = run_of(run, running.timeout)
    found = stage(package, progress)
    if found is Stage.FAILED:
        return await _ended(running, status, ended(run, Stage.FAILED, failing(run), journal.now())), 0.0
    if found is Stage.DONE:
        return await _finished(running, status, run)
    again = next_look(progress, journal.now())
    return status, BUSY_SECONDS if again is None else min(max(again, 0.05), BUSY_SECONDS)


async def _finished(running: Running, status: InstallationStatus, run: RunStatus) -> tuple[InstallationStatus, float]:
    journal = running.journal
    if run.plan != CLEANUP:
        finisher, reason = Finisher(running.around, journal.live), ""
        try:
            waits = await finisher.finish(running.use, run.started)
        except (HeldError, ApiError) as error:
            waits, reason = said(error), reason_of(error)
        _tell(journal, finisher.restarted)
        if waits:
            stuck = (reason, f"the end of plan {run.plan}: {waits}") if reason else None
            return await journal.write(replace(status, run=replace(run, message=waits)), stuck), BUSY_SECONDS
    done = ended(run, Stage.DONE, "", journal.now())
    installed = status.installed if run.plan == CLEANUP else run.target
    return await _ended(running, replace(status, installed=installed), done), 0.0


async def _ended(running: Running, status: InstallationStatus, run: RunStatus) -> InstallationStatus:
    journal = running.journal
    written = await journal.write(replace(status, run=run, history=remembered(status.history, run)))
    if run.stage == Stage.DONE:
        journal.tell(Severity.NORMAL, "PlanDone", f"plan {run.plan} is done")
    return written


def _tell(journal: Journal, restarted: list[str]) -> None:
    for text in restarted:
        journal.tell(Severity.NORMAL, "Restart", f"pods restart because data that they use has changed: {text}")
    restarted.clear()
