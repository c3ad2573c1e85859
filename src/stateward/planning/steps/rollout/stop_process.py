"""Stopping the process of a member in its pod: what is done to the database before, and the stop itself."""

from collections.abc import Sequence

from msgspec import structs

from stateward.planning.facts.facts import Facts, serves
from stateward.planning.model.actions import Action, Flush, LimitAllocation, MoveCopies, StopProcess
from stateward.planning.model.observation import Allocation, Member, SoleCopy
from stateward.planning.model.phase import COORDINATED
from stateward.planning.model.process import Process, ProcessState
from stateward.planning.safety.availability import member_problem
from stateward.planning.safety.safe_set import budget_used_up, room_left
from stateward.planning.safety.sole_copies import moves_for, sole_verdict

UP = (ProcessState.STARTING, ProcessState.RUNNING)
"""States of a process that runs."""


def limit_allocation(facts: Facts, members: Sequence[Member]) -> tuple[Action, ...]:
    """Return the settings that avoid reallocation of shards of members that will be back, and shorten their recovery.

    A database that does not answer accepts no settings; its processes restart all the same.
    """
    if facts.database is None or not any(facts.units_of(m.name) for m in members):
        return ()
    names = ", ".join(m.name for m in members)
    flush = Flush(why=f"it shortens the recovery after the restart of {names}")
    if facts.database.allocation is not Allocation.ALL:
        return (flush,)
    going = frozenset(m.name for m in members)
    told = going if facts.database.nodes.keys() - going else frozenset[str]()
    return (LimitAllocation(why=f"{names} will be back", allocation=Allocation.PRIMARIES, members=told), flush)


def stop_problem(facts: Facts, member: Member) -> str | None:
    """Return why a process that was to stop and still runs must keep running; None if it may stop.

    The disaster this prevents: the operator stops between writing the phase and stopping the process. Before its
    successor continues, other members have stopped, and this member now holds the only copy of a shard.
    """
    serving = serves(member, facts.database)
    if facts.database is None:
        wanted = member.name in facts.obs.stopped and facts.unanswered
        return "the database does not answer" if serving and not wanted else None
    problem = member_problem(facts, member) if serving or facts.joined(member.name) else None
    return problem or (sole_verdict(facts, member, keeps=True) if serving else None)


def outdated_problem(facts: Facts, member: Member) -> str | None:
    """Return why a process with an outdated configuration keeps running for now.

    Members count as down until their restart has ended, and several may serve with the configuration that was mounted
    when they started. The disaster this prevents: they all stop at once, and with them every copy of their shards.
    Members of a coordinated restart were all down already, and those before and after a reverted change may be unable
    to talk.
    """
    if facts.phase(member) in COORDINATED:
        return None
    going = [facts.members[name] for name in sorted(facts.going)]
    alive = [m for m in going if is_running(m) and serves(m, facts.database)]
    names = frozenset(m.name for m in alive)
    relied = structs.replace(facts, up=facts.up | names, down=facts.down - names)
    problem = stop_problem(relied, member)
    if problem is not None or member.name not in names:
        return problem
    if room_left(relied, 1) <= 0:
        return budget_used_up(relied)
    first = next(m.name for m in alive if outdated(m) and stop_problem(relied, m) is None)
    return None if first == member.name else f"{first} is stopped first"


def is_running(member: Member) -> bool:
    """Return whether the member's agent reports that its process runs."""
    return isinstance(member.process, Process) and member.process.state in UP


def outdated(member: Member) -> bool:
    """Return whether a process runs with another configuration than the one recorded for its member."""
    process, written = member.process, member.config_checksum
    return isinstance(process, Process) and process.state in UP and bool(written) and process.running != written


def moves_before_stop(facts: Facts, member: Member) -> tuple[Action, ...]:
    """Return the moves of the only copies that prevent a member from stopping; without them it would wait forever."""
    if facts.obs.desired.sole_copy is not SoleCopy.MOVE or not serves(member, facts.database):
        return ()
    moves = moves_for(facts, member, facts.database.draining if facts.database else frozenset())
    return (MoveCopies(why=f"{member.name} is about to restart", moves=moves),) if moves else ()


def stop(member: Member, why: str = "its restart continues") -> StopProcess:
    """Return the stop of a member's process; `why` completes the sentence about its restart."""
    assert member.pod is not None  # noqa: S101 - who is stopped has a pod
    return StopProcess(why=why, member=member.name, pod=member.pod.ref, address=member.pod.ip)
