"""Decommissions a member: first its data, then its vote, then the member, and last the settings made for it.

    leaving ──refused?──▶ draining ──empty──▶ without a vote ──▶ released ──pod gone──▶ forgotten

Data members drain together; managers lose their votes one at a time, and the last one keeps its vote. A member with the
only live copy of a shard stays. A member that is down and may hold such a copy on its volume also stays, until the
database is complete. A member that cannot leave yet is held back, not claimed: it is still repaired and upgraded like
any other, so a waiting shrink leaves no old version behind.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from stateward.api.values.quantity import amount, readable
from stateward.planning.facts.facts import OVERDUE, Facts, unschedulable
from stateward.planning.model.intent import State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import CopyState, Effect, Member, Unit
from stateward.planning.safety.capacity import capacity_problem, remaining_data_members, units_to_move
from stateward.planning.safety.health_gate import health_problem, lost_units
from stateward.planning.steps.membership.create_members import never_ran
from stateward.planning.steps.membership.earlier_cluster import kept_voters, recorded_voters
from stateward.planning.steps.membership.release import (
    NOT_DRAINED,
    bring_back,
    delete_members,
    hold_leaving,
    may_hold_missing_data,
    release,
    stopped_by_others,
)
from stateward.planning.steps.membership.scale import Scale
from stateward.planning.steps.membership.surge import Departures, frees_place, joining_members, obstacle
from stateward.planning.steps.membership.voting_exclusions import (
    VoteRemoval,
    database_knows_departure,
    next_to_lose_vote,
    remove_vote,
)
from stateward.planning.steps.upkeep.revert import still_draining, still_listed

STUCK = 300.0
"""Seconds without a copy on the move after which a drain is stuck and its member is treated like any other."""


def decommission(facts: Facts, leaving: Mapping[str, str], scaling: Scale, departures: Departures) -> StepResult:
    """Return the next steps of the leaving members that no earlier step has claimed.

    `departures` contains the members that may leave, and the new members that the others wait for.
    """
    members = [facts.members[name] for name in leaving]
    unused = never_ran(facts)
    blanks = [m for m in members if facts.never_had_data(m) or m in unused]
    part = merge(*(release(facts, m, leaving[m.name]) for m in blanks))
    members = [m for m in members if m not in blanks]
    if facts.database is None:
        room = leaves_first(facts, members, scaling)
        part = merge(part, *(release(facts, m, leaving[m.name]) for m in room))
        stopped = [m for m in members if m.pod is None and not m.alive and stopped_by_others(facts, m)]
        part = merge(part, *(bring_back(facts, m, NOT_DRAINED) for m in stopped))
        members = [m for m in members if m not in room and m not in stopped]
        waits = merge(*(missing_instruction(facts, m) for m in members))
        return merge(part, hold_leaving(members, "DatabaseUnknown", "the database does not answer"), waits)
    gone = [m for m in members if m.pod is None and not m.alive]
    staying = [m for m in members if m not in gone]
    blocked, held = hold_back(facts, staying, departures, scaling)
    part = merge(part, held)
    going = [m for m in staying if m not in blocked]
    undrained = facts.obs.desired.replacement.undrained
    drained = frozenset(m.name for m in going if facts.holds_data(m) and m.name not in undrained)
    part = merge(part, delete_members(facts, gone), StepResult(drain=drained))
    # A member whose drain this plan lifts is a place for copies again, and not only in the next round.
    stays = drained | still_draining(facts) | still_listed(facts)
    rest = remaining_data_members(facts, facts.database, facts.database.draining & stays)
    to_move = {m.name: units_to_move(facts, m.name, rest) for m in going if m.name not in undrained}
    given_up = [m for m in going if m.name in undrained]
    losses = would_lose(facts, given_up)
    holding = {name for name in to_move if to_move[name]} | losses.keys() - facts.obs.desired.replacement.accepted
    resignation = next_to_lose_vote(facts, going, frozenset(leaving), holding)
    needed = {m.name: still_needed(facts, m) for m in going if is_needed(facts, m, departures)}
    for member in going:
        why, held = leaving[member.name], needed.get(member.name)
        if member in given_up:
            part = merge(part, leave_without_drain(facts, member, why, resignation, losses.get(member.name), held))
        else:
            part = merge(part, step(facts, member, to_move[member.name], why, resignation, held))
    return part


def leaves_first(facts: Facts, members: Sequence[Member], scaling: Scale) -> list[Member]:
    """Return the member that leaves before there is a database, to make room for one without which there will be none.

    One leaves at a time, the highest first: the lowest are in the cluster file. Its volume is kept until the database
    answers. The disaster this prevents: there is no room for all members, so the database is not created; the user asks
    for fewer, and those that are not wanted any longer keep the room, because they leave once the database answers.
    """
    if not facts.needs_first_names or facts.obs.deployed_version or any(m.pod and not m.alive for m in members):
        return []
    waiting = [m for m in joining_members(facts, scaling) if obstacle(facts, m)]
    rest = (m for m in members if m.alive and m.pod is not None and m.name not in scaling.replaced)
    able = [m for m in rest if any(makes_room(facts, m, other) for other in waiting)]
    return sorted(able, key=lambda m: (-m.ordinal, m.name))[:1]


def makes_room(facts: Facts, member: Member, other: Member) -> bool:
    """Return whether a new member that has no place may get one when this member has left."""
    trouble = facts.trouble(other)
    return other.pod is None or (unschedulable(trouble) and frees_place(member, trouble))


def missing_instruction(facts: Facts, member: Member) -> StepResult:
    """Return the call for a person when a member that is broken is needed, and its pool's template is gone."""
    trouble = obstacle(facts, member) if member.alive else facts.trouble(member)
    state, why = ("does not start", trouble) if trouble else ("does not serve", elects_none(facts, member))
    if not why or member.pool in facts.pools:
        return StepResult()
    text = f"{member.name} {state} ({why}), and can only be repaired with pool {member.pool} in the spec"
    return StepResult(waits=(Wait(member.name, "PoolNeeded", text, stalled=True),))


