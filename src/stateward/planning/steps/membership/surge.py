"""Decides which members may leave: only after as many members as the spec asks for have joined without them.

A new member joins first, then the data moves, then the old member leaves. This holds for every cause of a departure: an
edit, a taint, a request or a failure.

    member is replaced, or its pool shrinks    its pool keeps as many joined members as it asks for
    pool is removed                            all pools together keep as many members of each of its roles

A new member that cannot start costs no other member: the old members stay, and the wait repeats the scheduler's words.

With `update.surge: Preferred` one member may leave first to make room, if every other member serves and the scheduler
gives a reason that this departure removes. No second member leaves before the new one has joined.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from stateward.api.values import names
from stateward.planning.facts.facts import Facts, unschedulable
from stateward.planning.model.observation import Member, Surge
from stateward.planning.steps.membership.scale import Scale, is_leaving

NO_POD_PATIENCE = 30.0
"""Seconds after which a StatefulSet that has created no pod counts as unable to, for example because of a quota."""

CURABLE = (
    "insufficient ",
    "too many pods",
    "anti-affinity rules",
    "free ports",
    "max volume count",
    "topology spread constraints",
)
"""Reasons of kube-scheduler that disappear once another pod has left the node (its plug-ins, 1.34)."""

OF_THE_VOLUME = ("persistentvolumeclaim", "storageclass")
"""Reasons for a pod whose volume cannot be attached on any node."""

OF_TAINTS = ("untolerated taint", "were unschedulable")
"""Reasons of nodes that take no new pods. If the message has one, a node with a taint counts as one of them."""

POOL, ROLE = "pool", "role"


class Departures(Struct, frozen=True):
    """The leaving members that may continue to leave, and the new member that the others wait for."""

    begin: frozenset[str] = frozenset()
    """Members that may be drained and lose their votes: enough other members have joined, or these make room."""
    end: frozenset[str] = frozenset()
    """Members that may be released: enough other members serve, or these make room."""
    room: str = ""
    """The one of them that leaves before a new member has joined, because the user prefers that."""
    awaited: str = ""
    """What the others wait for, as a clause; empty when no new member is expected."""
    stuck: bool = False
    """Whether the awaited new member cannot start."""


def departures(facts: Facts, scaling: Scale) -> Departures:
    """Return which of the members that leave may do so now."""
    leaving = [m for name in scaling.leaving if (m := facts.members[name]).unreleased]
    strangers = frozenset(m.name for m in leaving if not has_joined(facts, m))
    leaving = leaving_order(facts, [m for m in leaving if m.name not in strangers])
    serving = facts.up | facts.obs.stopped
    # One that the database lists is not away though its pod is not ready: it holds copies, and serves in a moment.
    absent = frozenset(m.name for m in leaving if m.name not in serving and not facts.joined(m.name))
    # If the status has lost its records, no member counts until they are written again, and no member leaves.
    recorded = {m.name for m in facts.obs.members if facts.recorded(m)}
    begin = members_to_spare(facts, leaving, recorded | {m.name for m in leaving})
    end = members_to_spare(facts, [m for m in leaving if m.name not in absent], serving)
    room = first_to_leave(facts, scaling, [m for m in leaving if m.name not in begin])
    awaited, stuck = awaited_member(facts, scaling)
    free = strangers | ({room} - {""})
    return Departures(begin=begin | free, end=end | absent | free, room=room, awaited=awaited, stuck=stuck)


def has_joined(facts: Facts, member: Member) -> bool:
    """Return whether the member has ever joined. The status may be lost; the database knows the member as well."""
    return facts.recorded(member) or facts.joined(member.name)


def leaving_order(facts: Facts, leaving: Iterable[Member]) -> list[Member]:
    """Return members in the order in which they may leave: those that have started to, then those that are down."""
    return sorted(leaving, key=lambda m: (not is_leaving(facts, m.name), m.name in facts.up, facts.votes(m), m.name))


def members_to_spare(facts: Facts, leaving: Sequence[Member], counted: Collection[str]) -> frozenset[str]:
    """Return the members that may leave, in order, so that enough of the `counted` members stay for the spec."""
    stays = [m for m in facts.obs.members if m.name in counted and (m.alive or m in leaving)]
    there = Counter(place for m in stays for place in counted_places(facts, m))
    wanted = demand(facts)
    found: set[str] = set()
    for member in leaving:
        needed = [
            place
            for place in counted_places(facts, member)
            if place[0] == (POOL if member.pool in facts.pools else ROLE)
        ]
        own = member.name in counted
        if all(there[place] - own >= wanted[place] for place in needed):
            found.add(member.name)
            there.subtract(counted_places(facts, member) if own else ())
    return frozenset(found)


def counted_places(facts: Facts, member: Member) -> list[tuple[str, str]]:
    """Return where a member counts: in its pool, and for each of its roles that its pool still asks for.

    The disaster this prevents: one edit takes the data role from one pool and removes another data pool. The members of
    the first pool still hold data for a while, and those of the second pool leave as if the first replaced them.
    """
    has, pool = roles(facts.holds_data(member), facts.votes(member)), facts.pools.get(member.pool)
    stays = has if pool is None else [role for role in has if role in roles(pool.data, pool.voting)]
    return [(POOL, member.pool), *((ROLE, role) for role in stays)]


def roles(data: bool, voting: bool) -> list[str]:
    """Return the roles that others have to take over; clients of members with neither have to find another one."""
    return [role for role, has in (("data", data), ("voting", voting)) if has] or ["client"]


def demand(facts: Facts) -> Counter[tuple[str, str]]:
    """Return how many members the spec asks for, by pool and by role."""
    wanted = Counter[tuple[str, str]]()
    for pool in facts.obs.desired.pools:
        wanted[POOL, pool.name] += pool.replicas
        for role in roles(pool.data, pool.voting):
            wanted[ROLE, role] += pool.replicas
    return wanted


def joining_members(facts: Facts, scaling: Scale) -> list[Member]:
    """Return the new members that stay and have not joined yet."""
    new = (m for m in facts.obs.members if m.alive and m.name not in scaling.leaving)
    return [m for m in new if not facts.recorded(m) and m.name not in facts.up]


def obstacle(facts: Facts, member: Member) -> str:
    """Return why a new member cannot start by waiting a moment; empty when nothing is known to be in its way."""
    if member.pod is None and facts.seconds_not_serving(member) > NO_POD_PATIENCE:
        return f"its StatefulSet has created no pod for {NO_POD_PATIENCE:.0f} seconds"
    trouble, claim = facts.trouble(member), member.claim
    if trouble and claim is not None and claim.classless and claim.empty:
        # The scheduler only reports that the volume is not bound.
        return f"storage class {claim.storage_class} does not exist; {trouble}"
    return trouble


def awaited_member(facts: Facts, scaling: Scale) -> tuple[str, bool]:
    """Return the new member that joins before others leave, as a clause, and whether it cannot start."""
    new = joining_members(facts, scaling)
    starting = next((m.name for m in new if not obstacle(facts, m)), None)
    if starting is not None:
        return f"{starting} joins first", False
    if new:
        return f"{new[0].name} joins first, and it cannot start ({obstacle(facts, new[0])})", True
    old = [facts.members[name] for name in scaling.leaving if facts.members[name].alive]
    pools = {m.pool for m in old}
    # Clients of members without data and votes need other members: this pool may be all there is.
    clients = any(not facts.holds_data(m) and not facts.votes(m) for m in old)
    for pool, ordinal in scaling.missing:
        if pool.data or pool.voting or pool.name in pools or clients:
            return f"{names.member(facts.obs.name, pool.name, ordinal)} joins first", False
    return "", False


def first_to_leave(facts: Facts, scaling: Scale, leaving: Sequence[Member]) -> str:
    """Return the member that leaves before a new one has joined; empty if none may.

    The user prefers this to waiting, no other member of the cluster is unavailable, and this departure removes the
    reason that holds the new member up.
    """
    if facts.obs.desired.surge is not Surge.PREFERRED or not complete(facts):
        return ""
    troubles = [trouble for m in joining_members(facts, scaling) if unschedulable(trouble := facts.trouble(m))]
    able = (m for m in leaving if not facts.down - {m.name} and any(frees_place(m, trouble) for trouble in troubles))
    return next((m.name for m in able), "")


def complete(facts: Facts) -> bool:
    """Return whether every pool has as many joined members as it asks for, counting those that leave."""
    there = Counter(m.pool for m in facts.obs.members if m.alive and has_joined(facts, m))
    removed = sum(count for pool, count in there.items() if pool not in facts.pools)
    short = sum(max(0, pool.replicas - there[pool.name]) for pool in facts.obs.desired.pools)
    return short <= removed  # A pool that is renamed is a removed one and a new one.


def frees_place(member: Member, trouble: str) -> bool:
    """Return whether the scheduler would place a new member on the node of the leaving member.

    The scheduler's message counts nodes by reason and names none, so the node must also accept pods.
    """
    text = trouble.lower().partition("preemption:")[0]
    pod = member.pod
    if pod is None or not pod.node or not pod.node_ready or any(word in text for word in OF_THE_VOLUME):
        return False
    closed = pod.taints and any(word in text for word in OF_TAINTS)
    return not closed and any(word in text for word in CURABLE)
