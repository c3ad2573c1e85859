"""Chooses the next members to change: members that serve and have a pending change, one safe set at a time.

    pending ──database healthy──▶ next in order ──safe──▶ chosen ──`prepare`──▶ down ──joined──▶ up ──restored──▶ next

The pools change in order, data before managers, and the elected manager last. Members with the only copy of a shard
come after all others of which one may stop now.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from stateward.api.values.settling import SETTLE_SECONDS
from stateward.planning.facts.change import (
    Change,
    change_of,
    downgrade_problem,
    in_place_problem,
    member_target,
    staged,
)
from stateward.planning.facts.debounce import SETTLING, is_settling
from stateward.planning.facts.facts import Facts, unschedulable
from stateward.planning.facts.upgrade_order import pool_order
from stateward.planning.model.actions import Move, MoveCopies
from stateward.planning.model.intent import Intent, State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Effect, Member, SoleCopy
from stateward.planning.model.phase import Phase
from stateward.planning.safety.availability import sole_units
from stateward.planning.safety.health_gate import health_problem
from stateward.planning.safety.safe_set import choose, room_left
from stateward.planning.safety.sole_copies import is_moving_away, moves_for, sole_verdict
from stateward.planning.steps.rollout.prepare import keeps_pod, prepare, stage


class OtherWork(Struct, frozen=True):
    """Other work in progress that a rollout must not disturb."""

    moving: str | None = None
    """The member whose data is moving."""
    unvoting: str | None = None
    """The member whose vote is being moved."""
    drained: frozenset[str] = frozenset()
    """Members that no data may come to."""
    losing_votes: frozenset[str] = frozenset()
    """Members whose votes are being moved, and that are still in the voting configuration."""


def roll(facts: Facts, taken: frozenset[str], elsewhere: OtherWork) -> StepResult:
    """Return what rolling changes do now."""
    changes = pending(facts, taken)
    asked = [facts.members[name] for name in changes if was_requested(facts, facts.members[name])]
    waiting = [facts.members[name] for name in changes if facts.members[name] not in asked]
    urgent, busy = clear_of_vote(facts, asked, changes, elsewhere)
    first_part = merge(busy, next_step(facts, urgent, changes, elsewhere.drained) if urgent else StepResult())
    if first_part.actions:
        return merge(first_part, hold_all(waiting, changes, "NotSafeYet", f"{urgent[0].name} goes first"))
    return merge(first_part, apply_order(facts, waiting, changes, elsewhere))


def apply_order(facts: Facts, waiting: list[Member], changes: Mapping[str, Change], elsewhere: OtherWork) -> StepResult:
    """Return the changes that wait for a healthy database, for the order of pools, and for each other."""
    waiting, fresh = without_settling(facts, waiting, changes)
    reason = health_problem(facts) if waiting else None
    if reason is not None:
        down = f"{', '.join(sorted(facts.down))} must be back first: " if facts.down else ""
        return merge(fresh, hold_all(waiting, changes, "DatabaseNotReady", down + reason))
    first = unproven(facts, changes)
    if first is not None:
        return merge(fresh, hold_all(waiting, changes, "NotSafeYet", f"{first} has to come back with the change first"))
    waiting, away = beside_maintenance(facts, waiting, changes)
    waiting, later = in_turn(facts, waiting, changes)
    waiting, busy = clear_of_other_work(facts, waiting, changes, elsewhere)
    return merge(fresh, away, later, busy, next_step(facts, waiting, changes, elsewhere.drained))


def without_settling(
    facts: Facts, waiting: list[Member], changes: Mapping[str, Change]
) -> tuple[list[Member], StepResult]:
    """Split the waiting members into those that may start, and those whose data has changed just now."""
    fresh = [m for m in waiting if is_settling(facts.obs.changing, changes[m.name].because, facts.now)]
    reason = f"the data has changed just now, and {SETTLE_SECONDS:.0f} seconds without another change must pass"
    return [m for m in waiting if m not in fresh], hold_all(fresh, changes, SETTLING, reason)


def beside_maintenance(
    facts: Facts, waiting: list[Member], changes: Mapping[str, Change]
) -> tuple[list[Member], StepResult]:
    """Split the waiting members into those that may go while a person has a zone in maintenance, and all others."""
    database = facts.database
    if database is None or not database.maintenance or database.limited:
        return waiting, StepResult()
    others = [m for m in waiting if m.name not in database.maintained]
    reason = f"zone {database.maintenance} is in maintenance, which a user started"
    return [m for m in waiting if m not in others], hold_all(others, changes, "InMaintenance", reason)


def unproven(facts: Facts, changes: Mapping[str, Change]) -> str | None:
    """Return a member that is down and already has the change that others wait for.

    A change that does not start stops at the first member or the first safe set, even if more may be down. A new member
    that fails also proves the change bad, although the cluster does not depend on it yet.
    """
    wanted: set[tuple[str, str]] = set()
    for name, change in changes.items():
        target = member_target(facts, facts.members[name], facts.pools[facts.members[name].pool])
        wanted |= {(key, target[key]) for key in change.because if key in target}
    pools = {facts.members[name].pool for name in changes}
    broken = {
        m.name for m in facts.obs.members if m.pool in pools and m.name not in facts.up and does_not_start(facts, m)
    }
    for name in sorted(facts.down | broken):
        # A process that restarts in its pod gets what its template contains.
        member = facts.members[name]
        made = member.workload if name in facts.going else member.pod or member.workload
        if made is not None and wanted & made.inputs.items():
            return name
    return None


def does_not_start(facts: Facts, member: Member) -> bool:
    """Return whether the member's pod is scheduled, and does not start."""
    trouble = facts.trouble(member)
    return bool(trouble) and not unschedulable(trouble)


