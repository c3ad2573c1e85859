"""What still goes on when a step of a plan was refused: all that was planned for its own reasons.

Everything in a plan was judged by what was seen, and never by what another step of it would bring about, with one
exception: members go down on the promise that their copies are not rebuilt meanwhile. Without that promise they stay.
"""

from stateward.planning.actions import Action, DeletePod, Flush, LimitAllocation, SetPhase, StopProcess
from stateward.planning.phase import STOPPING

GOING_DOWN = (DeletePod, StopProcess, Flush)


def depends(action: Action, refused: Action) -> bool:
    """Return whether an action must not be carried out after another one of its plan was refused."""
    if isinstance(refused, LimitAllocation):
        return isinstance(action, GOING_DOWN) or (isinstance(action, SetPhase) and action.phase in STOPPING)
    return False
