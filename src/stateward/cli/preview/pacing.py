"""The sources of a time forecast: measurements of the live cluster, and assumptions."""

from math import log, sqrt
from statistics import median

from msgspec import Struct

from stateward.engines.connection.base import Speed
from stateward.forecast.durations import Durations
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.observe.durations import measured_durations, starts_of
from stateward.planning.model.observation import Database, Observation

MIB = 2**20
FEW = 4
"""Fewer starts do not show how much starts vary."""


class Pacing(Struct, frozen=True):
    """A pace, its sources in words, and what no forecast can know."""

    durations: Durations = Durations()
    rests_on: tuple[str, ...] = ()
    start_spread: float | None = None
    """Standard deviation of the logarithms of the measured starts, by pool around their median; None if there are few.
    """


def pacing(existing: ClusterObjects, known: Speed) -> Pacing:
    """Return the pace of a cluster, and its sources."""
    starts = starts_of(existing.pods)
    made = measured_durations(starts, known)
    return Pacing(made, (*start_words(made, starts), *recovery_words(made, known)), start_spread(starts))


def start_spread(starts: dict[str, list[float]]) -> float | None:
    """Return how much starts vary around the median of their pool; None if fewer than four starts are known."""
    logs = [log(s / median(found)) for found in starts.values() if min(found) > 0 for s in found]
    freedom = len(logs) - len(starts)
    return sqrt(sum(each * each for each in logs) / freedom) if len(logs) >= FEW and freedom > 0 else None


def start_words(durations: Durations, starts: dict[str, list[float]]) -> list[str]:
    """Return how long members take to start, and the source."""
    if not starts:
        return [f"a member starts in {durations.start:.0f} s: assumed, because no pod shows its last start"]
    words: list[str] = []
    for pool, found in sorted(starts.items()):
        pods = f"the last starts of {len(found)} pods" if len(found) > 1 else "the last start of its pod"
        words.append(f"a member of {pool} starts in {durations.start_of(pool):.0f} s: measured, {pods}")
    return words


def recovery_words(durations: Durations, known: Speed) -> list[str]:
    """Return how fast copies recover, and the source."""
    rate = f"a node takes {durations.rate / MIB:.0f} MiB/s of recovering copies"
    if known.rate:
        source = f"measured, the last {known.rates} recoveries"
    else:
        source = "the database's setting" if known.limit else "assumed, the database's default"
    again = f"a copy whose data is on its node already is back in {durations.reopen:.1f} s"
    measured = f"measured, the last {known.reopened} of them" if known.reopen else "assumed"
    return [f"{rate}, {durations.at_once} at once: {source}", f"{again}: {measured}"]


def not_known(observed: Observation, *, grows: bool, joins: bool) -> tuple[str, ...]:
    """Return what no forecast can know, as far as it matters for this change."""
    found = ["pulling an image that a Kubernetes node does not have, and data written while a member is unavailable"]
    database = observed.database
    if isinstance(database, Database) and not database.units:
        found.append("the recovery of shards, if there are any: their number is not known")
    if grows:
        found.append("how long the storage takes to grow a volume")
    if joins:
        found.append("the database's own balancing onto new members, which continues afterwards")
    return tuple(found)
