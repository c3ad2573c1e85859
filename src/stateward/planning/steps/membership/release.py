"""Releases a member without data and without a vote.

empty ──scaled to zero──▶ pod stopped ──volume deleted, where that was asked for──▶ forgotten
"""

from itertools import chain

from stateward.planning.facts.change import creation_version, differing, effect_of, inputs_of_volume, member_target
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.missing_members import is_stateless
from stateward.planning.facts.upgrade_order import all_nodes_later, newest_joined_version, parse
from stateward.planning.facts.volume_fit import lacks_for_use
from stateward.planning.model.actions import Action, Create, DeleteMember, DeletePod, DeleteVolume, MarkVolume, Release
from stateward.planning.model.intent import State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Claim, Effect, Member, Pool
from stateward.planning.safety.health_gate import lost_units

NOT_DRAINED = "it was scaled to zero before its data had left it"
"""Why a member is brought back that someone else scaled to zero."""


def release(facts: Facts, member: Member, why: str) -> StepResult:
    """Let a member go: scale it to zero, and when its pod is gone, forget it.

    A pod whose StatefulSet was deleted without it has nothing that ends it, so it is deleted.
    """
    pod, workload = member.pod, member.workload
    if not member.alive and pod is None:
        return delete_members(facts, [member])
    actions: tuple[Action, ...] = ()
    if member.alive and workload is not None:
        actions = (Release(why=why, member=member.name, workload=workload.ref),)
    elif pod is not None and member.orphaned:
        actions = (DeletePod(why=why, member=member.name, pod=pod.ref),)
    text = f"{{}} holds no data without another copy, and leaves ({why})"
    return StepResult(actions=actions, intents=intents_for(State.LEAVING, [member], Effect.REPLACE, text))


def delete_members(facts: Facts, gone: list[Member]) -> StepResult:
    """Return the removal of the objects of members whose pods are gone; the volume first, while its owner is known.

    The disaster this prevents: a StatefulSet that a user scaled to zero looks like a drained one, and its volume holds
    the last copy of a shard. Such a member is brought back, and then leaves in the normal way.
    """
    accepted, names = facts.obs.desired.replacement.accepted, frozenset(m.name for m in gone)
    held = {m.name: why for m in gone if m.name not in accepted and (why := kept_because(facts, m, names))}
    return merge(*(bring_back(facts, m, held[m.name]) if m.name in held else delete_member(facts, m) for m in gone))


def kept_because(facts: Facts, member: Member, gone: frozenset[str]) -> str:
    """Return why the volume of a member without a pod may be needed, as a clause; empty if it is not."""
    shard = last_copy(facts, member, gone)
    if shard:
        return f"its volume may hold the last copy of shard {shard}"
    return NOT_DRAINED if stopped_by_others(facts, member) else ""


def stopped_by_others(facts: Facts, member: Member) -> bool:
    """Return whether someone else scaled a member to zero whose data the database does not miss yet.

    A database that reports no places of copies tells only after a while what it misses. The disaster this prevents: a
    pool of FoundationDB shrinks by two members, a user scales both to zero because it takes long, and both volumes are
    deleted in the minute for which the database waits for them (`DATA_DISTRIBUTION_FAILURE_REACTION_TIME`). For a zone
    in maintenance it waits until the end of that. A database that is down for want of this member tells nothing at all.
    Or a member that is to be replaced without draining may not leave, because it has an only copy, and a user scales it
    to zero.
    """
    if not facts.obs.desired.formed_by_word or member.workload is None or member.workload.released:
        return False
    return facts.took_part(member.name) and may_hold_missing_data(facts, member)


def last_copy(facts: Facts, member: Member, gone: frozenset[str]) -> str:
    """Return a shard whose last copy the member's volume may hold: a missing one, or one that only `gone` have.

    The disaster this prevents: a pod was deleted by force and its process runs on, so the database misses nothing yet,
    and the volume below it is deleted.
    """
    if facts.database is None or not may_hold_missing_data(facts, member):
        return ""
    only = (unit.name for unit in facts.units_of(member.name) if facts.holders[unit.name] <= gone)
    return next(chain(lost_units(facts.database), only), "")


def may_hold_missing_data(facts: Facts, member: Member) -> bool:
    """Return whether the member's volume may hold a shard that the database is missing.

    FoundationDB excludes a member of the class `stateless` like those with data, but its volume never holds any. The
    disaster this prevents: its pool is to run without volumes, a user scales it to zero, and it can neither leave nor
    come back.
    """
    if member.claim is None or facts.never_had_data(member) or is_stateless(facts, member):
        return False
    return facts.holds_data(member)


