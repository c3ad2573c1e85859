"""The report of an installation: conditions as kstatus defines them, and one sentence."""

from msgspec.structs import replace

from stateward.api.kinds.installation import InstallationStatus, RunStatus
from stateward.api.values.conditions import condition, dated, readable
from stateward.packages.plans.progress import Stage
from stateward.packages.plans.run_record import failing, is_running, written


def reported(
    status: InstallationStatus,
    stop: tuple[str, str] | None,
    generation: int,
    now: float,
    other: str = "",
    reason: str = "Removing",
) -> InstallationStatus:
    """Return a status with its conditions; `stop` is the reason and the sentence why a person is needed.

    `other` is what is being done that is no running plan, for a `reason`; what became of the last plan is of no account
    then.
    """
    run = status.run
    running = is_running(run) or bool(other)
    stuck = stop or (None if other else _stuck(run))
    doing = other or (_doing(run) if running else (stuck[1] if stuck else ""))
    ready = status.installed is not None and not running and stuck is None
    going_on = running and stuck is None  # with Stalled also True, tools would wait forever
    made = [
        condition("Ready", ready, *(("Installed", "") if ready else (stuck or ("Working", doing)))),
        condition(
            "Reconciling", going_on, *((reason if other else "PlanRuns", doing) if going_on else ("Settled", ""))
        ),
        condition("Stalled", stuck is not None, *(stuck or ("Working", ""))),
    ]
    conditions = dated(made, status.conditions, generation, written(now))
    return readable(replace(status, observed_generation=generation, activity=doing, conditions=conditions))


def _stuck(run: RunStatus | None) -> tuple[str, str] | None:
    """Return why a person is needed for a run: it has failed, or a step cannot be done again and again."""
    if run is None:
        return None
    if run.stage == Stage.FAILED:
        return "PlanFailed", f"plan {run.plan} has failed: {run.message}"
    retried = [step for step in run.steps if step.stage == Stage.RETRYING and (step.reason or step.failures >= 2)]
    known = [step for step in retried if step.reason] or retried  # What is known to need a person goes first.
    return (
        (known[0].reason or "StepRetried", f"{known[0].phase}/{known[0].step}: {known[0].message}") if known else None
    )


def _doing(run: RunStatus | None) -> str:
    if run is None:
        return ""
    done = sum(step.stage == Stage.DONE for step in run.steps)
    waits = run.message or failing(run)
    return f"plan {run.plan}, {done} of {len(run.steps)} steps done" + (f": {waits}" if waits else "")