def next_step(
    facts: Facts, waiting: list[Member], changes: Mapping[str, Change], drained: frozenset[str]
) -> StepResult:
    """Return what is done with the members of which some may go now, and why the others stay."""
    keeping = frozenset(m.name for m in waiting if keeps_pod(changes[m.name]))
    verdicts = {m.name: text for m in waiting if (text := sole_verdict(facts, m, keeps=m.name in keeping))}
    chosen, reasons = pick(facts, [m for m in waiting if m.name not in verdicts], keeping)
    part = prepare(facts, [facts.members[name] for name in chosen], changes)
    if not chosen and room_left(facts, 1) > 0 and facts.obs.desired.sole_copy is SoleCopy.MOVE:
        freed = move_in_progress(facts, [m for m in waiting if m.name in verdicts])
        moves = {m.name: moves_for(facts, m, drained) for m in freed}
        alone = [m for m in waiting if moves.get(m.name) and choose(facts, [m], keeping=keeping).chosen][:1]
        part = merge(part, *(move_away(facts, m, changes[m.name], verdicts[m.name], moves[m.name]) for m in alone))
    rest = [m for m in waiting if m.name not in part.intents]
    reasons |= verdicts
    said = {m.name: reasons.get(m.name) or "it is later in the rollout order" for m in rest}
    return merge(part, *(hold_all([m], changes, "NotSafeYet", said[m.name]) for m in rest))


def move_in_progress(facts: Facts, members: Sequence[Member]) -> Sequence[Member]:
    """Return the members that only copies may be moved away from: one at a time.

    The disaster this prevents: the only copies of one member move to another one while those of the other move to the
    first, and the next plan finds them exchanged, forever.
    """
    begun = [m for m in members if any(is_moving_away(unit, m.name) for unit in sole_units(facts, m.name))]
    return begun[:1] or members


def pending(facts: Facts, taken: frozenset[str]) -> dict[str, Change]:
    """Return the changes that still have to take a member in service down, in the order in which that may happen."""
    place = {pool.name: i for i, pool in enumerate(pool_order(facts.obs))}
    leader = facts.database.leader if facts.database else ""
    open_to = (
        m for m in facts.obs.members if m.name in facts.up and m.name not in taken and not downgrade_problem(facts, m)
    )
    found = [(m, change_due(facts, m)) for m in open_to]
    found = [(m, change) for m, change in found if Effect.RESTART <= change.effect < Effect.REPLACE]
    found.sort(key=lambda item: (place[item[0].pool], item[0].name == leader, -item[0].ordinal))
    return {m.name: change for m, change in found}


def change_due(facts: Facts, member: Member) -> Change:
    """Return the change that stops the member: a changed input, or a requested restart.

    A member of a removed pool leaves; it is not restarted before that.
    """
    change = change_of(facts, member)
    if member.pool not in facts.pools:
        return change
    asked = facts.phase(member) in (Phase.SCHEDULE, Phase.SCHEDULE_ROLLING)
    stopped = member.name in facts.obs.stopped and in_place_problem(facts, member) is None
    if change.effect is not Effect.NONE or not (asked or stopped):
        return change
    problem = in_place_problem(facts, member)
    because = ("a user's request",)
    return Change(Effect.RESTART if problem is None else Effect.RECREATE, because, note=problem or "")


def was_requested(facts: Facts, member: Member) -> bool:
    """Return whether the user asked for this member, now: it waits for no order and no healthier database.

    While the database does not answer, only the process restarts, because its pod may be the last one that serves, and
    only after some time, because one answer may be lost on the way.
    """
    in_place = keeps_pod(change_due(facts, member))
    asked = facts.phase(member) is Phase.SCHEDULE or (member.name in facts.obs.stopped and in_place)
    return asked and (facts.database is not None or (in_place and facts.unanswered))


