"""Decides which volumes are deleted with the cluster resource, by an owner reference on their claims.

`volumes.whenDeleted` may change during the cluster's life. `Retain` applies to every claim that the cluster owns,
including those of members that have left: it destroys nothing, so it also runs while the cluster is paused or an edit
is refused. `Delete` applies to the claims of current members. A volume that was kept when its member left may come from
an earlier cluster with this name, so it stays kept.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action, OwnVolume, RetainVolume
from stateward.planning.model.intent import StepResult, Wait
from stateward.planning.model.observation import Claim, Member


def retention(facts: Facts, *, hold: bool) -> StepResult:
    """Return the owner references to remove or write; with `hold` none is written."""
    owned = facts.obs.desired.own_volumes
    if owned is None:
        return StepResult()
    actions: list[Action] = []
    waits: list[Wait] = []
    for member in facts.obs.members:
        claim = member.claim
        if claim is None or claim.terminating:
            continue
        if not owned and claim.owner == facts.obs.uid:
            why = "volumes are kept when the cluster is deleted"
            actions.append(RetainVolume(why=why, member=member.name, claim=claim.ref))
        elif owned and member.workload is not None and not hold and claim.owner != facts.obs.uid:
            if claim.owner:
                waits.append(owned_by_another(member, claim))
            else:
                why = "volumes are deleted with the cluster"
                actions.append(OwnVolume(why=why, member=member.name, claim=claim.ref))
    return StepResult(actions=tuple(actions), waits=tuple(waits))


def owned_by_another(member: Member, claim: Claim) -> Wait:
    """Return the wait for a claim that is not deleted with this cluster, because another object owns it."""
    text = f"claim {claim.ref.name} belongs to another owner (UID {claim.owner}), so it is not deleted with the cluster"
    return Wait(member.name, "VolumeOwnedByAnother", text, stalled=True)
