"""Decides the next step of an installation: start a plan, continue one, rest, or ask for manual intervention.

A failed plan is not retried until something relevant changes or a user requests it: a permanent error would repeat
forever. Requests besides the values (`stateward.dev/run-plan`) come after the plans for the values.
"""

from dataclasses import dataclass

from stateward.api.kinds.installation import InstallationStatus, RunStatus
from stateward.api.values.base import GROUP
from stateward.api.values.problem import in_short
from stateward.packages.format.parameters import check_values
from stateward.packages.format.records import Package
from stateward.packages.plans.choice import CLEANUP, Chosen, Refused, State, choose, join
from stateward.packages.plans.progress import Stage
from stateward.packages.plans.run_record import fixed_values, is_running, state_of
from stateward.packages.plans.work import Cause

ANNOTATION_TRIGGER = f"{GROUP}/run-plan"
"""On an installation: a plan to run, once for each value (`backup`, `backup/2`, `backup/2026-11-21`).

The plan `cleanup` removes what runs, so its value has to name the installation: `cleanup/NAME`, `cleanup/NAME/2`.
"""


@dataclass(frozen=True, slots=True)
class Begin:
    """A plan starts; `granted` is the request that it fulfils, empty without one."""

    chosen: Chosen
    granted: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing can be done until a person has done something; `reason` is for programs.

    Not even drift is corrected: nothing is installed, or a change has failed half done.
    """

    reason: str
    message: str
    values: str = ""
    """The same with the values concerned, for the user who gave them; no status and no event contains these."""

    @property
    def whole(self) -> str:
        """All that is known."""
        return self.values or self.message


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing is to be done but to keep things as they are; `problem` is what a person has to do for more."""

    problem: Stop | None = None


@dataclass(frozen=True, slots=True)
class GoOn:
    """The running plan continues; `problem` is the problem of the state desired meanwhile."""

    problem: Stop | None = None


Decision = Begin | GoOn | Rest | Stop


def decide(package: Package, status: InstallationStatus, wanted: State, wish: str, name: str = "") -> Decision:
    """Return the next step for the installation `name` towards `wanted`; `package` is the desired one."""
    problem = _problem(package, status, wanted)
    if is_running(status.run):
        return GoOn(problem) if problem else _joined(package, status, wanted)
    found = problem or _begun(package, status, wanted, wish, name)
    return stopped(status, found) if isinstance(found, Stop) else found


def stopped(status: InstallationStatus, problem: Stop) -> Rest | Stop:
    """Return how an installation without a running plan is held up by a problem: what is installed is kept as it is.

    But for a change that has failed, also one that a user has requested again, and for one that was to revert it: they
    may be half done, and drift correction would undo half of them.
    """
    run = status.run
    failed = run is not None and run.stage == Stage.FAILED
    changes = run is not None and (run.cause != Cause.REQUEST or state_of(run.target) != state_of(status.installed))
    return problem if status.installed is None or (failed and changes) else Rest(problem)


def _begun(package: Package, status: InstallationStatus, wanted: State, wish: str, name: str) -> Begin | Rest | Stop:
    chosen = _back(package, status, wanted) or choose(package, state_of(status.installed), wanted)
    if isinstance(chosen, Refused):
        return Stop("ParametersDisagree", chosen.message)
    due = wish if wish and wish != status.last_request else ""
    return _wished(package, status, due, name) if chosen is None else _chosen(status, chosen, due)


def _problem(package: Package, status: InstallationStatus, wanted: State) -> Stop | None:
    found = check_values(package, wanted.values, fixed_values(status.installed))
    if not found:
        return None
    said = in_short([problem.public for problem in found])
    return Stop("ParametersInvalid", said, in_short([str(problem) for problem in found]))


def _joined(package: Package, status: InstallationStatus, wanted: State) -> Decision:
    run = status.run
    target = state_of(run.target) if run else None
    if run is None or target is None:
        return GoOn()
    again = join(package, state_of(status.installed), Chosen(run.plan, target, run.description), wanted)
    if isinstance(again, Refused):
        return GoOn(Stop("ParametersDisagree", again.message))
    return GoOn() if again is None else Begin(again)


