"""Whether a member does not serve because of a step of the operator, or for another reason.

The report of one round cannot tell: a pod that the operator has deleted ends like one that is evicted. So the cause is
recorded before the step, and stays until the member serves again or something goes wrong.
"""

from stateward.api.kinds.status import MemberStatus
from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import DeletePod, Release, StopProcess
from stateward.planning.model.intent import Absence, State
from stateward.planning.model.observation import Member
from stateward.planning.plan import Plan

ENDS = (DeletePod, Release, StopProcess)
"""Actions after which a member does not serve."""


def absence(facts: Facts, plan: Plan, member: Member, earlier: MemberStatus | None) -> Absence:
    """Return why a member does not serve, or is about to stop serving, from its plan and its earlier status."""
    name = member.name
    if name in facts.obs.stopped:
        return Absence.NONE
    intent = plan.intents.get(name)
    restarts = intent is not None and intent.state is State.RESTARTING
    if facts.away(member) is None:
        ends = any(isinstance(action, ENDS) and action.member == name for action in plan.actions)
        return Absence.PLANNED if restarts or ends else Absence.NONE
    known = earlier is not None and earlier.absence == Absence.PLANNED
    planned = restarts or known or name not in facts.obs.records
    return Absence.PLANNED if planned and not fails(facts, member) else Absence.UNPLANNED


def fails(facts: Facts, member: Member) -> bool:
    """Return whether something keeps a member from serving that does not end by itself."""
    lost = member.pod is not None and not member.pod.node_ready
    return lost or bool(facts.trouble(member)) or facts.overdue(member)
