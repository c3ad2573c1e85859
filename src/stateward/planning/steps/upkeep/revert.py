"""Reverts the settings made in the database, always: also after a crash, and after the work was abandoned.

This needs no memory: the database reports what Stateward has set (`limited`, `balance_paused`, `draining`, the voting
exclusions), and the parts of the plan say what they need now. The difference is reverted.

A crash between two requests leaves half of a setting (`half_draining`, `half_limited`). It has to be reverted, and
never counts as the whole. The disaster this prevents: the record that a node leaves is still there, its exclusion is
not, and the plan waits forever for data that nothing moves away.
"""

from stateward.planning.facts.departed_voters import departed_voters
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.missing_members import loses_data_with_pod
from stateward.planning.model.actions import (
    Action,
    DeletePod,
    Drain,
    ExcludeVoters,
    MoveCopies,
    RestoreAllocation,
    ResumeBalancing,
    StopProcess,
)
from stateward.planning.model.intent import StepResult, Wait
from stateward.planning.model.observation import Member
from stateward.planning.safety.availability import sole_units, votes_beside
from stateward.planning.safety.sole_copies import is_moving_away

REJOIN_PATIENCE = 300.0
"""Seconds that shards are not reallocated while a member that Stateward stopped comes back.

Long enough for an image pull and a start; short, because an unavailable member costs redundancy all that time.
"""


def revert_settings(facts: Facts, part: StepResult, *, hold: bool) -> StepResult:
    """Return the settings to change, given what the parts of the plan need; `hold` keeps drains as they are."""
    database = facts.database
    if database is None:
        return StepResult()
    actions: list[Action] = []
    if (database.limited or database.half_limited) and not allocation_needed(facts, part):
        actions.append(RestoreAllocation(why="no member is restarting"))
    if database.balance_paused and not pause_needed(facts, part):
        actions.append(ResumeBalancing(why="no single copy is being moved"))
    listed = still_listed(facts)
    drain, exclude = (
        part.drain | still_draining(facts) | listed,
        part.exclude | still_excluded(facts) | departed_voters(facts),
    )
    exclude |= votes_beside(database, exclude)
    before, without = database.draining, database.voting_exclusions
    if not hold and (drain != before or database.half_draining - drain):
        actions.append(Drain(why=members_reason("data moves away from", drain), members=drain, lifts=drain <= before))
    if not hold and exclude != without:
        actions.append(
            ExcludeVoters(why=members_reason("votes are moved from", exclude), members=exclude, lifts=exclude < without)
        )
    waits = (*map(still_listed_wait, sorted(listed)), *map(volume_wait, volumes_ending(facts)))
    return StepResult(actions=tuple(actions), waits=waits)


def allocation_needed(facts: Facts, part: StepResult) -> bool:
    """Return whether a member with copies is stopping or coming back."""
    taken = [facts.members[a.member] for a in part.actions if isinstance(a, DeletePod)]
    if any(facts.units_of(m.name) and not loses_data_with_pod(facts, m) for m in taken):
        return True
    if any(facts.units_of(a.member) for a in part.actions if isinstance(a, StopProcess)):
        return True
    return any(coming_back(facts, name) for name in facts.down)


def pause_needed(facts: Facts, part: StepResult) -> bool:
    """Return whether only copies are moving away from a member, or a member that they have left is stopping now."""
    if any(isinstance(action, MoveCopies | DeletePod | StopProcess) for action in part.actions):
        return True
    return any(is_moving_away(unit, name) for name in facts.up for unit in sole_units(facts, name))


def coming_back(facts: Facts, name: str) -> bool:
    """Return whether a member that is down will be back soon: it starts, without trouble, for minutes at most."""
    member = facts.members[name]
    pod = member.pod
    if name in facts.obs.stopped:
        return False
    trouble = pod is not None and (bool(facts.trouble(member)) or not pod.node_ready)
    return (
        member.alive
        and not trouble
        and facts.holds_data(member)
        and facts.seconds_not_serving(member) < REJOIN_PATIENCE
    )


def still_draining(facts: Facts) -> frozenset[str]:
    """Return the drained members that were released, until all objects that are deleted with them are gone.

    The disasters this prevents: the drain is lifted as soon as the pod is deleted, the database moves a shard back to
    the member, and the shard is lost with the pod; or an unexpected pod starts from what is left, and receives data
    again.
    """
    draining = facts.database.draining if facts.database else frozenset[str]()
    return frozenset(m.name for m in facts.obs.members if m.name in draining and is_being_removed(facts, m))


def still_listed(facts: Facts) -> frozenset[str]:
    """Return the drained members without a pod that will not come back, while the database still lists them.

    The disaster this prevents: a pod is deleted by force while its node cannot be reached, its process goes on, and the
    database moves data to a process that ends as soon as the node is back.
    """
    database = facts.database
    drained = database.draining & database.nodes.keys() if database else frozenset[str]()
    return frozenset(name for name in drained if name not in facts.members or has_left_for_good(facts.members[name]))


def has_left_for_good(member: Member) -> bool:
    """Return whether a member was released and has no pod any more."""
    return member.pod is None and not member.alive


def still_listed_wait(name: str) -> Wait:
    """Return the wait for a member that the database still lists after its pod is gone."""
    text = "its pod is gone, but the database still lists it: no data moves to it until the database no longer does"
    return Wait(name, "StillListed", text)


def volumes_ending(facts: Facts) -> list[str]:
    """Return the drained members of which only a volume that is being deleted is left, in order."""
    return sorted(n for n in still_draining(facts) if (m := facts.members[n]).pod is None and m.workload is None)


def volume_wait(name: str) -> Wait:
    """Return the wait for the volume of a removed member; until it is gone, the drain is set in the database."""
    text = "its volume is being deleted: the drain is lifted when it is gone, so that no data moves to what is left"
    return Wait(name, "VolumeTerminating", text)


def is_being_removed(facts: Facts, member: Member) -> bool:
    """Return whether the member was released, and some of its objects still exist."""
    if member.pod is not None and loses_data_with_pod(facts, member) and facts.joined(member.name):
        return member.pod.terminating
    volume = member.claim is not None and member.claim.terminating
    return has_left_for_good(member) and (member.workload is not None or volume)


def still_excluded(facts: Facts) -> frozenset[str]:
    """Return the members without a vote that are coming back: a vote is of no use while they are down."""
    excluded = facts.database.voting_exclusions if facts.database else frozenset[str]()
    return frozenset(name for name in facts.down & excluded if facts.members[name].alive)


def members_reason(text: str, members: frozenset[str]) -> str:
    """Return the reason for a set of members."""
    return f"{text} {', '.join(sorted(members))}" if members else "no step needs it any longer"
