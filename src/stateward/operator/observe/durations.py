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
from stateward.forecast.durations import CROWD, LEAST, REACTION, SOON_SHARE, Durations, in_a_kept_pod, in_a_new_pod
from stateward.kube.objects.pods import Pod
from stateward.timeline.history import Entry, History, Kind
from stateward.timeline.phases import Phase

FIRST_SHARE = 1 / CROWD
"""The usual share of a later start in the first one: first starts of all members are at once, too.

They have images and volumes to wait for in addition, so only the start is taken if it is shorter.
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
    together: Mapping[str, Sequence[float]] = {}
    """As `kept`, while all members of the cluster were restarted at once."""
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
    found: dict[str, dict[str, list[float]]] = {"pods": {}, "kept": {}, "first": {}, "together": {}}
    stops: list[float] = []
    growths: dict[str, float] = {}
    steps: dict[str, list[Entry]] = {}
    for entry in history.ended:
        # What had not ended when the history was stored has an end that a reader has guessed.
        if entry.kind is Kind.MEMBER and entry.end <= history.until:
            steps.setdefault(entry.subject, []).append(entry)
            if entry.what == Phase.GROW:
                growths[entry.subject] = max(LEAST, entry.end - entry.begin - REACTION * SOON_SHARE)
    labelled = [(pod, pod.metadata.labels) for pod in pods]
    members = {labels.get(names.LABEL_MEMBER, "") for _, labels in labelled}
    for pod, labels in labelled:
        pool, name = (labels.get(label, "") for label in (names.LABEL_POOL, names.LABEL_MEMBER))
        mine = steps.get(name, [])
        shared = [entry for entry in mine if is_shared(entry, members, steps)]
        for sample in samples(pod, mine, history, shared):
            found[sample.field].setdefault(pool, []).append(sample.seconds)
            stops += [sample.stop] if sample.stop is not None else []
    return Times(**found, stops=stops, growths=tuple(growths.values()))


def is_shared(entry: Entry, members: Iterable[str], steps: Mapping[str, Sequence[Entry]]) -> bool:
    """Return whether all other members were restarted at the same time: they wait for each other, so all are slower."""
    others = [steps.get(name, ()) for name in members if name != entry.subject]
    during = (
        any(e.what in RESTARTS and e.begin < entry.end and entry.begin < e.end for e in other) for other in others
    )
    return entry.what in RESTARTS and bool(others) and all(during)


def samples(pod: Pod, steps: Sequence[Entry], history: History, shared: Sequence[Entry] = ()) -> Iterator[Sample]:
    """Yield the last start of a pod's member, and its last restarts in this pod, alone and (`shared`) with all others.

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
    for field, found in (
        ("kept", [e for e in kept if e not in shared]),
        ("together", [e for e in kept if e in shared]),
    ):
        if found:
            yield Sample(field, float(found[-1].end - found[-1].begin))
    if within is not None:
        first, seconds = within.what == Phase.CREATE, max(0.0, within.end - created - REACTION)
        if within in shared:
            yield Sample("together", in_a_kept_pod(seconds), created - within.begin)
        else:
            yield Sample("first" if first else "pods", seconds, None if first else created - within.begin)
    elif ready is not None and pod.ready and shows_its_start(pod, ready.timestamp(), steps, history):
        yield Sample("pods", ready.timestamp() - created)


def shows_its_start(pod: Pod, ready: float, steps: Sequence[Entry], history: History) -> bool:
    """Return whether a pod that is ready since then was not before, because its process has started only once.

    That of a pod with an agent may have been restarted without a trace in the pod. Then the history must reach from the
    pod's creation to its readiness, and must show no absence.
    """
    made = pod.metadata.creation_timestamp
    if made is None or ready < made.timestamp():
        return False  # The clock of its machine is behind that of the API server, so nothing was measured.
    if not has_agent(pod):
        return True
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

    First starts, and those of all members at once, are upper bounds: if nothing else is known, the usual share of them
    is used, or the assumed start if it is shorter. If only restarts in kept pods are known, a third of them is the stop
    of a pod.
    """
    assumed = Durations()
    kept = medians(times.kept)
    stop = median(times.stops) if times.stops else min((assumed.stop, *(seconds / 3 for seconds in kept.values())))
    together = medians(times.together)
    crowded = {pool: in_a_new_pod(seconds) for pool, seconds in together.items()} | medians(times.first)
    bounds = {pool: min(assumed.start, seconds * FIRST_SHARE) for pool, seconds in crowded.items()}
    new = {pool: in_a_new_pod(seconds) for pool, seconds in kept.items()}
    starts = {**bounds, **new, **medians(times.pods)}
    limit = known.limit or assumed.rate
    return Durations(
        start=usual(times, assumed.start, bounds),
        starts=starts,
        restarts=kept,
        together=together,
        stop=stop,
        rate=min(known.rate * (known.at_once or assumed.at_once), limit) if known.rate else limit,
        at_once=known.at_once or assumed.at_once,
        reopen=known.reopen or assumed.reopen,
        grow=median(times.growths) if times.growths else assumed.grow,
    )


def usual(times: Times, assumed: float, bounds: Mapping[str, float]) -> float:
    """Return the start of a member of a pool without measured starts: that of all others."""
    if everyone := [seconds for found in times.pods.values() for seconds in found]:
        return median(everyone)
    if everyone := [seconds for found in times.kept.values() for seconds in found]:
        return in_a_new_pod(median(everyone))
    return min(assumed, median(bounds.values() or [assumed]))


def medians(found: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each pool."""
    return {pool: median(seconds) for pool, seconds in found.items()}
