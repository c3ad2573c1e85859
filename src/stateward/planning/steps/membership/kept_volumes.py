"""Marks what must be known of volumes after the cluster resource is deleted, and asks for kept ones that are needed.

The status is deleted with the cluster resource, while volumes are kept. So the claims of managers that have joined a
cluster are marked, those with data, and those that replaced members have left. The disaster this prevents: a
recreated cluster takes the kept volumes with the lowest numbers, including those that were left, and the only copy of a
shard stays on a volume with a higher number.
"""

from collections.abc import Mapping

from stateward.api.values.version import recorded_version
from stateward.planning.facts.facts import OVERDUE, Facts
from stateward.planning.facts.removals import active_removals
from stateward.planning.facts.volume_fit import lacks_for_use, unfit
from stateward.planning.model.actions import Action, DeleteVolume, ForgetState, MarkState, MarkVolume
from stateward.planning.model.database import UNANSWERED
from stateward.planning.model.intent import State, StepResult, Wait, merge
from stateward.planning.model.observation import Member, Pool
from stateward.planning.safety.health_gate import lost_units
from stateward.planning.steps.membership.bootstrap import FORM_NEW, is_overdue, mark_state
from stateward.planning.steps.membership.earlier_cluster import (
    electors,
    everything_lost,
    kept_voters,
    may_hold_needed_vote,
)
from stateward.planning.steps.membership.release import last_copy
from stateward.planning.steps.membership.scale import Scale, free_before


def kept_volumes(facts: Facts, scaling: Scale) -> StepResult:
    """Return the marks to set or remove on volumes that are not in use, and the waits for those that are needed."""
    found = StepResult(actions=(*marks(facts), *data_marks(facts)), waits=needed_volumes(facts, scaling))
    return merge(found, *(vacate(m) for m in scaling.occupied))


def vacate(member: Member) -> StepResult:
    """Return the end of a claim that a new member with its first name waits for; a bound one is only waited for."""
    claim = member.claim
    if claim is None:
        return StepResult()
    text = f"{member.name} is created when the claim of an earlier member of this name is gone: it is being deleted"
    why = "nothing was written to it, and it cannot become what the spec asks for"
    delete = DeleteVolume(why=why, member=member.name, claim=claim.ref)
    return StepResult(
        actions=() if claim.terminating or not claim.empty else (delete,),
        waits=(Wait(member.name, "VolumeTerminating", text),),
    )


def marks(facts: Facts) -> tuple[Action, ...]:
    """Return the marks to set or remove: what must be known of volumes after the cluster resource is deleted."""
    listed = active_removals(facts.obs).keys()
    voters = joined_voters(facts)
    actions: list[Action] = []
    for member in facts.obs.members:
        claim = member.claim
        if claim is None or claim.terminating:
            continue
        if claim.left and member.alive:
            actions.append(MarkVolume(why="it is used again", member=member.name, claim=claim.ref, left=False))
        elif member.name in voters:
            actions += mark_state(member, "it has joined the cluster, and votes", voters[member.name])
        elif claim.state and has_no_vote(facts, member):
            node = facts.node(member.name)
            data = node is not None and node.data
            actions.append(ForgetState(why="others vote now", member=member.name, claim=claim.ref, data=data))
        elif not claim.left and (member.name in listed or is_unfit(facts, member)) and is_abandoned(facts, member):
            actions.append(MarkVolume(why="its member was replaced", member=member.name, claim=claim.ref, left=True))
    return tuple(actions)


def joined_voters(facts: Facts) -> Mapping[str, str]:
    """Return the versions of members that are in the database and vote; none for a database that others create.

    Only what can be read again is recorded, here and of data. The disaster this prevents: nodes of a test build tell a
    version with a suffix, and every plan marks all claims.
    """
    if facts.database is None or facts.obs.desired.formed_by_word:
        return {}
    return {name: recorded_version(node.version) for name, node in facts.database.nodes.items() if node.voting}


