"""Decides which actions still run after a step of their plan was refused: all that were planned for their own reasons.

Each action of a plan follows from the observation, never from the effect of another action, with one exception: the
operator stops members on the condition that their shards are not reallocated in between. Without that condition they
stay up. A member whose next template was not written also stays as it is: its pod would be recreated from another
template.
"""

from stateward.planning.model.actions import (
    Action,
    Create,
    DeletePod,
    Flush,
    LimitAllocation,
    SetPhase,
    Stage,
    StopProcess,
)
from stateward.planning.model.phase import STOPPING

GOING_DOWN = (DeletePod, StopProcess, Flush)


def depends(action: Action, refused: Action) -> bool:
    """Return whether an action must not run after another one of its plan was refused."""
    if isinstance(refused, LimitAllocation):
        return isinstance(action, GOING_DOWN) or (isinstance(action, SetPhase) and action.phase in STOPPING)
    return isinstance(refused, Create | Stage) and getattr(action, "member", None) == refused.member
