"""Which volumes go with the cluster resource: those that it owns, as an owner reference on their claims says.

`volumes.onClusterDelete` may change while the cluster lives. `Retain` is for every claim that the cluster owns, also of
members that have left: it destroys nothing, so it is also done while the cluster is paused or an edit is refused.
`Delete` is for the claims of members that are there. A volume that was kept when its member left may be one that an
earlier cluster of this name has left, so it stays kept.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action, OwnVolume, RetainVolume
from stateward.planning.model.intent import Part, Wait
from stateward.planning.model.observation import Claim, Member


def retention(facts: Facts, *, hold: bool) -> Part:
    """Return the owners to take off claims or to write on them; with `hold` none is written."""
    owned = facts.obs.desired.own_volumes
    if owned is None:
        return Part()
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
    return Part(actions=tuple(actions), waits=tuple(waits))


def owned_by_another(member: Member, claim: Claim) -> Wait:
    """Return what is said of a claim that cannot go with this cluster, because another object owns it."""
    text = f"claim {claim.ref.name} belongs to another owner (UID {claim.owner}), so it is not deleted with the cluster"
    return Wait(member.name, "VolumeOwnedByAnother", text, stalled=True)
