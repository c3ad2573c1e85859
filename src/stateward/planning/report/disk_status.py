"""Reports how full the disks of a pool are, and when they will be full.

The measurements of the rate are in the status, which survives the operator. While nothing is known, the report stays as
it was.
"""

from stateward.api.kinds.status import DiskSample, DiskStatus
from stateward.api.values.quantity import readable
from stateward.planning.facts.facts import Facts
from stateward.planning.model import observation as o
from stateward.planning.model.times import parse_time, rfc3339
from stateward.planning.steps.upkeep.disk_use import DiskUse, fullest, unlimited
from stateward.planning.steps.upkeep.fill_rate import full_at, with_sample

HOUR = 3600.0


def disk_status(facts: Facts, pool: o.Pool, before: DiskStatus | None) -> DiskStatus | None:
    """Return the report about the disks of a pool; None if its volumes do not grow by themselves."""
    if pool.growth is None:
        return None
    use = fullest(facts, pool)
    if use is None:
        return before
    known = with_sample(samples(before), o.DiskSample(facts.now, use.used))
    when = full_at(known, largest(pool.growth, use))
    return DiskStatus(
        used_percent=use.percent,
        member=use.member,
        volume_size=readable(pool.wanted_size),
        full_time="" if when is None else rfc3339(when - when % HOUR),
        samples=[DiskSample(time=rfc3339(sample.at), used_bytes=sample.used) for sample in known],
    )


def samples(recorded: DiskStatus | None) -> tuple[o.DiskSample, ...]:
    """Return the recorded measurements, the oldest first; one without a valid time is left out."""
    found = recorded.samples if recorded is not None else []
    read = (o.DiskSample(when, s.used_bytes) for s in found if (when := parse_time(s.time)) is not None)
    return tuple(sorted(read, key=lambda sample: sample.at))


def largest(growth: o.Growth, use: DiskUse) -> int:
    """Return how large a disk may become, in bytes: what its file system needs stays the same share."""
    rigid = use.claim.expandable is False or unlimited(use) is not None
    return use.total if rigid else max(use.total, use.total * growth.limit // use.claim.capacity)
