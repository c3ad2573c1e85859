"""What has to be true before a member's pod may go, and the steps that make it true.

    chosen ──stage──▶ staged ──drain, move the vote──▶ prepared ──limit the allocation, flush, delete──▶ down

Nothing is remembered between the steps: each is recognised by what is there. The allocation is limited in the same
breath as the pod is deleted and not before: a limit that waits would keep the copies of new indices from being placed.
"""

from collections.abc import Mapping, Sequence

from stateward.planning.actions import Action, DeletePod, Flush, LimitAllocation, Stage
from stateward.planning.change import Change, member_version, staged
from stateward.planning.facts import Facts
from stateward.planning.intent import Intent, Part, State
from stateward.planning.observation import Allocation, Member
from stateward.planning.safety import needs_vote_moved, other_managers
from stateward.planning.sole import droppable


def prepare(facts: Facts, members: Sequence[Member], changes: Mapping[str, Change]) -> Part:
    """Return the next step for the chosen members: prepare what is missing, or else take them down."""
    open_ends = {m.name: text for m in members if (text := unprepared(facts, m))}
    if open_ends:
        actions = tuple(stage(facts, m, changes[m.name].describe()) for m in members if not staged(facts, m))
    else:
        actions = take_down(facts, members, changes)
    return Part(
        actions=actions,
        intents={m.name: intent(m, changes[m.name], open_ends) for m in members},
        drain=frozenset(m.name for m in members if needs_empty(facts, m)),
        exclude=frozenset(m.name for m in members if needs_vote_moved(facts, m) or excluded(facts, m)),
    )


def intent(member: Member, change: Change, open_ends: Mapping[str, str]) -> Intent:
    """Return what is meant with one of the chosen members."""
    because, name = change.describe(), member.name
    if not open_ends:
        return Intent(name, member.pool, State.RESTARTING, change.effect, f"{name} restarts to apply {because}")
    first = next(iter(open_ends))
    step = open_ends.get(name) or f"it goes together with {first}"
    text = f"{name} is prepared for a restart to apply {because}: {step}"
    return Intent(name, member.pool, State.PREPARING, change.effect, text)


def stage(facts: Facts, member: Member, why: str) -> Stage:
    """Return the writing of the member's next template, at the version that it should run now."""
    version = member_version(facts, member, facts.pools[member.pool])
    return Stage(why=why, member=member.name, pool=member.pool, version=version)


def take_down(facts: Facts, members: Sequence[Member], changes: Mapping[str, Change]) -> tuple[Action, ...]:
    """Return the deletion of the pods of prepared members, so that their copies are not rebuilt elsewhere meanwhile."""
    actions: list[Action] = []
    names = ", ".join(m.name for m in members)
    if any(facts.units_of(m.name) and not facts.ephemeral(m) for m in members):
        if not limited(facts):
            actions.append(LimitAllocation(why=f"{names} will be back", allocation=Allocation.PRIMARIES))
        actions.append(Flush(why=f"recovery after the restart of {names} is shorter"))
    for member in members:
        if member.pod is not None:
            why = f"to apply {changes[member.name].describe()}"
            actions.append(DeletePod(why=why, member=member.name, pod=member.pod.ref))
    return tuple(actions)


def unprepared(facts: Facts, member: Member) -> str | None:
    """Return what is left to do before the member's pod may go."""
    if not staged(facts, member):
        return "its next template is written"
    if member.workload is None or not member.workload.observed:
        return "its StatefulSet has not seen the new template yet"
    if needs_empty(facts, member) and not emptied(facts, member):
        return f"{len(facts.units_of(member.name))} shards have to leave it, as its data goes with its pod"
    return "its vote moves to another manager" if needs_vote_moved(facts, member) else None


def needs_empty(facts: Facts, member: Member) -> bool:
    """Return whether the member may hold data that would go with its pod."""
    return facts.ephemeral(member) and facts.holds_data(member)


def emptied(facts: Facts, member: Member) -> bool:
    """Return whether the database moves data off the member, and nothing is left that is not elsewhere too."""
    told = facts.database is not None and member.name in facts.database.draining
    return told and (not facts.units_of(member.name) or droppable(facts, member))


def limited(facts: Facts) -> bool:
    """Return whether the allocation is such that a member may restart without its copies being rebuilt elsewhere."""
    return facts.database is not None and facts.database.allocation is not Allocation.ALL


def excluded(facts: Facts, member: Member) -> bool:
    """Return whether another manager has the member's vote now; it stays so until it is back."""
    taken = facts.database is not None and member.name in facts.database.voting_exclusions
    return taken and bool(other_managers(facts, member))
