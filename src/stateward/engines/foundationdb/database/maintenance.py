"""Maintenance of a zone while a member of it is down for a change: nothing is copied elsewhere that will be back.

The database has one zone in maintenance at a time, and remembers of it no more than when it ends. So Stateward never
sets more than `PERIOD`, and what ends within it is taken to be its own: lifted when nobody is on the way back, whoever
began it and died. What ends later a person has set: it is left alone, and changes wait for its end.
"""

from collections.abc import Iterable, Mapping

from stateward.engines.foundationdb.database.members import View
from stateward.engines.foundationdb.database.status import Status

PERIOD = 300
"""Seconds. As long as copies are not rebuilt for a member that comes back; the database ends it by itself."""


def own(status: Status) -> bool:
    """Return whether a zone is in maintenance by Stateward; one of which nobody knows when it ends is not."""
    left = status.cluster.maintenance_seconds_remaining
    return bool(status.cluster.maintenance_zone) and left is not None and left <= PERIOD


def zone_of(seen: View, members: Iterable[str]) -> str:
    """Return the one zone that all these members are in; empty where there is none, or nobody knows."""
    zones = {seen.members[name].zone if name in seen.members else "" for name in members}
    return zones.pop() if len(zones) == 1 else ""


def maintained(status: Status, seen: View, domains: Mapping[str, str]) -> frozenset[str]:
    """Return the members of the zone in maintenance, also those without a process, by where they ran last."""
    zone = status.cluster.maintenance_zone
    if not zone:
        return frozenset()
    there = {name for name, member in seen.members.items() if member.zone == zone}
    return frozenset(there | {name for name, domain in domains.items() if domain == zone})
