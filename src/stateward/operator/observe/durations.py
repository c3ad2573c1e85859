"""How long the steps of a cluster take: from its pods, its history, and its database.

A pod shows its own start: it was created, and became ready. That is not enough. After its process was restarted in it,
it shows how old it was then; and the first pods of a cluster wait for each other. The history tells these apart: it has
the begin and the end of each restart, and a pod that was created in between is a new one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from msgspec import Struct

from stateward.api.values import names
from stateward.engines.connection.base import Engine, EngineError, MeasuredEngine, Speed, Target
from stateward.forecast.durations import LEAST, REACTION, SOON_SHARE, Durations, in_a_new_pod
from stateward.kube.objects.pods import Pod
from stateward.timeline.history import Entry, History, Kind
from stateward.timeline.phases import Phase

FIRST_SHARE = 0.4
"""The usual share of a later start in the first one, which also has images, volumes and the formation of the cluster.

Source: on a machine of its own a first start takes as long as a later one; of six members on two cores, three to five
times as long (the benchmark `forecasts`). This is near the middle, as factors.
"""
RESTARTS = frozenset({Phase.RESTART, Phase.UPGRADE, Phase.RECREATE})
"""Phases from the stop of a member by the operator until it serves again."""
SERVES = frozenset({Phase.WAIT, Phase.PREPARE, Phase.RELOAD, Phase.MOVE, Phase.GROW, Phase.REPLACE, Phase.REMOVE})
"""Phases in which a member may serve all the time: they say nothing about its readiness."""


class Times(Struct, frozen=True):
    """Measured times of a cluster's members in seconds, by pool; at most one of each kind for each member."""

    pods: Mapping[str, Sequence[float]] = {}
    """From the creation of a pod of a formed cluster until its member served."""
    kept: Mapping[str, Sequence[float]] = {}
    """How long a member was away while its process was restarted in its pod."""
    first: Mapping[str, Sequence[float]] = {}
    """As `pods`, of the first pod of a member: with volumes and images, and often the formation of the cluster."""
    stops: Sequence[float] = ()
    """From the request to delete a pod until its successor was created."""
    growths: Sequence[float] = ()
    """From the request to expand a volume until its storage had done it; the last of each member."""


class Sample(Struct, frozen=True):
    """One measured time in seconds, and which field of `Times` it belongs to; the stop before it, if it is known."""

    field: str
    seconds: float
    stop: float | None = None


async def recovery_speed(engine: Engine, target: Target) -> Speed:
    """Return the database's recovery speed; unknown values if it does not answer, or does not measure it."""
    if not isinstance(engine, MeasuredEngine):
        return Speed()
    try:
        return await engine.recovery_speed(target)
    except EngineError:
        return Speed()


def times_of(pods: Iterable[Pod], history: History) -> Times:
    """Return what the pods and the history of a cluster show."""
    found: dict[str, dict[str, list[float]]] = {"pods": {}, "kept": {}, "first": {}}
    stops: list[float] = []
    growths: dict[str, float] = {}
    steps: dict[str, list[Entry]] = {}
    for entry in history.ended:
        # What had not ended when the history was stored has an end that a reader has guessed.
        if entry.kind is Kind.MEMBER and entry.end <= history.until:
            steps.setdefault(entry.subject, []).append(entry)
            if entry.what == Phase.GROW:
                growths[entry.subject] = max(LEAST, entry.end - entry.begin - REACTION * SOON_SHARE)
    for pod in pods:
        pool, name = (pod.metadata.labels.get(label, "") for label in (names.LABEL_POOL, names.LABEL_MEMBER))
        for sample in samples(pod, steps.get(name, []), history):
            found[sample.field].setdefault(pool, []).append(sample.seconds)
            stops += [sample.stop] if sample.stop is not None else []
    return Times(found["pods"], found["kept"], found["first"], stops, tuple(growths.values()))


