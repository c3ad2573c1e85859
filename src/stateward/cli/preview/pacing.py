"""The sources of a time forecast: measurements of the live cluster, and assumptions."""

from math import log, sqrt
from statistics import median

from msgspec import Struct

from stateward.api.values import names
from stateward.engines.connection.base import EngineError, Target, Transport
from stateward.engines.search.database.recovery import Speed, speed
from stateward.kube.objects.pods import Pod
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.observation import Database, Observation
from stateward.simulation.forecast.durations import Durations

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


async def asked(transport: Transport, target: Target) -> Speed:
    """Return the database's recovery speed; unknown values if it does not answer."""
    try:
        return await speed(transport, target)
    except EngineError:
        return Speed()


def pacing(existing: ClusterObjects, known: Speed) -> Pacing:
    """Return the pace of a cluster: measured if possible, otherwise from settings, otherwise assumed."""
    durations = Durations()
    starts = starts_of(existing.pods)
    everyone = [seconds for found in starts.values() for seconds in found]
    start = median(everyone) if everyone else durations.start
    limit = known.limit or durations.rate
    made = Durations(
        start=start,
        starts={pool: median(found) for pool, found in starts.items()},
        rate=min(known.rate * (known.at_once or durations.at_once), limit) if known.rate else limit,
        at_once=known.at_once or durations.at_once,
        reopen=known.reopen or durations.reopen,
    )
    return Pacing(made, (*start_words(made, starts), *recovery_words(made, known)), start_spread(starts))


def start_spread(starts: dict[str, list[float]]) -> float | None:
    """Return how much starts vary around the median of their pool; None if fewer than four starts are known."""
    logs = [log(s / median(found)) for found in starts.values() if min(found) > 0 for s in found]
    freedom = len(logs) - len(starts)
    return sqrt(sum(each * each for each in logs) / freedom) if len(logs) >= FEW and freedom > 0 else None


def starts_of(pods: tuple[Pod, ...]) -> dict[str, list[float]]:
    """Return by pool the seconds of the last starts: from the creation of a pod until it was ready.

    Pods with a restarted container are skipped: their readiness is that of a later start.
    """
    found: dict[str, list[float]] = {}
    for pod in pods:
        ready = next((c.last_transition_time for c in pod.status.conditions if c.type == "Ready"), None)
        made = pod.metadata.creation_timestamp
        again = any(status.restart_count for status in pod.status.container_statuses)
        if pod.ready and ready is not None and made is not None and not again:
            found.setdefault(pod.metadata.labels.get(names.LABEL_POOL, ""), []).append((ready - made).total_seconds())
    return found


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
