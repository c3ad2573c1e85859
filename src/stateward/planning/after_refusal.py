"""Decides which actions still run after a step of their plan was refused: all that were planned for their own reasons.

Each action of a plan follows from the observation, never from the effect of another action, with one exception: the
operator stops members on the condition that their shards are not reallocated in between. Without that condition they
stay up. A member whose next template was not written also stays as it is: its pod would be recreated from another
template.

A refusal of the API server ends a plan: an object may have changed since it was read. Only the last actions of a plan
(`LATE`) hold nothing back then but their own kind, which would be refused too.
"""

from stateward.planning.model.actions import (
    Action,
    Create,
    DeletePod,
    DeleteVolume,
    Flush,
    GrowVolume,
    LimitAllocation,
    MoveCopies,
    OwnVolume,
    Release,
    RestoreSnapshot,
    RetainVolume,
    SetPhase,
    Stage,
    StopProcess,
)
from stateward.planning.model.phase import STOPPING

LATE = (RetainVolume, OwnVolume, GrowVolume, Create, MoveCopies, RestoreSnapshot)
"""Actions that a quota, a right or the database may refuse for a long time; they run last, in this order.

Changes of a volume's owner come before the others of these: a claim that cannot be written delays no repair.
"""


def depends(action: Action, refused: Action) -> bool:
    """Return whether an action must not run after another one of its plan was refused."""
    if isinstance(refused, LimitAllocation):
        return isinstance(action, Flush) or stops_member(action)
    return isinstance(refused, Create | Stage) and getattr(action, "member", None) == refused.member


def stops_member(action: Action) -> bool:
    """Return whether an action stops a member, or begins to."""
    return action.phase in STOPPING if isinstance(action, SetPhase) else isinstance(action, DeletePod | StopProcess)


def needs_new_plan(action: Action) -> bool:
    """Return whether an action must not follow a long preparation: it stops a member, or deletes what one leaves."""
    return stops_member(action) or isinstance(action, Release | DeleteVolume)


def is_held(action: Action, late: Action) -> bool:
    """Return whether an action must not run after the API server has refused one of the last actions of its plan.

    The disaster this prevents: the quota for volumes is used up, a volume cannot grow, and therefore no new member
    takes the place of one whose machine is lost, although it needs no volume.
    """
    return type(action) is type(late) or depends(action, late)
