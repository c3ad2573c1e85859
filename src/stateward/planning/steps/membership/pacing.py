"""Paces departures: a wait between the release of one member and the next.

The database has to notice that a process is gone, and to recover, before the next one leaves. Its report in the same
second may still count both. A member that leaves without draining relies on that report alone, so it also waits until
all other losses are in it. A drained one whose processes are not all there waits until its own loss would be in it.

The time of the last release is in the status. If the operator stopped before it wrote that time, the StatefulSet that
was scaled to zero shows the release: the wait then starts when the operator observes it.
"""

from collections.abc import Iterable, Iterator
from math import inf, isinf

import msgspec

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action, DeletePod, Release
from stateward.planning.model.intent import State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Effect, Member
from stateward.planning.model.times import rfc3339

COUNTED = 120.0
"""Seconds until a database that reports no places of copies counts a loss. FoundationDB takes a minute
(`DATA_DISTRIBUTION_FAILURE_REACTION_TIME`), and the rest is for its report."""
ENDS = (Release, DeletePod)
"""Actions that end the process of a leaving member: the second one if its StatefulSet was deleted without its pod."""
PACED = "RemovalPaced"
"""Reason of the wait of a member that leaves later."""


def limit_releases(facts: Facts, part: StepResult) -> StepResult:
    """Return the steps of leaving members, with at most one release that is paced, and none before its time."""
    ends = (a.member for a in part.actions if isinstance(a, ENDS))
    going = [name for name in ends if needs_recovery(facts, facts.members[name])]
    paced = [n for n in going if pause_before(facts, n) or proved_by_addresses(facts, n)]
    starts = {name: max(((facts.now, ""), *obstacles(facts, name))) for name in paced}
    ready = [name for name in paced if starts[name][0] <= facts.now and pause_before(facts, name)]
    later = {name: why for name, (start, why) in starts.items() if start > facts.now}
    for name in ready[1:]:
        start = rfc3339(facts.now + pause_before(facts, name))
        later[name] = f"{ready[0]} leaves first, and the next one leaves no earlier than {start}"
    actions: tuple[Action, ...] = tuple(a for a in part.actions if not (isinstance(a, ENDS) and a.member in later))
    waits = [StepResult(waits=(Wait(n, PACED, f"{n} leaves later: {why}"),)) for n, why in later.items()]
    intents = [
        StepResult(intents=intents_for(State.LEAVING, [facts.members[n]], Effect.REPLACE, f"{{}} leaves later: {why}"))
        for n, why in later.items()
    ]
    return merge(msgspec.structs.replace(part, actions=actions), *intents, *waits)


def pause_before(facts: Facts, name: str) -> float:
    """Return the seconds between the last release and this one.

    The disaster this prevents: all storage members of FoundationDB are replaced without draining; within the minute in
    which it does not count the first ones, it bears a failure more each time, and all are deleted with all data.
    """
    return max(facts.obs.desired.wait_between_removals, COUNTED if relies_on_count(facts, name) else 0.0)


def relies_on_count(facts: Facts, name: str) -> bool:
    """Return whether a member leaves only because the database reports that it bears one more failure."""
    policy = facts.obs.desired.replacement
    return counts_losses(facts) and name in policy.undrained - policy.accepted


def proved_by_addresses(facts: Facts, name: str) -> bool:
    """Return whether a drained member was proved empty by addresses, because its processes are not all there.

    The disaster this prevents: a user scales its StatefulSet to zero twice, and the operator misses the pod in between.
    The database knows of no data at the address of the first pod, because the data moved with the member to that of the
    second one. It counts what it misses a moment later.
    """
    policy = facts.obs.desired.replacement
    return counts_losses(facts) and name not in policy.undrained | policy.accepted and not facts.joined(name)


def counts_losses(facts: Facts) -> bool:
    """Return whether the database reports no places of copies, but how many more failures it bears."""
    return facts.database is not None and facts.database.tolerance is not None


def obstacles(facts: Facts, name: str) -> Iterator[tuple[float, str]]:
    """Yield the times before which a member may not go, in seconds since the epoch, each with the reason."""
    last, pause = last_removal(facts), pause_before(facts, name)
    if last is not None:
        start = rfc3339(last + pause)
        yield last + pause, f"another member left at {rfc3339(last)}, and the next one leaves no earlier than {start}"
    if relies_on_count(facts, name):
        yield from uncounted(facts, losses(facts))
        yield from just_allowed(facts, name)
    elif proved_by_addresses(facts, name):
        yield from uncounted(facts, absences(facts, [name]))
        yield from just_allowed(facts, name)


