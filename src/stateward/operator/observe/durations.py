"""How long the steps of a cluster take: from the last starts of its pods, and from its database."""

from collections.abc import Iterable, Mapping
from statistics import median

from stateward.api.values import names
from stateward.engines.connection.base import Engine, EngineError, MeasuredEngine, Speed, Target
from stateward.forecast.durations import Durations
from stateward.kube.objects.pods import Pod


async def recovery_speed(engine: Engine, target: Target) -> Speed:
    """Return the database's recovery speed; unknown values if it does not answer, or does not measure it."""
    if not isinstance(engine, MeasuredEngine):
        return Speed()
    try:
        return await engine.recovery_speed(target)
    except EngineError:
        return Speed()


def starts_of(pods: Iterable[Pod]) -> dict[str, list[float]]:
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


def measured_durations(starts: Mapping[str, list[float]], known: Speed) -> Durations:
    """Return the durations of a cluster: measured if possible, otherwise from settings, otherwise assumed."""
    assumed = Durations()
    everyone = [seconds for found in starts.values() for seconds in found]
    limit = known.limit or assumed.rate
    return Durations(
        start=median(everyone) if everyone else assumed.start,
        starts={pool: median(found) for pool, found in starts.items()},
        rate=min(known.rate * (known.at_once or assumed.at_once), limit) if known.rate else limit,
        at_once=known.at_once or assumed.at_once,
        reopen=known.reopen or assumed.reopen,
    )