def accepted(package: Package, status: InstallationStatus, begin: Begin) -> str:
    """Return the last request that counts as accepted when a plan of a package begins.

    A requested plan that gives way to another one is due again after it: what was asked for has not been done. A
    cleanup is not, because it would remove what has come since.
    """
    run = status.run
    if run is None or not is_running(run) or run.cause != Cause.REQUEST or begin.granted:
        return begin.granted or status.last_request
    again = run.plan not in (begin.chosen.plan, CLEANUP) and run.plan in package.operator.plans
    return "" if again else status.last_request


def follows(package: Package, run: RunStatus, wanted: State) -> str:
    """Return what comes after a running plan towards the desired state, in a sentence; empty for nothing.

    It may be that nothing can: then the desired state is not reached either. `wanted` has no values that the package
    does not accept.
    """
    chosen = choose(package, state_of(run.target), wanted)
    if isinstance(chosen, Refused):
        return chosen.message
    return f"plan {chosen.plan} follows: {chosen.why}" if isinstance(chosen, Chosen) else ""


def _back(package: Package, status: InstallationStatus, wanted: State) -> Chosen | Refused | None:
    """Return the plan that reverts what a failed one has half done, if that is no longer desired.

    The disaster this prevents: an upgrade fails in the middle, the previous version is requested again and is already
    recorded as installed, so nothing is done: half of the objects keep the new version.
    """
    run, installed = status.run, state_of(status.installed)
    target = state_of(run.target) if run else None
    if run is None or run.stage != Stage.FAILED or target is None or installed is None or target == installed:
        return None
    return join(package, installed, Chosen(run.plan, target, run.description), wanted)


def _chosen(status: InstallationStatus, chosen: Chosen, due: str) -> Begin | Stop:
    granted = due if _plan_of(due) == chosen.plan else ""
    run = status.run
    if run is not None and run.stage == Stage.FAILED and not granted and _same(run.plan, state_of(run.target), chosen):
        waits = f"; {chosen.later} waits for it" if chosen.later else ""
        return Stop("PlanFailed", f"plan {run.plan} has failed: {run.message}{waits}")
    return Begin(chosen, granted)


def _same(plan: str, target: State | None, chosen: Chosen) -> bool:
    return plan == chosen.plan and target == chosen.state


def _wished(package: Package, status: InstallationStatus, due: str, name: str) -> Begin | Rest | Stop:
    state = state_of(status.installed)
    if due and state is not None:
        if unknown := plan_unknown(package, due):
            return Stop("PlanUnknown", unknown)
        if _plan_of(due) == CLEANUP and not confirmed(due, name):
            return Stop("CleanupNotConfirmed", unconfirmed(due, name))
        return Begin(Chosen(_plan_of(due), state, "a user asked for it"), due)
    run = status.run
    if run is None or run.stage != Stage.FAILED:
        return Rest()
    return Stop("PlanFailed", f"plan {run.plan} has failed: {run.message}")


def plan_unknown(package: Package, wish: str) -> str:
    """Return the problem of a request for a plan; empty if the plan exists, or without a request."""
    if not wish or _plan_of(wish) in package.operator.plans:
        return ""
    return f"{ANNOTATION_TRIGGER}: {wish!r}: {package.name} has the plans {', '.join(package.operator.plans)}"


def confirmed(wish: str, name: str) -> bool:
    """Return whether a request names the installation that it is for."""
    return bool(name) and wish.split("/")[1:2] == [name]


def unconfirmed(wish: str, name: str) -> str:
    """Return why a cleanup is refused, and what to do."""
    return (
        f"{ANNOTATION_TRIGGER}: {wish!r}: the plan {CLEANUP} removes running objects, and {name} is not"
        " being deleted; to run"
        f" it anyway, name the installation: {CLEANUP}/{name}"
    )


def _plan_of(wish: str) -> str:
    return wish.partition("/")[0]
