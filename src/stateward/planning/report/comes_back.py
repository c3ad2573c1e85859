"""Members that a step of the operator has stopped and that come back, by the status alone.

Commands that only show a status need this, so nothing of the planner is imported here.
"""

from stateward.api.kinds.status import MemberStatus
from stateward.planning.model.intent import Absence, State


def comes_back(member: MemberStatus) -> bool:
    """Return whether a member is between its stop by the operator and its return, without any trouble.

    One that is about to restart still serves: if it counts as missing, for example because of a taint, then that is not
    because of the restart.
    """
    stopped = member.state in (State.STARTING, State.DOWN)
    stopped = stopped or (member.state == State.RESTARTING and bool(member.not_serving_since_time))
    return stopped and member.absence == Absence.PLANNED
