"""Advances a history by one observation of the cluster: its status, as the operator has just determined it."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import ClusterStatus, MemberStatus
from stateward.api.values.conditions import stalled
from stateward.planning.model.intent import State
from stateward.planning.model.times import parse_time
from stateward.planning.report.comes_back import comes_back
from stateward.timeline.history import MAX_TEXT, Entry, History, Kind, bounded
from stateward.timeline.phases import Phase

MERGE_SECONDS = 10
"""Seconds after which a wait that comes back is a new one: gates open and close within a second during a rollout."""

SIMPLE = {
    State.CREATING.value: Phase.CREATE,
    State.STARTING.value: Phase.START,
    State.WAITING.value: Phase.WAIT,
    State.PREPARING.value: Phase.PREPARE,
    State.REPAIRING.value: Phase.REPAIR,
    State.DRAINING.value: Phase.MOVE,
    State.GROWING.value: Phase.GROW,
    State.DOWN.value: Phase.DOWN,
    State.STOPPED.value: Phase.STOPPED,
}
EFFECTS = {"reload": Phase.RELOAD, "restart": Phase.RESTART, "recreate": Phase.RECREATE, "replace": Phase.REPLACE}
STEPS = frozenset({Phase.CREATE, Phase.REPAIR, Phase.RESTART, Phase.UPGRADE, Phase.RECREATE})
"""Phases that last until the member serves again: also while its pod stops and starts."""
WRITES = {"True": "accepted", "False": "refused"}
"""By the condition Available: without a copy of a shard, writes to it are refused."""
SAME_EVENT = 120
"""Seconds between the times at which two processes see one event, at most."""
SPEC = "Spec"
"""On the list of removals: the spec asks for it, and no member takes its place."""


def advance(history: History, cluster: Cluster, status: ClusterStatus, now: float) -> History:
    """Return the history after an observation at `now` (seconds since the epoch); the same object if nothing is new.

    `cluster` is the resource that was observed, `status` the status that follows from the observation.
    """
    moment, lasting = int(now), {entry.identity: entry for entry in history.lasting}
    steps = {entry.subject: entry.what for entry in history.lasting if entry.what in STEPS}
    present = {entry.identity: entry for entry in entries(cluster, status, moment, steps)}
    events = tuple(occurred(history, cluster, status, moment))
    if lasting.keys() == present.keys() and not events:
        return history
    over = [entry for identity, entry in lasting.items() if identity not in present]
    new = [entry for identity, entry in present.items() if identity not in lasting]
    reopened, ended = resumed(history.ended, new, moment)
    kept = [entry for identity, entry in lasting.items() if identity in present]
    begun = [reopened.get(entry.identity, since(entry, history)) for entry in new]
    closed = [replace(entry, end=max(moment, entry.begin, 1)) for entry in over]
    return bounded(
        replace(
            history,
            begin=history.begin or moment,
            ended=(*ended, *closed, *events),
            lasting=(*kept, *begun),
            generation=status.observed_generation or history.generation,
            version=status.version or history.version,
        )
    )


def since(entry: Entry, history: History) -> Entry:
    """Return a new entry that does not begin before an earlier one of its subject has ended.

    The status may say that it began before this observation: while no operator was at work.
    """
    ends = (e.end for e in reversed(history.ended) if (e.kind, e.subject) == (entry.kind, entry.subject))
    last = next(ends, history.begin) if entry.kind in (Kind.MEMBER, Kind.HEALTH, Kind.WRITES) else history.begin
    return replace(entry, begin=max(entry.begin, last))


def resumed(
    ended: tuple[Entry, ...], new: Iterable[Entry], now: int
) -> tuple[Mapping[tuple[Kind, str, str], Entry], tuple[Entry, ...]]:
    """Return the waits that come back so soon that they continue, and the entries that stay ended."""
    waits = {e.identity for e in new if e.kind is Kind.WAIT}
    back = {e.identity: e for e in ended[-len(waits) * 4 :] if e.identity in waits and now - e.end < MERGE_SECONDS}
    if not back:
        return {}, ended
    rest = tuple(e for e in ended if back.get(e.identity) is not e)
    return {identity: replace(entry, end=0) for identity, entry in back.items()}, rest


def entries(cluster: Cluster, status: ClusterStatus, now: int, steps: Mapping[str, str]) -> Iterator[Entry]:
    """Yield what lasts at present; `steps` has the steps that members were in, by member."""
    name = cluster.metadata.name
    if status.health:
        yield Entry(kind=Kind.HEALTH, subject=name, what=status.health, begin=now)
    available = next((c for c in status.conditions if c.type == "Available"), None)
    if available is not None:
        yield Entry(kind=Kind.WRITES, subject=name, what=WRITES.get(available.status, "unknown"), begin=now)
    stuck = stalled(status.conditions)
    if stuck is not None:
        yield Entry(kind=Kind.WAIT, subject=name, what=Phase.STALLED, begin=now, why=stuck.message[:MAX_TEXT])
    members = {member.name for member in status.member_states}
    for wait in status.waiting:
        if wait.subject not in members:
            begin = seconds(wait.since_time, now)
            yield Entry(
                kind=Kind.WAIT, subject=wait.subject, what=wait.reason, begin=begin, why=wait.message[:MAX_TEXT]
            )
    for removal in status.pending_removals:
        begin, why = seconds(removal.start_time, now), removal.reason[:MAX_TEXT]
        yield Entry(kind=Kind.REMOVAL, subject=removal.name, what=removal.origin or SPEC, begin=begin, why=why)
    for member in status.member_states:
        phase = phase_of(member, cluster, status)
        if phase is not None:
            if phase in (Phase.START, Phase.DOWN) and comes_back(member):
                phase = Phase(steps.get(member.name, phase if member.version else Phase.CREATE))
            begin, why = seconds(member.last_transition_time, now), member.reason[:MAX_TEXT]
            yield Entry(kind=Kind.MEMBER, subject=member.name, what=phase.value, begin=begin, why=why, pool=member.pool)


def phase_of(member: MemberStatus, cluster: Cluster, status: ClusterStatus) -> Phase | None:
    """Return the phase of a member; None if it serves and has nothing to do."""
    if member.state in SIMPLE:
        return SIMPLE[member.state]
    if member.state == State.LEAVING:
        by = next((r.origin for r in status.pending_removals if r.name == member.name), SPEC)
        return Phase.REMOVE if by == SPEC else Phase.REPLACE
    if member.state == State.RESTARTING:
        changes_version = bool(member.version) and member.version != cluster.spec.version and bool(member.pending)
        return Phase.UPGRADE if changes_version else EFFECTS.get(member.pending, Phase.RESTART)
    return None


def occurred(history: History, cluster: Cluster, status: ClusterStatus, now: int) -> Iterator[Entry]:
    """Yield what has happened since the last observation: an edit, a version that is deployed everywhere."""
    name = cluster.metadata.name
    if status.observed_generation > history.generation > 0:
        wanted = cluster.spec.version
        what = f"now asks for {wanted}" if status.version not in ("", wanted) else "was edited"
        yield event(name, "edited", now, f"the spec {what} (generation {status.observed_generation})")
    if status.version and history.generation and status.version != history.version:
        yield event(name, "deployed", now, f"every member runs {status.version}")


def event(subject: str, what: str, now: int, why: str) -> Entry:
    """Return an event at one moment."""
    return Entry(kind=Kind.EVENT, subject=subject, what=what, begin=now, end=now, why=why)


def seconds(text: str, now: int) -> int:
    """Return a time of the status; now for one that is not known, or is in the future."""
    found = parse_time(text)
    return now if found is None else min(now, int(found))


def joined(stored: History, later: History) -> History:
    """Return the history that one process has stored, continued by what another has recorded since its start.

    What lasted at the end of the first and was not found by the second has ended in between, at the latest when the
    second began.
    """
    if not later.begin:
        return stored
    steps = {entry.subject: entry.what for entry in stored.lasting if entry.what in STEPS}
    later = replace(
        later,
        ended=tuple(_within_step(entry, steps, later.begin) for entry in later.ended),
        lasting=tuple(_within_step(entry, steps, later.begin) for entry in later.lasting),
    )
    found = {entry.identity: entry for entry in (*reversed(later.ended), *later.lasting) if entry.begin <= later.begin}
    same = {e.identity: e for e in stored.lasting if e.identity in found}
    over = [replace(e, end=max(later.begin, e.begin)) for e in stored.lasting if e.identity not in found]
    ended = [_continued(entry, same, later.begin) for entry in later.ended if not _told(entry, stored)]
    unseen = _unseen(stored, later)
    lasting = [_continued(entry, same, later.begin) for entry in later.lasting]
    whole = replace(
        later,
        begin=stored.begin or later.begin,
        ended=(*stored.ended, *over, *unseen, *ended),
        lasting=tuple(lasting),
        generation=later.generation or stored.generation,
        version=later.version or stored.version,
    )
    return bounded(whole)


def _within_step(entry: Entry, steps: Mapping[str, str], begin: int) -> Entry:
    """Return the first phase of a member as the step that it was in before, if it has not come back yet."""
    back = entry.what in (Phase.START, Phase.CREATE) and entry.kind is Kind.MEMBER and entry.begin <= begin
    return replace(entry, what=steps[entry.subject]) if back and entry.subject in steps else entry


def _continued(entry: Entry, same: Mapping[tuple[Kind, str, str], Entry], begin: int) -> Entry:
    earlier = same.get(entry.identity)
    return replace(entry, begin=min(entry.begin, earlier.begin)) if earlier and entry.begin <= begin else entry


def _told(entry: Entry, stored: History) -> bool:
    """Return whether an event is in the stored history already, from a process that saw it at about the same time."""
    return entry.kind is Kind.EVENT and any(
        (known.subject, known.what, known.why) == (entry.subject, entry.what, entry.why)
        and abs(known.begin - entry.begin) < SAME_EVENT
        for known in stored.ended
    )


def _unseen(stored: History, later: History) -> Iterator[Entry]:
    """Yield what happened between the two histories, which neither has seen: the last moment at which it may have."""
    name = next((entry.subject for entry in later.lasting if entry.kind is Kind.HEALTH), "")
    known = {entry.what for entry in later.ended if entry.kind is Kind.EVENT}
    if later.generation > stored.generation > 0 and "edited" not in known:
        yield event(name, "edited", later.begin, f"the spec was edited (generation {later.generation})")
    if later.version and stored.version and later.version != stored.version and "deployed" not in known:
        yield event(name, "deployed", later.begin, f"every member runs {later.version}")