def elects_none(facts: Facts, member: Member) -> str:
    """Return that a manager runs and takes part in no election, while too few others are in the spec; or nothing.

    The disaster this prevents: a setting keeps the managers from finding each other, and their pool gets another name
    when it is corrected. The new managers wait for a database, and it waits for the correction of the old ones.
    """
    voters = recorded_voters(facts) if facts.formed else kept_voters(facts)
    staying = [m for m in voters if m.pool in facts.pools]
    if facts.database is not None or member not in voters or len(staying) > len(voters) // 2:
        return ""
    waits = member.alive and member.pod is not None and member.pod.running and facts.overdue(member)
    return f"it runs, and no cluster has answered for more than {OVERDUE / 60:.0f} minutes" if waits else ""


def hold_back(
    facts: Facts, staying: list[Member], departures: Departures, scaling: Scale
) -> tuple[list[Member], StepResult]:
    """Return the intents and waits of members that may not leave now."""
    running = [m for m in staying if m.unreleased]
    new = [m for m in running if not database_knows_departure(facts, m)]
    starting = bool(departures.awaited) and not departures.stuck
    early = [m for m in new if starting and m.name != departures.room]
    later = [m for m in running if m in early or m.name not in departures.begin]
    reason = departures.awaited or "fewer members than the spec asks for would be left"
    part = hold_leaving(
        later, "NewMemberStuck" if departures.stuck else "SuccessorNotJoined", reason, stalled=departures.stuck
    )
    leaving = [m for m in staying if m not in later]
    moving = [m for m in new if m in leaving and m.name not in facts.obs.desired.replacement.undrained]
    problem = capacity_problem(facts, moving, leaving, scaling.replaced - {departures.room})
    if problem is None:
        return later, part
    blocked = [m for m in moving if facts.holds_data(m)]
    return later + blocked, merge(part, hold_leaving(blocked, "ShrinkRefused", problem, stalled=True))


