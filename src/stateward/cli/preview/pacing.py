"""The sources of a time forecast: measurements of the live cluster, and assumptions."""

from math import log, sqrt
from statistics import median

from msgspec import Struct

from stateward.api.kinds.search import SearchCluster
from stateward.engines.connection.base import Speed
from stateward.forecast.durations import CROWD, NEW_POD, Durations
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.observe.durations import FIRST_SHARE, Times, measured_durations, times_of
from stateward.planning.model.observation import Database, Observation
from stateward.timeline.history import History

MIB = 2**20
ASSUMED_SPREAD = 0.8
"""How well an assumed start is known: two of three databases start within a factor of 2.2. Assumed itself."""
ASSUMED_REOPEN_SPREAD = 1.2
"""The same of the recovery of copies from local data: from tenths of a second to many seconds of missed writes."""
ASSUMED_GROW_SPREAD = 1.6
"""The same of the expansion of a volume: four of five kinds of storage take between two seconds and two minutes."""
TYPICAL_SPREAD = 0.25
"""How much starts of one cluster vary if too few are known to tell."""
LEAST_SPREAD = 0.25
"""However many starts were measured: the load differs between them and the change, and the forecast simplifies.

Source: two runs of the benchmark `forecasts`: the logarithms of whole changes deviated by 0.17 from the median.
"""
FEW = 4
"""Fewer starts do not show how much starts vary; more show it as if so many had varied as starts typically do."""


class Pacing(Struct, frozen=True):
    """A pace, its sources in words, and what no forecast can know."""

    durations: Durations = Durations()
    rests_on: tuple[str, ...] = ()
    start_spread: float | None = None
    """Standard deviation of the logarithms of the measured starts, by pool around their median; None if there are few.
    """
    usual_spread: float = ASSUMED_SPREAD
    """Standard deviation of the logarithm of the usual start: how well it is known."""
    reopen_known: bool = False
    """Whether it was measured how soon a copy is back whose data is on its node already."""
    grow_known: bool = False
    """Whether it was measured how long the storage takes to expand a volume."""


def pacing(existing: ClusterObjects, history: History, known: Speed) -> Pacing:
    """Return the pace of a cluster, and its sources."""
    times = times_of(existing.pods, history)
    made = measured_durations(times, known)
    # FoundationDB does not tell how fast it moves data, and a plan does not know how much there is.
    moves = recovery_words(made, known) if isinstance(existing.cluster, SearchCluster) else []
    words = (*start_words(made, times), *restart_words(times), *together_words(times), *moves, *growth_words(times))
    spread = start_spread(times)
    return Pacing(
        durations=made,
        rests_on=words,
        start_spread=spread,
        usual_spread=usual_spread(times, spread),
        reopen_known=known.reopened > 0,
        grow_known=bool(times.growths),
    )


def usual_spread(times: Times, spread: float | None) -> float:
    """Return how well the usual start of members is known: as the mean of all measured ones, if there are any."""
    count = sum(len(found) for kind in (times.pods, times.kept) for found in kind.values())
    if not count:
        return ASSUMED_SPREAD
    return max(LEAST_SPREAD, (TYPICAL_SPREAD if spread is None else spread) / sqrt(count))


def start_spread(times: Times) -> float | None:
    """Return how much starts vary around the median of their pool; None if fewer than four starts are known."""
    groups = [found for kind in (times.pods, times.kept) for found in kind.values() if min(found) > 0]
    logs = [log(s / median(found)) for found in groups for s in found]
    freedom = len(logs) - len(groups)
    if len(logs) < FEW or freedom <= 0:
        return None
    return sqrt((FEW * TYPICAL_SPREAD**2 + sum(each * each for each in logs)) / (FEW + freedom))


def start_words(durations: Durations, times: Times) -> list[str]:
    """Return how long members with new pods take to start, and the source."""
    pools = sorted({*times.pods, *times.kept, *times.first, *times.together})
    if not pools:
        return [f"a member starts in {durations.start:.0f} s: assumed, because no pod shows its last start"]
    return [
        f"a member of {pool} starts in {durations.start_of(pool):.0f} s: {start_source(durations, times, pool)}"
        for pool in pools
    ]


def start_source(durations: Durations, times: Times, pool: str) -> str:
    """Return where the start of a pool's members comes from."""
    if found := times.pods.get(pool):
        return (
            f"measured, the last starts of {len(found)} pods"
            if len(found) > 1
            else "measured, the last start of its pod"
        )
    if pool in times.kept:
        return f"measured in kept pods, and {NEW_POD:.0f} s for a new one"
    if pool not in times.first:
        return "two fifths of the last one, in which all members started at once"
    if median(times.first[pool]) * FIRST_SHARE > durations.start_of(pool):
        return "assumed, because only first starts are known, and these took much longer"
    return "two fifths of the first start of its members, in which they wait for images, volumes and each other"


def restart_words(times: Times) -> list[str]:
    """Return how long restarts in kept pods take, and the source."""
    return [
        f"a member of {pool} is away for {median(found):.0f} s if its pod is kept: measured, the last of {len(found)}"
        for pool, found in sorted(times.kept.items())
    ]


def together_words(times: Times) -> list[str]:
    """Return how long restarts of all members at once take, if it was measured."""
    return [
        f"a member of {pool} is away for {median(found):.0f} s if all are restarted at once: measured,"
        f" the last of {len(found)}"
        for pool, found in sorted(times.together.items())
    ]


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


def growth_words(times: Times) -> list[str]:
    """Return how long the storage takes to expand a volume, if it was measured."""
    if not times.growths:
        return []
    return [f"a volume is expanded in {median(times.growths):.0f} s: measured, the last of {len(times.growths)}"]


def not_known(observed: Observation, *, grows: bool, joins: bool, together: bool) -> tuple[str, ...]:
    """Return what no forecast can know, as far as it matters for this change.

    `grows`: volumes grow, at a pace that was not measured; `joins`: members join; `together`: all members are restarted
    at once, which was not measured.
    """
    found = ["pulling an image that a Kubernetes node does not have, and data written while a member is unavailable"]
    database = observed.database
    if isinstance(database, Database) and not database.units:
        found.append("the recovery of shards, if there are any: their number is not known")
    if grows:
        found.append("how long the storage takes to grow a volume")
    if together:
        found.append(f"how much longer members take that all start at once: assumed, {CROWD:g} times as long as alone")
    if joins:
        found.append("the database's own balancing onto new members, which continues afterwards")
    return tuple(found)
