"""Keeps the list of replaced members in the status, until no object of the member is left.

A member on the list does not count towards the size of its pool, so a new one is created beside it. It stays on the
list while its volume is kept, so that no new member uses that volume. The user's `keep` removes it from the list.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward.planning.model.observation import Member, Observation, Removal


class Removals(Struct, frozen=True):
    """The list that applies now, and the list to record after this plan."""

    obeyed: Mapping[str, Removal] = {}
    recorded: Mapping[str, Removal] = {}


def active_removals(obs: Observation) -> dict[str, Removal]:
    """Return what the status remembers, without what is kept by a person and what has left nothing behind."""
    members = {m.name: m for m in obs.members}
    keep = obs.desired.replacement.keep
    return {
        name: removal
        for name, removal in obs.removals.items()
        if name in members and name not in keep and has_objects(members[name], removal)
    }


def has_objects(member: Member, removal: Removal) -> bool:
    """Return whether any object of the listed member is left."""
    if member.present:
        return True
    return member.claim is not None and removal.volume in ("", member.claim.ref.uid)


def is_released(member: Member) -> bool:
    """Return whether the member was released: at most its pod has to end, perhaps on an unreachable node."""
    return not member.alive


def in_flight(obs: Observation, removals: Mapping[str, Removal]) -> list[str]:
    """Return the members whose automatic replacement has not ended, in order."""
    members = {m.name: m for m in obs.members}
    return sorted(n for n, r in removals.items() if r.automatic and not is_released(members[n]))


def reserved_names(obs: Observation, *, requests_wait: bool = False) -> frozenset[str]:
    """Return the names that no new member may get: those on the list, and those that the user wants replaced.

    A member without a StatefulSet whose kept volume is not marked as left is brought back first, and then replaced. The
    disaster this prevents: a cluster is deleted while members are replaced, and created again with the request still in
    its spec; new members come in their place, and the only copy of a shard stays on their volumes. Pods of the deleted
    cluster may still be there then. While the user's requests wait, they reserve no name.
    """
    wishes = obs.desired.replacement
    away = {m.name for m in obs.members if m.workload is None and m.claim is not None and not m.claim.left}
    wanted = frozenset[str]() if requests_wait else (wishes.replace | wishes.undrained) - away
    return frozenset(obs.removals.keys() - wishes.keep) | wanted