def is_needed(facts: Facts, member: Member, departures: Departures) -> bool:
    """Return whether a member that runs may not end now; a pod without a StatefulSet ends only while none is down.

    The disaster this prevents: a user deletes the StatefulSet of a leaving member, but not its pod, and this pod is
    deleted while another member is down, or before its successor has joined.
    """
    early = member.unreleased and member.name not in departures.end
    return early or (member.orphaned and member.name in facts.up and bool(facts.down - {member.name}))


def still_needed(facts: Facts, member: Member) -> str:
    """Return why a member that may leave is needed for now: others of its pool do not serve, as a clause."""
    absent = (m for m in facts.obs.members if m.alive and m.name not in facts.up | facts.obs.stopped)
    others = [m.name for m in absent if m.name != member.name and member.pool in (m.pool, "")]
    others = others or sorted(facts.down - {member.name})
    if not others:
        return "fewer members than the spec asks for would serve without this member"
    if member.orphaned:
        return f"{others[0]} does not serve, and the StatefulSet of {member.name} was deleted without its pod"
    return f"{others[0]} does not serve, and without {member.name} fewer members than the spec asks for would serve"


def step(
    facts: Facts, member: Member, units: Sequence[Unit], why: str, resignation: VoteRemoval, needed: str | None
) -> StepResult:
    """Return the next step of one leaving member after these units were moved away from it.

    A member that is still `needed` is drained, and stays.
    """
    if units:
        return drain(facts, member, units, why)
    if needed is not None:
        return hold_leaving([member], "TooFewServing", needed)
    problem = hidden_data(facts, member)
    if problem is not None:
        return merge(hold_leaving([member], "MayHoldLastCopy", problem), missing_instruction(facts, member))
    part = remove_vote(facts, member, resignation)
    if part.waits:
        return part
    if facts.holds_data(member) and facts.database is not None and member.name not in facts.database.draining:
        text = f"{{}} leaves ({why}): it is excluded from allocation first"
        reason = facts.database.undrainable.get(member.name, "")
        wait = Wait(member.name, "DrainBlocked", f"{member.name} cannot be drained yet: {reason}")
        intents = intents_for(State.DRAINING, [member], Effect.REPLACE, text)
        return merge(part, StepResult(intents=intents, waits=(wait,) if reason else ()))
    return merge(part, release(facts, member, why))


def leave_without_drain(
    facts: Facts, member: Member, why: str, resignation: VoteRemoval, loss: str | None, needed: str | None
) -> StepResult:
    """Return the next step of a member that leaves without draining: the user asked for it, and confirms a loss."""
    if loss is not None and member.name not in facts.obs.desired.replacement.accepted:
        text = f"{loss}; members.acceptDataLoss has to name {member.name}, or members.replace moves it away first"
        return hold_leaving([member], "WouldLoseLastCopy", text, stalled=True)
    if needed is not None:
        return hold_leaving([member], "TooFewServing", needed)
    part = remove_vote(facts, member, resignation)
    return part if part.waits else merge(part, release(facts, member, why))


def would_lose(facts: Facts, members: Sequence[Member]) -> dict[str, str]:
    """Return by member the data that would or may be lost with it; members without a loss are left out.

    The disaster this prevents: two members with the two copies of one shard leave together, and each is judged by the
    copy on the other.
    """
    gone = {m.name for m in facts.obs.members if not m.alive} | facts.down
    found: dict[str, str] = {}
    for member in members:
        loss = last_copy_on(facts, member, gone) or tolerance_problem(facts, member, gone) or hidden_data(facts, member)
        if loss is not None:
            found[member.name] = loss
        if loss is None or member.name in facts.obs.desired.replacement.accepted:
            gone.add(member.name)
    return found


