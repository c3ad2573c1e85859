"""Who comes and who leaves.

Members keep their ordinals; a pool shrinks from its highest. A member whose storage or roles can only change with a new
member counts as leaving, so that another one is made beside it; one such replacement goes on at a time.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward.api.values import names
from stateward.planning.facts.change import change_of
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.removals import in_flight, reserved
from stateward.planning.facts.volume_fit import passed_over
from stateward.planning.model.observation import Effect, Member, Pool, Removal
from stateward.planning.steps.upkeep.volume_change import to_replace


class Scale(Struct, frozen=True):
    """The members that leave, each with its reason, and those that are missing."""

    leaving: dict[str, str]
    replaced: frozenset[str]
    """Those that leave and in whose place others come: their pools stay as large as they are."""
    missing: tuple[tuple[Pool, int], ...]


def scale(facts: Facts, removals: Mapping[str, Removal]) -> Scale:
    """Return who leaves and who is missing, so that every pool ends with the members it asks for.

    Those in `removals` do not count towards it: a new member is made beside each of them.
    """
    keep = facts.obs.desired.replacement.keep
    leaving = {m.name: why for m in facts.obs.members if m.name not in keep and (why := unwanted(facts, m))}
    listed = {n: r.reason for n, r in removals.items() if facts.members[n].present and n not in leaving}
    replaced = {n: f"a new member takes its place: {why}" for n, why in listed.items()}
    replaced |= replacements(facts, removals)
    leaving |= replaced
    missing: list[tuple[Pool, int]] = []
    for pool in facts.obs.desired.pools:
        staying = [m for m in members_of(facts, pool) if m.alive and m.name not in leaving]
        shrink = f"pool {pool.name} shrinks to {pool.replicas}"
        leaving |= {m.name: shrink for m in kept_first(facts, staying)[pool.replicas :] if m.name not in keep}
        missing += [(pool, ordinal) for ordinal in free_ordinals(facts, pool, pool.replicas - len(staying))]
    wanted = {(pool.name, ordinal) for pool, ordinal in missing}
    for member in facts.obs.members:
        if member.present and not member.alive and (member.pool, member.ordinal) not in wanted:
            leaving.setdefault(member.name, "it was released")
    return Scale(leaving=leaving, replaced=frozenset(replaced), missing=tuple(missing))


def unwanted(facts: Facts, member: Member) -> str | None:
    """Return that the spec has no such pool any more; None where it has, or nothing is there of the member."""
    gone = member.pool not in facts.pools and member.present
    return f"pool {member.pool} is no longer wanted" if gone else None


def against(facts: Facts) -> dict[str, str]:
    """Return why members would leave by the spec that a person keeps: both cannot be done, and they are kept."""
    keep = facts.obs.desired.replacement.keep
    kept = [m for m in facts.obs.members if m.name in keep and m.present]
    found = {m.name: why for m in kept if (why := unwanted(facts, m) or replaced_because(facts, m))}
    for pool in facts.obs.desired.pools:
        staying = [m for m in members_of(facts, pool) if m.alive and m.name in keep]
        found |= {m.name: f"pool {pool.name} shrinks to {pool.replicas}" for m in staying[pool.replicas :]}
    return found


def members_of(facts: Facts, pool: Pool) -> list[Member]:
    """Return the pool's members that have a StatefulSet or a pod, by ordinal."""
    return [m for m in facts.obs.members if m.pool == pool.name and m.present]


def kept_first(facts: Facts, staying: list[Member]) -> list[Member]:
    """Return members by ordinal, but first those that a person keeps: a pool shrinks from the others."""
    keep = facts.obs.desired.replacement.keep
    return sorted(staying, key=lambda member: (member.name not in keep, member.ordinal))


def replacements(facts: Facts, removals: Mapping[str, Removal]) -> dict[str, str]:
    """Return the member that is replaced now because of the spec, and all those that never had anything to lose.

    One that was begun is ended first: the next begins when nothing is left of it, nor of one that failed.
    """
    keep = facts.obs.desired.replacement.keep | removals.keys()
    rest = (m for m in facts.obs.members if m.present and m.name not in keep)
    wanting = {m.name: why for m in rest if (why := replaced_because(facts, m))}
    order = sorted(wanting, key=lambda n: (not begun(facts, n), facts.votes(facts.members[n]), n))
    now = [n for n in order if facts.blank(facts.members[n]) and facts.members[n].claim is not None]
    busy = bool(in_flight(facts.obs, removals))
    now += [n for n in order if n not in now and (begun(facts, n) or not busy)][:1]
    return {n: f"a new member takes its place: {wanting[n]}" for n in now}


def replaced_because(facts: Facts, member: Member) -> str | None:
    """Return why the member cannot become what it should be without a new one in its place."""
    change = change_of(facts, member)
    if change.effect is Effect.REPLACE:
        return f"{change.describe()} cannot change on a member"
    return to_replace(facts, member) if facts.obs.desired.replace_on_shrink else None


def begun(facts: Facts, name: str) -> bool:
    """Return whether the member was told to leave: its data or vote is being taken, or it was let go."""
    database = facts.database
    told = database is not None and name in database.draining | database.voting_exclusions
    return told or not facts.members[name].alive


def free_ordinals(facts: Facts, pool: Pool, count: int) -> list[int]:
    """Return the lowest free ordinals, without those whose kept volume does not fit the pool or was given up."""
    mine = [m for m in facts.obs.members if m.pool == pool.name]
    keep = facts.obs.desired.replacement.keep
    left = (m for m in mine if m.claim is not None and m.claim.left and m.name not in keep)
    taken = {m.ordinal for m in mine if m.alive or passed_over(pool, m, facts.database)} | {m.ordinal for m in left}
    never = reserved(facts.obs)
    found: list[int] = []
    ordinal = 0
    while len(found) < count:
        if ordinal not in taken and names.member(facts.obs.name, pool.name, ordinal) not in never:
            found.append(ordinal)
        ordinal += 1
    return found
