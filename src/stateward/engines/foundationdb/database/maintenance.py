"""Maintenance of a zone while one of its members is down for a change: the database re-replicates nothing meanwhile.

The database has one zone in maintenance at a time, and stores only when it ends. So Stateward never sets more than
`PERIOD`, and treats a maintenance that ends within it as its own. It lifts this one when no member is coming back, even
if another operator process began it and died. One that ends later is a user's: Stateward leaves it alone, and changes
wait for its end.
"""

from collections.abc import Iterable, Mapping

from stateward.engines.foundationdb.database.members import View
from stateward.engines.foundationdb.database.status import Status

PERIOD = 300
"""Seconds. As long as copies are not rebuilt for a member that comes back; the database ends it automatically."""


def is_own(status: Status) -> bool:
    """Return whether Stateward has put a zone into maintenance; a maintenance without a known end is not its own."""
    left = status.cluster.maintenance_seconds_remaining
    return bool(status.cluster.maintenance_zone) and left is not None and left <= PERIOD


def zone_of(seen: View, members: Iterable[str]) -> str:
    """Return the common zone of these members; empty if there is none or it is not known."""
    zones = {seen.members[name].zone if name in seen.members else "" for name in members}
    return zones.pop() if len(zones) == 1 else ""


def members_in_maintenance(status: Status, seen: View, domains: Mapping[str, str]) -> frozenset[str]:
    """Return the members of the zone in maintenance, including those without a process, by their last fault domain."""
    zone = status.cluster.maintenance_zone
    if not zone:
        return frozenset()
    there = {name for name, member in seen.members.items() if member.zone == zone}
    return frozenset(there | {name for name, domain in domains.items() if domain == zone})
