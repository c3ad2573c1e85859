"""When work is done once more. Jobs and pods are work: once done they stay done, however often a plan comes by.

There are three reasons to do it again: the package renders it differently now (which who makes it sees); it was done
for an earlier run and has failed; or somebody asks for it, by the name of a plan that only runs when it is asked for (a
backup that is done at once because there was one last week would be none), or by deleting the installation.
"""

from dataclasses import dataclass
from enum import StrEnum

from stateward.api.kinds.installation import RunStatus
from stateward.api.values.base import GROUP, Json
from stateward.packages.format.trees import at, text
from stateward.packages.plans.choice import DEPLOY, UPDATE, UPGRADE
from stateward.packages.plans.health import Health, health_of

ANNOTATION_RUN = f"{GROUP}/run"
"""On work, and on workloads whose pods a plan restarts at its end: the run (by its start) that has done so last."""
BY_CHANGES = frozenset({DEPLOY, UPDATE, UPGRADE})
"""Plans that changes run. Who asks for one of these wants everything as it should be, not the first data once more."""


class Cause(StrEnum):
    """What a run was begun by."""

    CHANGE = "Change"
    REQUEST = "Request"
    DELETION = "Deletion"


@dataclass(frozen=True, slots=True)
class Errand:
    """What something is made for: a run by its start, and whether work of earlier runs is done once more."""

    run: str = ""
    anew: bool = False


AT_REST = Errand()
"""While no plan runs nothing is done once more."""


def errand_of(run: RunStatus) -> Errand:
    """Return what a run makes things for."""
    asked = run.cause == Cause.REQUEST and run.plan not in BY_CHANGES
    return Errand(run.started, asked or run.cause == Cause.DELETION)


def run_in(body: Json) -> str:
    """Return the run that an object says it was last made by; empty for none."""
    return text(at(body, "metadata", "annotations", ANNOTATION_RUN))


def due(live: Json, errand: Errand) -> bool:
    """Return whether work that is there, as it is asked for, is to be done once more."""
    if run_in(live) == errand.run:
        return False
    return errand.anew or health_of(live).health is Health.FAILED