def samples(pod: Pod, steps: Sequence[Entry], history: History) -> Iterator[Sample]:
    """Yield the last start of a pod's member, and its last restart in this pod.

    A pod whose container was restarted shows nothing: its readiness is that of a later start. So does one whose process
    may have been restarted since without being in the history, whose entries of this member are `steps`. The history
    has when the operator noticed that the member serves, which is later.
    """
    ready = next((c.last_transition_time for c in pod.status.conditions if c.type == "Ready"), None)
    made = pod.metadata.creation_timestamp
    if made is None or any(status.restart_count for status in pod.status.container_statuses):
        return
    created = made.timestamp()
    within = next((e for e in reversed(steps) if starts_with(e, created)), None)
    kept = [e for e in steps if e.what in RESTARTS and e.begin > created]
    if kept:
        yield Sample("kept", float(kept[-1].end - kept[-1].begin))
    if within is not None:
        first = within.what == Phase.CREATE
        seconds = max(0.0, within.end - created - REACTION)
        yield Sample("first" if first else "pods", seconds, None if first else created - within.begin)
    elif ready is not None and pod.ready and shows_its_start(pod, ready.timestamp(), steps, history):
        yield Sample("pods", ready.timestamp() - created)


def shows_its_start(pod: Pod, ready: float, steps: Sequence[Entry], history: History) -> bool:
    """Return whether a pod that is ready since then was not before, because its process has started only once.

    That of a pod with an agent may have been restarted without a trace in the pod. Then the history must reach from the
    pod's creation to its readiness, and must show no absence.
    """
    made = pod.metadata.creation_timestamp
    if not has_agent(pod) or made is None:
        return made is not None
    created = made.timestamp()
    away = any(e.what not in SERVES and e.end > created for e in steps)
    return 0 < history.begin <= created and ready <= history.until and not away


def starts_with(entry: Entry, created: float) -> bool:
    """Return whether a phase ends with a member that serves in the pod that was created then.

    The first pod of a member can be older than the phase: the operator notes the phase in the round after the creation.
    """
    first = entry.what == Phase.CREATE
    return created <= entry.end and (first or (entry.begin <= created and entry.what in RESTARTS))


def has_agent(pod: Pod) -> bool:
    """Return whether the process of a pod may have been restarted in it."""
    return bool(pod.metadata.annotations.get(names.ANNOTATION_AGENT))


def measured_durations(times: Times, known: Speed) -> Durations:
    """Return the durations of a cluster: measured if possible, otherwise from settings, otherwise assumed.

    The first starts of members are upper bounds: without any restart, the usual share of them is used, or the assumed
    start if it is shorter. If only restarts in kept pods are known, a third of them is the stop of a pod.
    """
    assumed = Durations()
    kept = medians(times.kept)
    stop = median(times.stops) if times.stops else min((assumed.stop, *(seconds / 3 for seconds in kept.values())))
    bounds = {pool: min(assumed.start, seconds * FIRST_SHARE) for pool, seconds in medians(times.first).items()}
    new = {pool: in_a_new_pod(seconds) for pool, seconds in kept.items()}
    starts = {**bounds, **new, **medians(times.pods)}
    limit = known.limit or assumed.rate
    return Durations(
        start=usual(times, assumed.start),
        starts=starts,
        restarts=kept,
        stop=stop,
        rate=min(known.rate * (known.at_once or assumed.at_once), limit) if known.rate else limit,
        at_once=known.at_once or assumed.at_once,
        reopen=known.reopen or assumed.reopen,
        grow=median(times.growths) if times.growths else assumed.grow,
    )


def usual(times: Times, assumed: float) -> float:
    """Return the start of a member of a pool without measured starts: that of all others."""
    if everyone := [seconds for found in times.pods.values() for seconds in found]:
        return median(everyone)
    if everyone := [seconds for found in times.kept.values() for seconds in found]:
        return in_a_new_pod(median(everyone))
    first = [seconds * FIRST_SHARE for found in times.first.values() for seconds in found]
    return min(assumed, median(first or [assumed]))


def medians(found: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each pool."""
    return {pool: median(seconds) for pool, seconds in found.items()}
