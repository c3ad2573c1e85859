"""The status of a declared object: conditions as kstatus defines them, and one sentence. Pure."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from msgspec.structs import replace

from stateward.api.values.base import Condition, Record
from stateward.api.values.conditions import condition, dated
from stateward.planning.model.times import rfc3339


class Stage(Enum):
    """How far a reconciliation came."""

    READY = "ready"
    WORKING = "working"
    """It waits for something that comes by itself."""
    STALLED = "stalled"
    """A person is needed."""
    UNCHANGED = "unchanged"
    """Nothing is known yet that is not in the status: it stays as it is."""


@dataclass(frozen=True)
class Outcome:
    """The end of one reconciliation: a reason for programs, and a sentence for people."""

    stage: Stage
    reason: str
    message: str = ""
    retry: float = 0.0
    """Seconds until the next one; 0 for the default."""


APPLIED = "Applied"
"""Reason of an object that is in the database as declared."""


S = TypeVar("S", bound=Record)


def reported(status: S, outcome: Outcome, generation: int, now: float) -> S:
    """Return a status with its conditions at time `now`, in seconds since the epoch."""
    ready, working, stalled = (outcome.stage is stage for stage in (Stage.READY, Stage.WORKING, Stage.STALLED))
    said = (outcome.reason, outcome.message)
    made = [
        condition("Ready", ready, *said),
        condition("Reconciling", working, *(said if working else ("Settled", ""))),
        condition("Stalled", stalled, *(said if stalled else ("Working", ""))),
    ]
    before: list[Condition] = getattr(status, "conditions")  # noqa: B009 - each declared resource has it
    conditions = dated(made, before, generation, rfc3339(now))
    return replace(status, observed_generation=generation, activity=outcome.message, conditions=conditions)


def is_ready(status: Any) -> bool:
    """Return whether a resource was in the database as declared when it was last compared."""
    return any(each.type == "Ready" and each.status == "True" for each in status.conditions)