def has_no_vote(facts: Facts, member: Member) -> bool:
    """Return whether a member certainly has no part in the state of the cluster, and all that have are marked.

    A manager that is only down may have been taken out of the voting configuration, and comes back.
    """
    if facts.database is None or facts.obs.desired.formed_by_word or not facts.database.voters:
        return False
    node, voters = facts.node(member.name), facts.database.voters
    demoted = not node.voting if node is not None else not member.present
    claims = [facts.members[name].claim if name in facts.members else None for name in voters]
    return demoted and member.name not in voters and all(claim is not None and claim.state for claim in claims)


def data_marks(facts: Facts) -> tuple[Action, ...]:
    """Return the marks of volumes with data and without a vote: one write for each version.

    Each of them may be the only one that is left.
    """
    if facts.database is None or facts.obs.desired.formed_by_word:
        return ()
    found: list[Action] = []
    for member in facts.obs.members:
        node, claim = facts.node(member.name), member.claim
        if claim is None or claim.left or claim.terminating or claim.state or node is None:
            continue
        version = recorded_version(node.version)
        if node.data and not node.voting and (not claim.data or version not in ("", claim.version)):
            mark = MarkState(
                why="it has joined the cluster, and holds data",
                member=member.name,
                claim=claim.ref,
                only_data=True,
                version=version,
                again=claim.data,
            )
            found.append(mark)
    return tuple(found)


def needed_volumes(facts: Facts, scaling: Scale) -> tuple[Wait, ...]:
    """Return the waits for kept volumes that the database may need, and that no member will use as the spec is.

    The disaster this prevents: a cluster is deleted while one of its pools gets another name, fewer members or other
    roles, and created again. What its members held is on kept volumes, and no message says so.
    """
    coming = {(pool.name, ordinal) for pool, ordinal in scaling.missing}
    idle = [m for m in facts.obs.members if not m.present and (m.pool, m.ordinal) not in coming]
    if facts.database is None and facts.obs.desired.formed_by_word:
        if facts.seconds_waited(facts.obs.name, UNANSWERED) <= OVERDUE:
            return ()
        held = [m for m in idle if may_be_needed(facts, m)]
        return tuple(wait for m in held if (wait := needed(facts, scaling, m, "data", _THIS_DATA)))
    if facts.database is None:
        kept = kept_voters(facts) if lacks_managers(facts) else []
        # A StatefulSet that a user scaled to zero looks like that of a manager that was released.
        gone = [m for m in facts.obs.members if m.present and not m.alive and m.pod is None]
        rest = [m for m in facts.obs.members if m.present and not facts.votes(m) and not facts.formed]
        held = [m for m in kept if m in [*idle, *gone, *rest] and (m.pool, m.ordinal) not in coming]
        what = _THIS_STATE if facts.formed else _STATE
        return tuple(wait for m in held if (wait := needed(facts, scaling, m, "voting", what)))
    missing = lost_units(facts.database)
    # A claim without a record of its roles may hold anything; its mark counts where it was made again for others.
    held = [m for m in idle if missing and m.claim is not None and not m.claim.empty and not m.claim.left]
    held = [m for m in held if m.was_made("data") or m.made_for is None or (m.claim is not None and m.claim.data)]
    copy = f"the last copy of shard {missing[0]}" if missing else ""
    return tuple(wait for m in held if (wait := needed(facts, scaling, m, "data", copy)))


_STATE, _THIS_STATE = "the state of an earlier cluster of this name", "the state of this cluster"
_THIS_DATA = "data without which this database does not answer"


def stays_on_record(facts: Facts, member: Member, *, hold: bool) -> bool:
    """Return whether the status still has a member of which only a volume is left.

    With `hold`, no step brings it back, or marks its claim; so it stays, unless it was leaving. The disasters this
    prevents: the StatefulSets of two managers are deleted while the cluster is paused, and later they count as new ones
    that have to wait for a database, which waits for them. Or a new member joins with the next version in that time,
    its StatefulSet is deleted, and it is created again with the previous version, which does not start on its data.
    """
    joined = member.name in facts.obs.records and facts.obs.states.get(member.name) != State.LEAVING
    return (hold and (joined or member.name in facts.down)) or may_be_needed(facts, member)


