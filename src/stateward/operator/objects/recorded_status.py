"""The record in the status of a cluster, as planning needs it; times in seconds since the epoch.

An invalid time is left out: it is unknown, and what it measures starts again.
"""

import math
from collections.abc import Callable

from stateward.api.kinds.status import ClusterStatus, MemberStatus
from stateward.planning.model import observation as o
from stateward.planning.report.disk_status import samples
from stateward.planning.report.status import parse_time


def records(status: ClusterStatus) -> dict[str, o.Record]:
    """Return what is remembered of members that have been in the cluster."""
    joined = [m for m in status.member_states if m.version]
    return {m.name: o.Record(m.version, m.volume, m.pod, zone=m.zone, address=m.address) for m in joined}


def times(status: ClusterStatus, told: Callable[[MemberStatus], str]) -> dict[str, float]:
    """Return, by member, the time that `told` reads of it."""
    read = ((m.name, parse_time(told(m))) for m in status.member_states)
    return {name: when for name, when in read if when is not None}


def waits(status: ClusterStatus) -> dict[str, float]:
    """Return since when each thing waits, in seconds since the epoch, by its subject and reason."""
    read = ((f"{w.subject} {w.reason}", parse_time(w.since_time)) for w in status.waiting)
    return {name: when for name, when in read if when is not None}


def changing(status: ClusterStatus) -> o.Changing | None:
    """Return when the data that members use last changed, in seconds since the epoch."""
    seen = status.data_change
    since, last = (parse_time(seen.first_time), parse_time(seen.last_time)) if seen is not None else (None, None)
    return o.Changing(since, last) if since is not None and last is not None else None


def maintenance_end(status: ClusterStatus) -> float | None:
    """Return when the last maintenance of a zone ended; infinity if no end is recorded, None if there was none."""
    known = status.maintenance
    if known is None:
        return None
    end = parse_time(known.end_time)
    return math.inf if end is None else end


def bootstrap(status: ClusterStatus) -> o.Bootstrap | None:
    """Return the grant that the status remembers."""
    grant = status.bootstrap
    if grant is None:
        return None
    return o.Bootstrap(grant.member, grant.volume, grant.formed, restored=grant.restored_snapshot)


def disk_samples(status: ClusterStatus) -> dict[str, tuple[o.DiskSample, ...]]:
    """Return, by pool, the measurements of its fullest disk."""
    return {pool.name: samples(pool.disk) for pool in status.pools if pool.disk is not None}
