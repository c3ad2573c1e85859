"""The rules by which kstatus, and the tools that use it, judge a custom resource.

Source: the generic checks of `pkg/kstatus/status` in kubernetes-sigs/cli-utils, in their order.
"""

from collections.abc import Iterable

from stateward.api.values.base import Condition

CURRENT, IN_PROGRESS, FAILED = "Current", "InProgress", "Failed"


def judged(generation: int, observed_generation: int | None, conditions: Iterable[Condition]) -> str:
    """Return what tools conclude: Current, InProgress or Failed; an absent generation is None, and is not compared."""
    if observed_generation is not None and observed_generation != generation:
        return IN_PROGRESS
    found = {condition.type: condition.status for condition in conditions}
    if found.get("Reconciling") == "True":
        return IN_PROGRESS
    if found.get("Stalled") == "True":
        return FAILED
    return CURRENT if found.get("Ready", "True") == "True" else IN_PROGRESS
