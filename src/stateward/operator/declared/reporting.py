"""The status of a declared object: conditions as kstatus defines them, and one sentence. Pure."""

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import Any

from msgspec.structs import replace

from stateward.api.values.conditions import condition, dated, readable, stalled
from stateward.api.values.problem import printable, short
from stateward.engines.search.declared.decision import Decision, Do
from stateward.planning.model.times import rfc3339


class Stage(Enum):
    """How far a reconciliation came."""

    READY = "ready"
    WORKING = "working"
    """It waits for something that comes by itself."""
    STALLED = "stalled"
    """A person is needed."""


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
CONFLICT = "Conflict"
"""Reason of a resource that declares the same as another one, which is in charge of it."""
HELD = "SettingHeld"
"""Reason of a resource that waits until another one has reset a cluster setting, which it declares no more."""


LONGEST_MESSAGE = 24_000
"""Characters of a sentence in a status, which has it up to four times: a database may have keys of any length."""


def shortened(outcome: Outcome) -> Outcome:
    """Return an outcome with a sentence that a status can have."""
    return dataclasses.replace(outcome, message=short(printable(outcome.message), LONGEST_MESSAGE))


def reported(status: Any, outcome: Outcome, generation: int, now: float) -> Any:
    """Return a status of any declared resource with its conditions at time `now`, in seconds since the epoch."""
    ready, working, stalled = (outcome.stage is stage for stage in (Stage.READY, Stage.WORKING, Stage.STALLED))
    said = (outcome.reason, outcome.message)
    made = [
        condition("Ready", ready, *said),
        condition("Reconciling", working, *(said if working else ("Settled", ""))),
        condition("Stalled", stalled, *(said if stalled else ("Working", ""))),
    ]
    conditions = dated(made, status.conditions, generation, rfc3339(now))
    return readable(replace(status, observed_generation=generation, activity=outcome.message, conditions=conditions))


def waits_for_others(status: Any) -> bool:
    """Return whether a resource waits for another one of its cluster."""
    return any(
        each.type == "Ready" and each.reason in (CONFLICT, HELD, "DependencyPending") for each in status.conditions
    )


def is_ready(status: Any) -> bool:
    """Return whether a resource was in the database as declared when it was last compared."""
    return any(each.type == "Ready" and each.status == "True" for each in status.conditions)


def stalled_reason(status: Any) -> str:
    """Return why a resource needs a person, in one word; empty if it does not."""
    found = stalled(status.conditions)
    return found.reason if found is not None else ""


def left_over(decision: Decision) -> Outcome | None:
    """Return why something that was to be removed is still in the database; None if nothing is."""
    if decision.do is Do.NOTHING:
        return None
    return Outcome(Stage.STALLED if decision.do is Do.STOP else Stage.WORKING, decision.reason, decision.message)


def kept_by(outcome: Outcome) -> Outcome:
    """Return why a deleted resource stays, with the way out."""
    told = f"it cannot be removed from the database: {outcome.message}; to leave it there, set deletionPolicy to Retain"
    return Outcome(outcome.stage, outcome.reason, told)