def may_be_needed(facts: Facts, member: Member) -> bool:
    """Return whether a database that does not answer may wait for a kept volume: its member stays on record.

    The disasters this prevents: a pool gets another name, and one of its StatefulSets is deleted by mistake before its
    member has left. It is not created again, because its pool is not in the spec; the database that was created by a
    command has lost a log without which it does not recover; and no message says what brings it back. Or others have
    taken the places of two lost managers, the third one loses its volume, and the user is asked for a new cluster while
    the volumes of the two are there.
    """
    claim = member.claim
    if facts.database is not None or member.name not in facts.obs.records or claim is None:
        return False
    if not facts.obs.desired.formed_by_word:
        return may_hold_needed_vote(facts, member)
    return not claim.empty and not claim.left and facts.holds_data(member)


def lacks_managers(facts: Facts) -> bool:
    """Return whether managers with kept volumes are needed: none is there, or too few.

    A cluster that was created again waits for the majority of the earlier managers. That they are too few shows only
    when it takes too long, and so it does in one that is formed. There the user's consent to a new cluster counts only
    when everything is lost.
    """
    if facts.obs.bootstrap_again and (not facts.formed or everything_lost(facts)):
        return False
    if facts.formed:
        return facts.seconds_waited(facts.obs.name, UNANSWERED) > OVERDUE
    return not electors(facts) or is_overdue(facts)


def needed(facts: Facts, scaling: Scale, member: Member, role: str, what: str) -> Wait | None:
    """Return the wait for a kept volume with what would let a member use it; None if a step brings the member back."""
    pool, may_hold = facts.pools.get(member.pool), f"the kept volume of {member.name} may hold {what}"
    if member.claim is not None and member.claim.terminating:
        return Wait(member.name, "MayHoldLastCopy", f"{may_hold}, and it is being deleted")
    lacks = lacks_for_use(pool, member, role)
    if pool is not None:
        lacks += filter(None, (lacks_consent(facts, member), lacks_members(facts, scaling, member, pool)))
    if not lacks:
        return None
    use = " and ".join(lacks)
    text = f"{may_hold}; it can only be used with {use} in the spec{FORM_NEW if what == _STATE else ''}"
    return Wait(member.name, "PoolNeeded", text, stalled=True)


def lacks_consent(facts: Facts, member: Member) -> str:
    """Return what takes the member's replacement back, which was decided and never uses its name again."""
    listed = member.name in active_removals(facts.obs)
    return f"{member.name} in members.keep" if listed else ""


def lacks_members(facts: Facts, scaling: Scale, member: Member, pool: Pool) -> str:
    """Return how many members the pool needs for the member's number to be the next one; empty if it never is."""
    before = free_before(facts, pool, member.ordinal)
    if before is None:
        return ""
    absent = sum(each.name == pool.name for each, _ in scaling.missing)
    count = pool.replicas - absent + before + 1
    return f"{count} {'member' if count == 1 else 'members'} of pool {pool.name}"


def is_unfit(facts: Facts, member: Member) -> bool:
    """Return whether the pool asks for another volume than the member has: an edit has replaced the member."""
    pool = facts.pools.get(member.pool)
    return pool is not None and unfit(pool, member)


def is_abandoned(facts: Facts, member: Member) -> bool:
    """Return whether a member is gone, and its volume is not one for which it may be brought back.

    The disasters this prevents: the StatefulSet and the pod of a replaced member are deleted by force, its process runs
    on, so the database misses nothing yet, and the volume with the last copy of a shard is marked as left. Or the
    database is FoundationDB, which misses nothing for a minute anyway: there the release of a member is what counts.
    """
    if member.alive or member.pod is not None:
        return False
    if member.name in facts.obs.desired.replacement.accepted:
        return True
    if facts.obs.desired.formed_by_word and (member.workload is None or not member.workload.released):
        return False
    gone = frozenset(m.name for m in facts.obs.members if not m.alive and m.pod is None)
    return facts.database is not None and not lost_units(facts.database) and not last_copy(facts, member, gone)
