"""Decides which members are replaced: those that the user names, and those that stay missing.

    missing ──for `after`──▶ due ──nothing holds it──▶ on the list ──new in, data over, old out──▶ its volume is kept
       ▲                                                  │
       └───────────────── `keep` takes it back ───────────┘

The entry on the list is the whole decision; the rest is how any member joins and leaves. The operator decides with
care, because a wrong replacement moves all data of a member: one at a time, never while the database is unhealthy or a
member is coming back, and never for a member that an edit of the spec has broken, because the new member would be
broken too.
"""

from collections.abc import Iterator, Mapping

from stateward.planning.facts.change import differing
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.missing_members import OF_THE_MACHINE, Cause, Missing, missing, same_kind
from stateward.planning.facts.removals import Removals, active_removals, in_flight
from stateward.planning.facts.tainted_domains import too_many_taints
from stateward.planning.model.actions import Action, CancelRemoval, RecordRemoval
from stateward.planning.model.intent import StepResult, Wait, merge
from stateward.planning.model.observation import Member, Process, ProtocolSwitch, Removal
from stateward.planning.model.times import rfc3339
from stateward.planning.safety.health_gate import health_problem, lost_units
from stateward.planning.steps.membership.scale import keep_conflicts
from stateward.planning.steps.upkeep.revert import coming_back

MISSING = "Missing"
"""Reason of the wait for a member that is replaced at a given time unless it comes back."""


def replacement(facts: Facts) -> tuple[Removals, StepResult]:
    """Return the list of replacements that applies now, the list to record, and the waits.

    A new entry applies from the next plan on: once it is recorded, it survives the operator.
    """
    listed = active_removals(facts.obs)
    by_hand = asked_for(facts, listed)
    chosen, waits = automatic(facts, listed | by_hand)
    new = by_hand | chosen
    recorded = [RecordRemoval(why=f"it is replaced: {removal.reason}", member=name) for name, removal in new.items()]
    back = [n for n in facts.obs.removals if n in facts.obs.desired.replacement.keep and n in facts.members]
    taken_back = [CancelRemoval(why="members.keep lists it: it is not replaced", member=name) for name in sorted(back)]
    actions: tuple[Action, ...] = (*recorded, *taken_back)
    said = merge(StepResult(actions=actions, waits=waits), conflicts(facts))
    return Removals(obeyed=listed, recorded=listed | new), said


def asked_for(facts: Facts, listed: Mapping[str, Removal]) -> dict[str, Removal]:
    """Return the members that the user wants replaced and that are not on the list yet.

    One that has only a pod, of a deleted cluster, is brought back first (`reserved_names`).
    """
    members = facts.members
    wanted = sorted(requests_of(facts) - listed.keys()) if not facts.needs_first_names else []
    names = [n for n in wanted if n in members and members[n].workload and n not in facts.obs.removals]
    return {n: entry(facts, members[n], "a user asked for it") for n in names}


def requests_of(facts: Facts) -> frozenset[str]:
    """Return the members that the user wants replaced, without those that are to be kept."""
    wishes = facts.obs.desired.replacement
    return (wishes.replace | wishes.undrained) - wishes.keep


def conflicts(facts: Facts) -> StepResult:
    """Return the user's requests that contradict each other or name no member; all others continue."""
    wishes = facts.obs.desired.replacement
    both = sorted(wishes.keep & (wishes.replace | wishes.undrained))
    waits = [Wait(n, "KeepConflict", f"members asks both to keep and to replace {n}: it is kept", True) for n in both]
    waits += [
        Wait(n, "KeepConflict", f"members.keep names {n}, and the spec would remove it ({why}): it is kept", True)
        for n, why in sorted(keep_conflicts(facts).items())
    ]
    if facts.needs_first_names:
        text = "is replaced once the database was created: its first coordinators are members with these names"
        waits += [Wait(n, "DatabaseFirst", f"{n} {text}") for n in sorted(requests_of(facts))]
    known = facts.members.keys() | facts.obs.records.keys() | facts.obs.removals.keys()
    pools = tuple(f"{facts.obs.name}-{pool}-" for pool in facts.pools)
    odd = sorted(n for n in wishes.replace | wishes.undrained | wishes.keep if n not in known)
    waits += [
        Wait(n, "NoSuchMember", f"members names {n}, which does not exist", True)
        for n in odd
        if not (n.startswith(pools) and n.rpartition("-")[2].isdigit())  # It may have been, and is gone for good.
    ]
    return StepResult(waits=tuple(waits))


def entry(facts: Facts, member: Member, reason: str, *, automatic: bool = False) -> Removal:
    """Return the record of a replaced member.

    A pod that does not start has no address. The pod before it had one, by which the database knows the member.
    """
    record = facts.obs.records.get(member.name)
    now = member.pod.ip if member.pod else ""
    return Removal(
        reason=reason,
        since=facts.now,
        automatic=automatic,
        volume=member.claim.ref.uid if member.claim else "",
        address=record.address if record is not None and record.address else now,
    )


