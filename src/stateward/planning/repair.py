"""What is broken may always be fixed: a bad change must never block its own repair or its revert.

A member that does not serve loses nothing when its pod is made anew, as long as its data stays: on its volume, or in
copies elsewhere. So neither the order of pools nor the health of the database is asked here; the database may well be
unhealthy because of the very change that is being taken back.
"""

from stateward.planning.actions import Action, DeletePod, Stage
from stateward.planning.change import Change, change_of, differing, member_target, member_version, staged
from stateward.planning.facts import Facts, disrupts
from stateward.planning.gate import lost
from stateward.planning.intent import Intent, Part, State, Wait
from stateward.planning.observation import Member
from stateward.planning.safety import sole_units
from stateward.planning.upgrade import newer


def repair(facts: Facts, taken: frozenset[str]) -> Part:
    """Return the repairs of members that do not serve and should be made from something else."""
    actions: list[Action] = []
    intents: dict[str, Intent] = {}
    waits: list[Wait] = []
    for member in facts.obs.members:
        if member.name in taken or member.name in facts.up or member.workload is None or member.pool not in facts.pools:
            continue
        change = repair_change(facts, member)
        if change is None:
            continue
        problem = unsafe(facts, member)
        if problem:
            waits.append(Wait(member.name, "RepairNotSafe", problem))
            continue
        sentence = f"{member.name} is broken and is made anew to apply {change.describe()}"
        intents[member.name] = Intent(member.name, member.pool, State.REPAIRING, change.effect, sentence)
        actions += steps(facts, member, change)
    return Part(actions=tuple(actions), intents=intents, waits=tuple(waits))


def repair_change(facts: Facts, member: Member) -> Change | None:
    """Return what a broken member lacks: of its pod, or, while it has none, of what the next pod is made from."""
    change = change_of(facts, member)
    if disrupts(change.effect):
        return change
    pool, workload = facts.pools[member.pool], member.workload
    if member.pod is None and workload is not None and not staged(facts, member):
        return Change(because=differing(workload.inputs, member_target(facts, member, pool)) or ("configuration",))
    return None


def unsafe(facts: Facts, member: Member) -> str | None:
    """Return why the broken member's pod may not be made anew now."""
    pod, record = member.pod, facts.obs.records.get(member.name)
    version = member_version(facts, member, facts.pools[member.pool])
    if record is not None and newer(record.version, version):
        return f"{member.name} has run {record.version}, and its data cannot go back to {version}"
    if pod is None or pod.terminating:
        return None
    if facts.joined(member.name) and sole_units(facts, member.name):
        return f"shard {sole_units(facts, member.name)[0].name} has its only started copy on {member.name}"
    if facts.ephemeral(member) and facts.holds_data(member) and record is not None:
        if facts.database is None:
            return f"the data of {member.name} goes with its pod, and the database does not answer"
        if lost(facts.database):
            return f"{member.name} may hold the last copy of shard {lost(facts.database)[0]}"
    return None


def steps(facts: Facts, member: Member, change: Change) -> list[Action]:
    """Return the next step of a repair: first the template, then, once its controller has seen it, the pod."""
    if not staged(facts, member):
        version = member_version(facts, member, facts.pools[member.pool])
        return [Stage(why=change.describe(), member=member.name, pool=member.pool, version=version)]
    seen = member.workload is not None and member.workload.observed
    if seen and member.pod is not None and not member.pod.terminating:
        return [DeletePod(why=f"it is broken and {change.describe()} differs", member=member.name, pod=member.pod.ref)]
    return []
