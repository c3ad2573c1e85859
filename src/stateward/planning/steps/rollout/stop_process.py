"""Stopping the process of a member in its pod: what is done to the database before, and the stop itself."""

from collections.abc import Sequence

from msgspec import structs

from stateward.planning.facts.facts import Facts, serves
from stateward.planning.facts.missing_members import loses_data_with_pod
from stateward.planning.model.actions import Action, Flush, LimitAllocation, MoveCopies, StopProcess
from stateward.planning.model.observation import Allocation, Member, SoleCopy
from stateward.planning.model.phase import COORDINATED, STOPPING
from stateward.planning.model.process import AGENT_PATIENCE, Process, ProcessState
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

    Members count as down until their restart has ended, and several of them may serve. The disasters this prevents: the
    operator stops between writing the phase and stopping the process, and before its successor continues, other members
    have stopped; or all members with an outdated configuration stop at once, and with them every copy of their shards.
    """
    alive = alive_in_restart(facts)
    facts = with_alive(facts)
    problem = problem_alone(facts, member)
    if problem is not None or not serves(member, facts.database) or facts.phase(member) in COORDINATED:
        return problem
    others = structs.replace(facts, down=facts.down - {member.name})
    if room_left(others, 1) <= 0:
        return budget_used_up(others)
    due = (m for m in alive if is_to_stop(facts, m) and problem_alone(facts, m) is None)
    first = next((m.name for m in due), member.name)
    return None if first == member.name else f"{first} is stopped first"


def alive_in_restart(facts: Facts) -> list[Member]:
    """Return the members whose restart has not ended, and that serve: their processes have not stopped, or are back."""
    going = [facts.members[name] for name in sorted(facts.going)]
    return [m for m in going if (is_running(m) or is_mute(facts, m)) and serves(m, facts.database)]


def with_alive(facts: Facts) -> Facts:
    """Return the facts in which members that serve count as up also while their restart has not ended."""
    names = frozenset(m.name for m in alive_in_restart(facts))
    return structs.replace(facts, up=facts.up | names, down=facts.down - names)


def problem_alone(facts: Facts, member: Member) -> str | None:
    """Return what the cluster would lose without the member now, as the reason to keep it; None if it loses nothing."""
    serving = serves(member, facts.database)
    if facts.database is None:
        wanted = member.name in facts.obs.stopped and facts.unanswered
        return "the database does not answer" if serving and not wanted else None
    problem = member_problem(facts, member, keeps=True) if serving or facts.joined(member.name) else None
    return problem or (sole_verdict(facts, member, keeps=True) if serving else None)


def is_to_stop(facts: Facts, member: Member) -> bool:
    """Return whether the restart of a member that serves cannot continue before its process, or its pod, has ended."""
    if facts.phase(member) in COORDINATED or facts.trouble(member):
        return False
    if not is_running(member):
        return can_recreate(facts, member)
    return facts.phase(member) in STOPPING or outdated(member)


def is_mute(facts: Facts, member: Member) -> bool:
    """Return whether the member's agent has been silent for so long that its pod is recreated."""
    return not isinstance(member.process, Process) and (
        facts.seconds_waited(member.name, "AgentSilent") >= AGENT_PATIENCE
    )


def can_recreate(facts: Facts, member: Member) -> bool:
    """Return whether a member whose agent stays silent gets another pod: its node works, and its data stays."""
    pod, workload = member.pod, member.workload
    if not is_mute(facts, member) or pod is None or not pod.node_ready:
        return False
    return workload is not None and workload.observed and member.alive and not loses_data_with_pod(facts, member)


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
