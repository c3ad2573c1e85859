"""Who is being replaced: the list in the status, kept until nothing is left of the member.

A member on the list does not count towards the size of its pool, so that a new one is made beside it. It stays on the
list while its volume is kept, so that its place is never filled again from that volume. A person's `keep` takes it off.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward.planning.model.observation import Member, Observation, Removal


class Removals(Struct, frozen=True):
    """The list as it is obeyed now, and as it is written down after this plan."""

    obeyed: Mapping[str, Removal] = {}
    recorded: Mapping[str, Removal] = {}


def obeyed(obs: Observation) -> dict[str, Removal]:
    """Return what the status remembers, without what is kept by a person and what has left nothing behind."""
    members = {m.name: m for m in obs.members}
    keep = obs.desired.replacement.keep
    return {
        name: removal
        for name, removal in obs.removals.items()
        if name in members and name not in keep and remains(members[name], removal)
    }


def remains(member: Member, removal: Removal) -> bool:
    """Return whether anything is left of the very member that the list speaks of."""
    if member.present:
        return True
    return member.claim is not None and removal.volume in ("", member.claim.ref.uid)


def drained(member: Member) -> bool:
    """Return whether the member was let go: at most its pod has to end, perhaps on a node that nobody hears of."""
    return not member.alive


def in_flight(obs: Observation, removals: Mapping[str, Removal]) -> list[str]:
    """Return the members whose automatic replacement is not over yet, in order."""
    members = {m.name: m for m in obs.members}
    return sorted(n for n, r in removals.items() if r.automatic and not drained(members[n]))


def reserved(obs: Observation) -> frozenset[str]:
    """Return the names that no new member may get: those on the list, and those that a person wants replaced.

    But one that is not there and has a volume which nobody has left is brought back first, and replaced when it is. The
    disaster this prevents: a cluster is deleted while members are replaced, and made again with the wish still in its
    spec; others come in their place, and the only copy of something stays on their volumes.
    """
    wishes = obs.desired.replacement
    away = {m.name for m in obs.members if not m.present and m.claim is not None and not m.claim.left}
    return frozenset(obs.removals.keys() - wishes.keep) | ((wishes.replace | wishes.undrained) - away)
