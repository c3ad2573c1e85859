"""Stopping the process of a member in its pod: what is done to the database before, and the stop itself."""

from collections.abc import Sequence

from msgspec import structs

from stateward.planning.facts.facts import Facts, serves
from stateward.planning.model.actions import Action, Flush, LimitAllocation, MoveCopies, StopProcess
from stateward.planning.model.observation import Allocation, Member, SoleCopy
from stateward.planning.model.phase import COORDINATED
from stateward.planning.model.process import Process, ProcessState
from stateward.planning.safety.availability import member_problem
from stateward.planning.safety.sole_copies import moves_for, sole_verdict

UP = (ProcessState.STARTING, ProcessState.RUNNING)
"""States of a process that runs."""


def quiet(facts: Facts, members: Sequence[Member]) -> tuple[Action, ...]:
    """Return what keeps the copies of members that will be back from being rebuilt elsewhere, and their recovery short.

    Nothing can be asked of a database that does not answer; its processes are restarted all the same.
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


def standing(facts: Facts, member: Member) -> str | None:
    """Return why a process has to go on that was to be stopped and still runs; None when it may be stopped.

    The disaster this prevents: the operator ends after it wrote the phase and before it stopped the process. Until its
    successor goes on, others have gone down, and this member holds the only copy of something now.
    """
    serving = serves(member, facts.database)
    if facts.database is None:
        wanted = member.name in facts.obs.stopped
        return "the database does not answer" if serving and not wanted else None
    problem = member_problem(facts, member) if serving or facts.joined(member.name) else None
    return problem or (sole_verdict(facts, member, keeps=True) if serving else None)


def outrun(facts: Facts, member: Member) -> str | None:
    """Return why a process goes on for now that came up on another configuration than was written for it meanwhile.

    Members count as down until their restart has ended, and several may serve on what was there when they started. The
    disaster this prevents: they are all stopped at once, and with them every copy of what they hold. Members that
    restart together were all down already, and those before and after a change that is taken back may never talk.
    """
    if facts.phase(member) in COORDINATED:
        return None
    going = [facts.members[name] for name in sorted(facts.going)]
    alive = [m for m in going if runs(m) and serves(m, facts.database)]
    names = frozenset(m.name for m in alive)
    relied = structs.replace(facts, up=facts.up | names, down=facts.down - names)
    problem = standing(relied, member)
    if problem is not None or member.name not in names:
        return problem
    first = next(m.name for m in alive if outdated(m) and standing(relied, m) is None)
    return None if first == member.name else f"{first} is stopped first"


def runs(member: Member) -> bool:
    """Return whether a member's agent says that its process runs."""
    return isinstance(member.process, Process) and member.process.state in UP


def outdated(member: Member) -> bool:
    """Return whether a process runs, and with another configuration than was written for its member."""
    process, written = member.process, member.config_checksum
    return isinstance(process, Process) and process.state in UP and bool(written) and process.running != written


def relief(facts: Facts, member: Member) -> tuple[Action, ...]:
    """Return the moves of the only copies that keep a member from being stopped, or it would wait for ever."""
    if facts.obs.desired.sole_copy is not SoleCopy.MOVE or not serves(member, facts.database):
        return ()
    moves = moves_for(facts, member, facts.database.draining if facts.database else frozenset())
    return (MoveCopies(why=f"{member.name} is about to restart", moves=moves),) if moves else ()


def stop(member: Member, why: str = "its restart continues") -> StopProcess:
    """Return the stop of a member's process; `why` completes the sentence about its restart."""
    assert member.pod is not None  # noqa: S101 - who is stopped has a pod
    return StopProcess(why=why, member=member.name, pod=member.pod.ref, address=member.pod.ip)
