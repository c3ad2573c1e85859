"""Stopping the process of a member in its pod: what is done to the database before, and the stop itself."""

from collections.abc import Sequence

from stateward.planning.actions import Action, Flush, LimitAllocation, StopProcess
from stateward.planning.facts import Facts
from stateward.planning.observation import Allocation, Member


def quiet(facts: Facts, members: Sequence[Member]) -> tuple[Action, ...]:
    """Return what keeps the copies of members that will be back from being rebuilt elsewhere, and their recovery short.

    Nothing can be asked of a database that does not answer; its processes are restarted all the same.
    """
    if facts.database is None or not any(facts.units_of(m.name) for m in members):
        return ()
    names = ", ".join(m.name for m in members)
    flush = Flush(why=f"recovery after the restart of {names} is shorter")
    if facts.database.allocation is not Allocation.ALL:
        return (flush,)
    return (LimitAllocation(why=f"{names} will be back", allocation=Allocation.PRIMARIES), flush)


def stop(member: Member, why: str = "its restart goes on") -> StopProcess:
    """Return the stop of a member's process; `why` completes the sentence about its restart."""
    assert member.pod is not None  # noqa: S101 - who is stopped has a pod
    return StopProcess(why=why, member=member.name, pod=member.pod.ref, address=member.pod.ip)