def last_copy_on(facts: Facts, member: Member, gone: AbstractSet[str]) -> str | None:
    """Return which unit would have no live copy left without the member and those that are gone, or are about to go."""
    for unit in facts.units_of(member.name):
        holders = facts.holders[unit.name]
        if holders == frozenset({member.name}):
            return f"shard {unit.name} has its only started copy on {member.name}"
        if member.name in holders and holders <= gone | {member.name}:
            others = ", ".join(sorted(holders - {member.name}))
            return (
                f"shard {unit.name} has started copies only on {member.name} and on {others}, which is leaving or down"
            )
    return None


def tolerance_problem(facts: Facts, member: Member, gone: AbstractSet[str]) -> str | None:
    """Return why a database that only reports how many failures it tolerates cannot lose one more member.

    A member that is leaving or down but still listed, with one process at least, is not in that number: the database
    has not noticed yet. The disaster this prevents: the pod of one log stops while its process still answers, and the
    second log leaves too.
    """
    database = facts.database
    if database is None or database.tolerance is None or not facts.holds_data(member):
        return None
    listed = database.nodes.keys() | database.partial.keys()
    unnoticed = (gone & listed) - {member.name}
    lost = member.name in listed and database.tolerance <= len(unnoticed)
    return "the database tolerates no further failure" if lost else None


def drain(facts: Facts, member: Member, units: Sequence[Unit], why: str) -> StepResult:
    """Return the progress of the member's drain; a blocked drain gives the reason and does not claim its member."""
    own = [c for unit in units for c in unit.copies if c.member == member.name]
    text = f"{member.name} leaves ({why}): {data_amount(units)} still to move"
    intents = intents_for(State.DRAINING, [member], Effect.REPLACE, text)
    refusal = facts.database.unproved.get(member.name) if facts.database is not None else None
    if refusal is not None:
        said = f"the database refuses the proof that {member.name} holds no data: {refusal}"
        return StepResult(intents=intents, waits=(Wait(member.name, "ProofRefused", said),))
    if any(c.state is CopyState.RELOCATING for c in own):
        wait = Wait(member.name, "Draining", f"{amount(len(units), 'shard')} still to move away from {member.name}")
        return StepResult(intents=intents, waits=(wait,))
    reason = next((c.why for c in own if c.why), "no shard of it is moving now")
    wait = Wait(member.name, "DrainBlocked", f"shard {units[0].name} is still on {member.name}: {reason}")
    if facts.age(member.name) > STUCK and is_leaving(facts, member):
        return StepResult(otherwise=intents, waits=(wait,))
    return StepResult(intents=intents, waits=(wait,))


def is_leaving(facts: Facts, member: Member) -> bool:
    """Return whether the member's state is one of leaving; the database may refuse the drain."""
    return database_knows_departure(facts, member) or facts.obs.states.get(member.name) == State.DRAINING


def data_amount(units: Sequence[Unit]) -> str:
    """Return how much is on a member, in words; sizes that the database does not tell are left out."""
    shards = amount(len(units), "shard")
    size = sum(unit.size for unit in units)
    return f"{shards}, {readable(size)}" if size else shards


def hidden_data(facts: Facts, member: Member) -> str | None:
    """Return why a data member may not leave although the database lists no shard on it.

    While a shard is missing, its place is unknown; and the volume of an unavailable member may hold a newer copy than
    the one that is being recovered elsewhere. The disaster this prevents: a cluster is deleted and created again, which
    forgets who had joined, and a member with a kept volume leaves before it joins, with the last copy.
    """
    if facts.database is None:
        return "the database does not answer"
    known, missing = member.name in facts.obs.records, lost_units(facts.database)
    if not facts.holds_data(member):
        return None
    if missing and (known or may_hold_missing_data(facts, member)):
        return f"shard {missing[0]} has no started copy, and {member.name} may hold the last one"
    return health_problem(facts) if known and not facts.joined(member.name) else None
