"""What still goes on when a step of a plan was refused: all that was planned for its own reasons.

Everything in a plan was judged by what was seen, and never by what another step of it would bring about, with one
exception: members go down on the promise that their copies are not rebuilt meanwhile. Without that promise they stay.
And a member whose next template was not written stays as it is: its pod would be made anew from another one.
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
    """Return whether an action must not be carried out after another one of its plan was refused."""
    if isinstance(refused, LimitAllocation):
        return isinstance(action, GOING_DOWN) or (isinstance(action, SetPhase) and action.phase in STOPPING)
    return isinstance(refused, Create | Stage) and getattr(action, "member", None) == refused.member