def bring_back(facts: Facts, member: Member, why: str) -> StepResult:
    """Return the next step of a member whose volume may hold the last copy: it comes back, or stays as it is.

    It leaves again when no shard is missing, so it does not come back forever. The disaster this prevents: its pool has
    lost the role data, its process refuses to start without it, and no message says what is needed.

    Without a record of it, its volume decides. The disaster this prevents: a cluster is created again, and the
    StatefulSet of a member is scaled to zero before it has joined. Its volume from before has the last copy.
    """
    pool = facts.pools.get(member.pool)
    lacks = lacks_for_use(pool, member, "data")
    if lacks:
        text = f"{why}; it can only be used with {' and '.join(lacks)} in the spec"
        return hold_leaving([member], "PoolNeeded", text, stalled=True)
    claim = member.claim
    known = claim is not None and not claim.terminating and (claim.earlier or claim.data or claim.state)
    if pool is None or not (known or member.name in facts.obs.records):
        return hold_leaving([member], "MayHoldLastCopy", why)
    version = version_to_leave_with(facts, member, pool)
    action = Create(
        why=why,
        member=member.name,
        pool=pool.name,
        ordinal=member.ordinal,
        version=version,
        crossing=facts.crossing,
        keeps=inputs_of_volume(facts, member, pool),
    )
    return StepResult(
        actions=(action,), intents=intents_for(State.CREATING, [member], Effect.NONE, f"{{}} is brought back: {why}")
    )


def version_to_leave_with(facts: Facts, member: Member, pool: Pool) -> str:
    """Return the version with which a member comes back that leaves again: the earliest with which it can join.

    A copy moves only to a member of the same version or a later one. The disaster this prevents: an upgrade has just
    begun, the member comes back with the next version, its data has no place, and the others wait for one for theirs.
    """
    version, deployed = creation_version(facts, member, pool), facts.obs.deployed_version
    if facts.database is None or not deployed or pool.crossings or all_nodes_later(facts.obs, facts.database):
        return version
    return min(version, max(deployed, newest_joined_version(facts.obs, member), key=parse), key=parse)


def delete_member(facts: Facts, member: Member) -> StepResult:
    """Return the removal of what is left of one member."""
    claim, actions = volume_to_delete(facts, member), list[Action]()
    if claim is not None:
        why = (
            "nothing was written to it" if facts.never_had_data(member) else "volumes of members that left are not kept"
        )
        actions.append(DeleteVolume(why=why, member=member.name, claim=claim.ref))
    elif member.claim is not None and not member.claim.left and was_replaced(facts, member):
        # The disaster this prevents: a cluster that is created again forms on the volumes of its replaced members.
        actions.append(MarkVolume(why="its member was replaced", member=member.name, claim=member.claim.ref, left=True))
    workload = member.workload.ref if member.workload else None
    actions.append(DeleteMember(why="its pod is gone", member=member.name, workload=workload))
    return StepResult(
        actions=tuple(actions), intents=intents_for(State.LEAVING, [member], Effect.REPLACE, "{} is gone")
    )


def was_replaced(facts: Facts, member: Member) -> bool:
    """Return whether an edit has replaced the member, and no shard is missing that its volume may hold."""
    pool, workload = facts.pools.get(member.pool), member.workload
    if pool is None or workload is None or facts.database is None or lost_units(facts.database):
        return False
    changed = differing(workload.inputs, member_target(facts, member, pool))
    return any(effect_of(pool, name) is Effect.REPLACE for name in changed)


def volume_to_delete(facts: Facts, member: Member) -> Claim | None:
    """Return the claim to delete with the member: if the user asked for it, or if no data was ever written to it.

    The disaster this prevents: a cluster of FoundationDB is deleted, which keeps its volumes, and created again. Its
    members do not start on the data of another database, so its pools get other names, and that data is deleted.
    """
    claim = member.claim
    if claim is None or claim.terminating:
        return None
    foreign = claim.earlier and not facts.took_part(member.name)
    unwanted = (facts.obs.desired.delete_volumes and not foreign) or facts.never_had_data(member)
    return claim if unwanted else None


def hold_leaving(
    members: list[Member], code: str, reason: str, *, stalled: bool = False, claimed: StepResult | None = None
) -> StepResult:
    """Return a part in which members that should leave wait for one reason; with `claimed` no other may touch them."""
    intents = intents_for(State.LEAVING, members, Effect.REPLACE, f"{{}} cannot leave yet: {reason}")
    waits = tuple(Wait(m.name, code, f"{m.name} cannot leave yet: {reason}", stalled) for m in members)
    if claimed is None:
        return StepResult(otherwise=intents, waits=waits)
    return merge(claimed, StepResult(intents=intents, waits=waits))
