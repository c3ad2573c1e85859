"""Who comes and who leaves.

Members keep their ordinals; a pool shrinks from its highest. A member whose storage can only change with a new member
counts as leaving, so that another one is made beside it; one such replacement goes on at a time. Managers are added one
by one, each joined and ready before the next, except when the cluster is being formed or its members are put back.
"""

from msgspec import Struct

from stateward.api import names
from stateward.planning.actions import Action, Create
from stateward.planning.change import target_version
from stateward.planning.facts import Facts
from stateward.planning.intent import Intent, Part, State, Wait
from stateward.planning.observation import Member, Pool
from stateward.planning.volume import claim_mismatch, to_replace


class Scale(Struct, frozen=True):
    """The members that leave, each with its reason, and those that are missing."""

    leaving: dict[str, str]
    missing: tuple[tuple[Pool, int], ...]


def alive(member: Member) -> bool:
    """Return whether the member is meant to run: its workload asks for its pod."""
    return member.workload is not None and member.workload.replicas > 0 and not member.workload.terminating


def scale(facts: Facts) -> Scale:
    """Return who leaves and who is missing, so that every pool ends with the members it asks for."""
    leaving = {
        m.name: f"pool {m.pool} is no longer wanted"
        for m in facts.obs.members
        if m.pool not in facts.pools and (m.workload is not None or m.pod is not None)
    }
    replacing = next_replacement(facts)
    leaving |= replacing
    missing: list[tuple[Pool, int]] = []
    for pool in facts.obs.desired.pools:
        staying = sorted(m.ordinal for m in members_of(facts, pool) if alive(m) and m.name not in leaving)
        surplus = set(staying[pool.replicas :])
        for member in members_of(facts, pool):
            if member.ordinal in surplus and alive(member):
                leaving[member.name] = f"pool {pool.name} shrinks to {pool.replicas}"
        missing += [(pool, ordinal) for ordinal in free_ordinals(facts, pool, pool.replicas - len(staying))]
    wanted = {(pool.name, ordinal) for pool, ordinal in missing}
    for member in facts.obs.members:
        going = (member.workload is not None or member.pod is not None) and not alive(member)
        if going and (member.pool, member.ordinal) not in wanted:
            leaving.setdefault(member.name, "it was let go")
    return Scale(leaving=leaving, missing=tuple(missing))


def members_of(facts: Facts, pool: Pool) -> list[Member]:
    """Return the pool's members that have a StatefulSet or a pod."""
    return [m for m in facts.obs.members if m.pool == pool.name and (m.workload is not None or m.pod is not None)]


def next_replacement(facts: Facts) -> dict[str, str]:
    """Return the one member whose storage is replaced now; one that was begun is ended first."""
    if not facts.obs.desired.replace_on_shrink:
        return {}
    draining = facts.database.draining if facts.database else frozenset[str]()
    wanting = {n: why for n, why in to_replace(facts).items() if alive(facts.members[n])}
    order = sorted(wanting, key=lambda n: (n not in draining, facts.votes(facts.members[n]), n))
    return {order[0]: f"a new member takes its place: {wanting[order[0]]}"} if order else {}


def free_ordinals(facts: Facts, pool: Pool, count: int) -> list[int]:
    """Return the lowest ordinals that are free, without those whose kept volume does not fit the pool."""
    taken = {m.ordinal for m in facts.obs.members if m.pool == pool.name and (alive(m) or unfit(pool, m))}
    found: list[int] = []
    ordinal = 0
    while len(found) < count:
        if ordinal not in taken:
            found.append(ordinal)
        ordinal += 1
    return found


def unfit(pool: Pool, member: Member) -> bool:
    """Return whether a claim of this ordinal is there and cannot become what the pool asks for."""
    if member.claim is None:
        return False
    return member.claim.terminating or pool.ephemeral or claim_mismatch(pool, member.claim) is not None


def create(facts: Facts, missing: tuple[tuple[Pool, int], ...]) -> Part:
    """Return the members to make now, and why others have to wait."""
    actions: list[Action] = []
    intents: dict[str, Intent] = {}
    waits: list[Wait] = []
    new_voter = joining_voter(facts)
    for pool, ordinal in missing:
        name = names.member(facts.obs.name, pool.name, ordinal)
        if pool.voting and facts.formed and name not in facts.obs.records:
            problem = new_voter or voters_not_ready(facts)
            if problem:
                waits.append(Wait(name, "OneManagerAtATime", f"{name} is added later: {problem}"))
                continue
            new_voter = f"{name} joins first"
        why = f"pool {pool.name} has {pool.replicas} members"
        version = target_version(facts, pool)
        actions.append(Create(why=why, member=name, pool=pool.name, ordinal=ordinal, version=version))
        intents[name] = Intent(name, pool.name, State.CREATING, sentence=f"{name} is created")
    return Part(actions=tuple(actions), intents=intents, waits=tuple(waits))


def joining_voter(facts: Facts) -> str | None:
    """Return which new manager has to join before the next one is made."""
    if not facts.formed:
        return None
    for member in facts.obs.members:
        if alive(member) and member.name not in facts.obs.records and facts.votes(member):
            return f"{member.name} joins first"
    return None


def voters_not_ready(facts: Facts) -> str | None:
    """Return which manager has to be back before another one is added."""
    if facts.database is None:
        return "the database does not answer"
    down = sorted(m.name for m in facts.obs.members if m.name in facts.down and facts.votes(m))
    return f"manager {down[0]} is down" if down else None


def arriving(facts: Facts, scaling: Scale) -> str | None:
    """Return which new member others wait for before they leave: new in, data over, old out.

    One that cannot start (no room, no image) is not waited for: what leaves may be what makes the room.
    """
    for pool, ordinal in scaling.missing:
        if pool.data or pool.voting:
            return f"{names.member(facts.obs.name, pool.name, ordinal)} joins first"
    for member in facts.obs.members:
        new = alive(member) and member.name not in scaling.leaving and member.name not in facts.obs.records
        trouble = member.pod is not None and member.pod.trouble
        if new and member.name not in facts.up and not trouble:
            return f"{member.name} joins first"
    return None