def in_turn(facts: Facts, waiting: list[Member], changes: Mapping[str, Change]) -> tuple[list[Member], StepResult]:
    """Split the waiting members into those whose pool is next, and a part that names the order for the others.

    During an upgrade no other change overtakes it: a member restarts once, for all its pending changes.
    """
    turn = facts.turn
    if turn is None:
        return waiting, StepResult()
    order = [pool.name for pool in pool_order(facts.obs)]
    now = [m for m in waiting if order.index(m.pool) <= order.index(turn.name)]
    later = [m for m in waiting if m not in now]
    return now, hold_all(later, changes, "PoolOrder", f"pool {turn.name} changes first")


def clear_of_other_work(
    facts: Facts, waiting: list[Member], changes: Mapping[str, Change], elsewhere: OtherWork
) -> tuple[list[Member], StepResult]:
    """Split the waiting members into those that other work does not concern, and a part that names that work."""
    part = StepResult()
    leader = facts.database.leader if facts.database else ""
    voters = [m for m in waiting if facts.votes(m)]
    if elsewhere.moving is not None:
        busy = [m for m in waiting if facts.units_of(m.name) or m in voters]
        part = merge(part, hold_all(busy, changes, "DataMoving", f"data is moving off {elsewhere.moving}"))
    elif elsewhere.unvoting is not None:
        busy = voters
        part = hold_all(busy, changes, "VoteMoving", f"the vote of {elsewhere.unvoting} is being moved")
    else:
        busy = [m for m in voters if m.name == leader and any(goes_before(changes, other, m) for other in voters)]
        part = hold_all(busy, changes, "LeaderLast", "the elected manager is last in the rollout order")
    return [m for m in waiting if m not in busy], part


def goes_before(changes: Mapping[str, Change], member: Member, leader: Member) -> bool:
    """Return whether a manager changes before the elected one: not if only the elected one has still to be upgraded.

    The disaster this prevents: an upgraded manager has the only copy of a shard, gets another setting, and waits for a
    place for that copy, which the elected one can take only once it is upgraded too.
    """
    due = "version" in changes[leader.name].because
    return member.name != leader.name and ("version" in changes[member.name].because or not due)


def clear_of_vote(
    facts: Facts, asked: list[Member], changes: Mapping[str, Change], elsewhere: OtherWork
) -> tuple[list[Member], StepResult]:
    """Split the members that the user wants restarted now into those that may go, and managers that wait for a vote.

    The disaster this prevents: a restart of one of three managers is requested while they shrink to two. The vote of
    the one that leaves moves away in the same moment, and the last one alone is no majority of two.
    """
    name = min(elsewhere.losing_votes, default=None)
    busy = [m for m in asked if facts.votes(m)] if name is not None else []
    return [m for m in asked if m not in busy], hold_all(
        busy, changes, "VoteMoving", f"the vote of {name} is being moved"
    )


def pick(facts: Facts, candidates: Sequence[Member], keeping: frozenset[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the members to take down next, all of one pool, and why the others of the pools before it stay.

    Those in `keeping` keep their pods.
    """
    reasons: dict[str, str] = {}
    for pool in dict.fromkeys(m.pool for m in candidates):
        mine = [m for m in candidates if m.pool == pool]
        choice = choose(facts, mine, begun(facts, mine), keeping)
        reasons.update(choice.held)
        if choice.chosen:
            after = f"it is later in the rollout order than {', '.join(choice.chosen)}"
            return choice.chosen, {m.name: after for m in candidates} | reasons
    return (), reasons


def begun(facts: Facts, members: Sequence[Member]) -> frozenset[str]:
    """Return the members that are already drained, or else those already staged: work in progress continues.

    Without this two members could be drained alternately forever, each onto the other.
    """
    draining = facts.database.draining if facts.database else frozenset[str]()
    drained = frozenset(m.name for m in members if m.name in draining)
    return drained or frozenset(m.name for m in members if staged(facts, m))


def move_away(facts: Facts, member: Member, change: Change, verdict: str, moves: tuple[Move, ...]) -> StepResult:
    """Return the moves that free a member of only copies; its template is staged first, so that no copy moves back."""
    text = f"{{}} is prepared for a restart to apply {change.describe()}: {verdict}, which is moved away first"
    action = MoveCopies(why=f"{member.name} is about to restart", moves=moves)
    actions = (action,) if staged(facts, member) else (stage(facts, member, change.describe()),)
    return StepResult(actions=actions, intents=intents_for(State.PREPARING, [member], change.effect, text))


def hold_all(members: Sequence[Member], changes: Mapping[str, Change], code: str, reason: str) -> StepResult:
    """Return a part in which all these members wait for one reason."""
    what = {m.name: changes[m.name].describe() for m in members}
    intents = {
        m.name: Intent(
            m.name, m.pool, State.WAITING, changes[m.name].effect, f"{m.name} waits ({what[m.name]}): {reason}"
        )
        for m in members
    }
    return StepResult(intents=intents, waits=tuple(Wait(m.name, code, f"{what[m.name]}: {reason}") for m in members))