def automatic(facts: Facts, listed: Mapping[str, Removal]) -> tuple[dict[str, Removal], tuple[Wait, ...]]:
    """Return the members that are replaced because they stay missing, and what the others wait for."""
    chosen: dict[str, Removal] = {}
    waits: list[Wait] = []
    for began, member, found in candidates(facts, listed):
        due = began + required_seconds(facts, member, found)
        told = f"{member.name} has been missing since {rfc3339(began)} ({found.text})"
        if facts.now < due:
            waits.append(Wait(member.name, MISSING, f"{told} and is replaced at {rfc3339(due)} unless it comes back"))
            continue
        problem = next(problems(facts, member, found, {**listed, **chosen}), None)
        if problem is None:
            chosen[member.name] = entry(facts, member, f"missing since {rfc3339(began)}: {found.text}", automatic=True)
        else:
            waits.append(Wait(member.name, "ReplacementHeld", f"{told} and is not replaced yet: {problem}"))
    return chosen, tuple(waits)


def candidates(facts: Facts, listed: Mapping[str, Removal]) -> list[tuple[float, Member, Missing]]:
    """Return the members that may be replaced by themselves, the one that is missing longest first."""
    policy = facts.obs.desired.replacement
    if not policy.enabled:
        return []
    rest = (m for m in facts.obs.members if m.name not in listed and m.name not in policy.keep)
    found = [(missing_since(facts, m, why), m, why) for m in rest if (why := missing(facts, m)) is not None]
    return sorted(found, key=lambda entry: (entry[0], entry[1].name))


def missing_since(facts: Facts, member: Member, found: Missing) -> float:
    """Return since when the member is missing for this cause: now, if the previous plan did not know the cause."""
    before = facts.obs.missing.get(member.name)
    same = same_kind(facts.obs.causes.get(member.name, ""), found.cause)
    return before if before is not None and same else facts.now


def required_seconds(facts: Facts, member: Member, found: Missing) -> float:
    """Return for how long, in seconds, the member has to be missing; the shortest of its node's taints decides."""
    policy = facts.obs.desired.replacement
    if found.cause is not Cause.NODE_TAINTED or member.pod is None:
        return policy.after
    return min(policy.taints[key] for key in member.pod.taints if key in policy.taints)


def problems(facts: Facts, member: Member, found: Missing, listed: Mapping[str, Removal]) -> Iterator[str]:
    """Yield why a member that is due is not replaced now, as clauses."""
    database = facts.database
    if database is None:
        yield "the database does not answer"
        return
    if facts.crossing is ProtocolSwitch.SWITCHED:
        yield f"all processes change to {facts.obs.desired.version} first, at one moment"
    if member.name in database.maintained:
        yield f"zone {database.maintenance} is in maintenance"
    missing_units = lost_units(database)
    if missing_units:
        yield f"shard {missing_units[0]} has no started copy, and {member.name} may hold the last one"
    if database.tolerance is not None and database.tolerance <= 0:
        yield "the database tolerates no further failure until it has recovered"
    yield from edit_doubt(facts, member, found)
    if found.cause is Cause.NODE_TAINTED:
        yield from too_many_taints(facts)
    if found.cause is Cause.AGENT_UNREACHABLE and not any(isinstance(m.process, Process) for m in facts.obs.members):
        yield "no other agent answers either, so the network between the operator and the pods may be the cause"
    back = next((n for n in sorted(facts.down - {member.name}) if coming_back(facts, n)), None)
    if back is not None:
        yield f"{back} is coming back"
    healing = health_problem(facts)
    if healing is not None:
        yield healing
    yield from limits(facts, member, listed)


def edit_doubt(facts: Facts, member: Member, found: Missing) -> Iterator[str]:
    """Yield the doubt that an edit has broken the member, unless another member proves the opposite."""
    if found.cause in OF_THE_MACHINE:
        return
    made = member.pod or member.workload
    source = made.inputs if made is not None else None
    serving = (m.pod for m in facts.obs.members if m.pool == member.pool and m.name in facts.up)
    if source is None or not any(pod is not None and not differing(pod.inputs, source) for pod in serving):
        yield "no other member of its pool serves with the same configuration, so a new one might not start either"


def limits(facts: Facts, member: Member, listed: Mapping[str, Removal]) -> Iterator[str]:
    """Yield which limit on replacements is used up.

    The limits are for data that moves, so members that never took part count only among themselves: one at a time. The
    disaster this prevents: the Kubernetes node of a new member is lost before it joins, and the member whose place it
    was to take uses up the limit, so that both wait until the node is back.
    """
    policy, flying = facts.obs.desired.replacement, in_flight(facts.obs, listed)
    if not facts.took_part(member.name):
        yield from (f"{name} is replaced first" for name in flying if not facts.took_part(name))
        return
    zone = facts.zone(member.name)
    other = next((n for n in flying if facts.zone(n) != zone), None) if policy.per_zone else None
    if other is not None:
        yield f"{other} is replaced first, in {facts.zone(other) or 'a zone that is not known'}"
    elif not (policy.per_zone and zone) and len(flying) >= policy.max_concurrent:
        yield f"{flying[0]} is replaced first"
    new = sum(name not in facts.obs.removals and removal.automatic for name, removal in listed.items())
    if facts.obs.slots is not None and facts.obs.slots <= new:
        yield "other clusters are replacing members, and the operator's limit is used up"
