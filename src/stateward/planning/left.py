"""Volumes that replaced members have left say so themselves.

The list of who is replaced is in the status of the cluster resource, and goes with it; volumes are kept. The disaster
this prevents: a cluster that is made again takes the kept volumes with the lowest numbers, those that were left among
them, and the only copy of something stays on one with a higher number.
"""

from stateward.planning.actions import Action, MarkVolume
from stateward.planning.facts import Facts
from stateward.planning.gate import lost
from stateward.planning.intent import Part
from stateward.planning.observation import Member
from stateward.planning.removal import obeyed


def left(facts: Facts) -> Part:
    """Return what is to be said, or no longer, on the volumes of members that are not in use."""
    listed = obeyed(facts.obs).keys()
    actions: list[Action] = []
    for member in facts.obs.members:
        claim = member.claim
        if claim is None or claim.terminating:
            continue
        if claim.left and member.alive:
            actions.append(MarkVolume(why="it is used again", member=member.name, claim=claim.ref, left=False))
        elif not claim.left and member.name in listed and given_up(facts, member):
            actions.append(MarkVolume(why="its member was replaced", member=member.name, claim=claim.ref, left=True))
    return Part(actions=tuple(actions))


def given_up(facts: Facts, member: Member) -> bool:
    """Return whether a member is gone, and its volume is not one that it may be brought back for."""
    accepted = member.name in facts.obs.desired.replacement.accepted
    whole = facts.database is not None and not lost(facts.database)
    return not member.alive and member.pod is None and (whole or accepted)
