"""The list of members that are replaced or leave, as the status shows it and as the next plan reads it back."""

from stateward.api.kinds.replacement import RemovalStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.planning.facts.facts import Facts, unschedulable
from stateward.planning.model.intent import State
from stateward.planning.model.observation import Removal
from stateward.planning.model.times import parse_time, rfc3339
from stateward.planning.plan import Plan

AUTOMATIC, USER, SPEC = "Automatic", "User", "Spec"

TERMINATING = "Terminating"
"""The phase of a released member while some of its objects still exist."""

IN_FLIGHT = ("Waiting", "Draining", "Leaving")
"""Phases in which a replacement uses room that others may need; one without room uses none."""

ROOM_PATIENCE = 60.0
"""Seconds without a pod, or with failing steps, after which a new member counts as one without room."""


def pending_removals(facts: Facts, plan: Plan, before: ClusterStatus) -> list[RemovalStatus]:
    """Return the list in order of name: the recorded decisions, and those derived from the spec each time."""
    by_spec = sorted(plan.leaving.keys() - plan.removals.keys())
    entries = [decided_entry(facts, plan, name) for name in sorted(plan.removals)]
    return entries + [derived_entry(facts, plan, name, before) for name in by_spec]


def decided_entry(facts: Facts, plan: Plan, name: str) -> RemovalStatus:
    """Return an entry that only its end or a person's word takes off the list."""
    removal = plan.removals[name]
    return RemovalStatus(
        name=name,
        reason=removal.reason,
        origin=AUTOMATIC if removal.automatic else USER,
        start_time=rfc3339(removal.since),
        volume=removal.volume,
        address=removal.address,
        phase=phase(facts, plan, name),
    )


def derived_entry(facts: Facts, plan: Plan, name: str, before: ClusterStatus) -> RemovalStatus:
    """Return an entry that exists as long as the spec asks for it."""
    earlier = next((r for r in before.pending_removals if r.name == name and r.origin == SPEC), None)
    since = earlier.start_time if earlier is not None else rfc3339(facts.now)
    return RemovalStatus(
        name=name, reason=plan.leaving[name], origin=SPEC, start_time=since, phase=phase(facts, plan, name)
    )


def phase(facts: Facts, plan: Plan, name: str) -> str:
    """Return how far the member is on its way out."""
    member, intent, database = facts.members.get(name), plan.intents.get(name), facts.database
    if member is None or not member.present:
        return "VolumeKept"
    if not member.alive:
        return TERMINATING
    if no_room(facts):
        return "NoRoom"
    told = database is not None and name in database.draining | database.voting_exclusions
    if intent is not None and intent.state is State.DRAINING:
        return "Draining"
    return "Leaving" if told else "Waiting"


def no_room(facts: Facts) -> bool:
    """Return whether the scheduler finds no node for a new member, or a quota refuses its objects or its pod.

    A leaving member may have to make the room.
    """
    new = (m for m in facts.obs.members if m.alive and m.name not in facts.obs.records)
    crowded = any(unschedulable(facts.trouble(m)) or (m.pod is None and facts.age(m.name) > ROOM_PATIENCE) for m in new)
    return crowded or facts.seconds_waited(facts.obs.name, "StepFailed") > ROOM_PATIENCE


def removals(status: ClusterStatus) -> dict[str, Removal]:
    """Return the status's record of the members whose replacement was decided."""
    return {
        entry.name: Removal(
            reason=entry.reason,
            since=parse_time(entry.start_time) or 0.0,
            automatic=entry.origin == AUTOMATIC,
            volume=entry.volume,
            address=entry.address,
        )
        for entry in status.pending_removals
        if entry.origin != SPEC
    }


def released_members(status: ClusterStatus) -> frozenset[str]:
    """Return the members that the status records as released."""
    return frozenset(entry.name for entry in status.pending_removals if entry.phase == TERMINATING)
