"""Decides when work is repeated. Jobs and pods are work: once done they stay done, however often a plan runs.

There are three reasons to repeat it: the package renders it differently now (which its creator notices); it was done
for an earlier run and has failed; or a user requests it, by the name of a plan that only runs on request (a backup must
not be skipped because there was one last week), or by deleting the installation.
"""

from dataclasses import dataclass
from enum import StrEnum

from stateward.api.kinds.installation import RunStatus
from stateward.api.values.base import GROUP, Json
from stateward.packages.format.trees import at, text
from stateward.packages.plans.choice import DEPLOY, UPDATE, UPGRADE
from stateward.packages.plans.health import Health, health_of

ANNOTATION_RUN = f"{GROUP}/run"
"""On work, and on workloads whose pods a plan restarts at its end: the last run (by its start) that did so."""
BY_CHANGES = frozenset({DEPLOY, UPDATE, UPGRADE})
"""Plans that changes start. A user who requests one of these wants the desired state, not the work repeated."""


class Cause(StrEnum):
    """What started a run."""

    CHANGE = "Change"
    REQUEST = "Request"
    DELETION = "Deletion"


@dataclass(frozen=True, slots=True)
class Errand:
    """The purpose of an object: a run by its start, and whether work of earlier runs is repeated."""

    run: str = ""
    anew: bool = False


AT_REST = Errand()
"""While no plan runs nothing is done once more."""


def errand_of(run: RunStatus) -> Errand:
    """Return the purpose of a run's objects."""
    asked = run.cause == Cause.REQUEST and run.plan not in BY_CHANGES
    return Errand(run.start_time, asked or run.cause == Cause.DELETION)


def run_in(body: Json) -> str:
    """Return the run recorded on an object; empty for none."""
    return text(at(body, "metadata", "annotations", ANNOTATION_RUN))


def due(live: Json, errand: Errand) -> bool:
    """Return whether existing, unchanged work is to be repeated."""
    if run_in(live) == errand.run:
        return False
    return errand.anew or health_of(live).health is Health.FAILED