def just_allowed(facts: Facts, name: str) -> Iterator[tuple[float, str]]:
    """Yield until when a member has to stay because the database has allowed its loss for a moment only.

    The disasters this prevents: the process that distributes the data restarts, and takes all storage servers for
    healthy for a minute, also one that has been missing for an hour. Or a released member runs on, on a machine that
    Kubernetes does not reach. When it ends at last, the database no longer lists it, counts it for a minute, and the
    next member leaves. So no single answer is enough, and not the first one after a user's request either.
    """
    since = facts.obs.waits.get(f"{name} {PACED}", facts.now)
    counted = since + COUNTED
    said = f"the database has allowed the loss of {name} since {rfc3339(since)}"
    yield counted, f"{said}: by {rfc3339(counted)} it counts the losses that it does not count yet"


def uncounted(facts: Facts, lost: Iterable[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """Yield until when the database may not count these losses, with the reason.

    It counts none in a zone in maintenance. The disasters this prevents: the members of a zone have lost their disks
    during its maintenance, a member of another zone leaves without draining, and it has the last copies. Or the only
    process with some data is lost, a user replaces it a moment later, and nothing says yet that data is missing. Or one
    member of a zone in maintenance leaves without draining, then one of another zone, and both copies are lost.
    """
    end = maintenance_end(facts)
    for since, text in lost:
        counted = max(since, end or since) + COUNTED
        if isinf(counted):
            yield counted, f"{text}, and the database counts it after the maintenance of its zone"
        else:
            yield counted, f"{text}, and the database counts it no earlier than {rfc3339(counted)}"


def losses(facts: Facts) -> Iterator[tuple[float, str]]:
    """Yield the members whose data the database may still count, each with the time since which it is not there."""
    last = last_removal(facts)
    if last is not None:
        yield last, f"another member left at {rfc3339(last)}"
    yield from absences(facts, sorted(facts.obs.records))


def absences(facts: Facts, names: Iterable[str]) -> Iterator[tuple[float, str]]:
    """Yield which of these members are recorded and do not serve, each with the time since which it does not."""
    for name in names:
        member = facts.members.get(name)
        if name not in facts.obs.records or facts.joined(name) or not (member is None or facts.holds_data(member)):
            continue
        times = facts.obs.since if name in facts.obs.stopped else facts.obs.away
        yield times.get(name, facts.now), f"{name} does not serve"


def maintenance_end(facts: Facts) -> float | None:
    """Return when the last maintenance of a zone ended, for the next round: infinity while one is in force."""
    before, database = facts.obs.maintenance_end, facts.database
    if database is not None and database.maintenance:
        return inf
    return facts.now if database is not None and before == inf else before


def last_removal(facts: Facts) -> float | None:
    """Return when the last member was released, in seconds since the epoch; None if there was none as far as known.

    A member that has joined with other data than before counts as one that has left.
    """
    unwritten = any(is_recent_release(facts, m) and m.name not in facts.obs.let_go for m in facts.obs.members)
    unwritten = unwritten or any(has_lost_data(facts, m) for m in facts.obs.members)
    return facts.now if unwritten else facts.obs.last_removal


def has_lost_data(facts: Facts, member: Member) -> bool:
    """Return whether a member has joined without the data that it had when it was recorded, as this round records.

    A database that reports no places of copies counts the lost data for a while, although its member serves again. The
    disaster this prevents: a user deletes the claim and the pod of a member, which joins with an empty volume after
    some seconds; another member leaves without draining, and it had the other copies.
    """
    counts = facts.obs.desired.formed_by_word and facts.joined(member.name)
    return counts and facts.has_other_volume(member)


def is_recent_release(facts: Facts, member: Member) -> bool:
    """Return whether the member was released, counts for the wait, and still has objects."""
    return member.present and not member.unreleased and needs_recovery(facts, member)


def needs_recovery(facts: Facts, member: Member) -> bool:
    """Return whether the database has to recover from the loss of the member: it has joined, with data or a vote."""
    return not facts.never_had_data(member) and (facts.holds_data(member) or facts.votes(member))
