"""Repairs broken members: a bad change must never block its own repair or its revert.

A member that does not serve loses nothing when its pod is recreated, as long as its data stays: on its volume, or in
copies elsewhere. So neither the order of pools nor the health of the database delays a repair; the database may be
unhealthy because of the very change that is being reverted.

A member that is only starting is left alone: it is back sooner than a new pod. After a full outage all members start at
once, and a first crash is only a consequence of that outage. A change that has just broken one member is not given to
the next one that happens to be down. A repair in progress is finished: a staged member does not come back by itself
when its trouble ends, because its pod waits for the configuration that it was created for.

    broken ──the change broke no other member──▶ staged ──observed by its StatefulSet──▶ pod deleted ──▶ starting
"""

from stateward.planning.facts.change import (
    Change,
    change_of,
    differing,
    downgrade_problem,
    effect_of,
    member_target,
    staged,
    written_target,
)
from stateward.planning.facts.facts import Facts, disrupts
from stateward.planning.facts.missing_members import lacks_claim
from stateward.planning.model.actions import DeletePod, MoveCopies
from stateward.planning.model.intent import State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Effect, Inputs, Member, Pod, SoleCopy
from stateward.planning.model.phase import STARTING, Phase
from stateward.planning.safety.availability import (
    can_be_elected,
    needs_vote_moved,
    other_managers,
    quorum_without,
    voting_members,
)
from stateward.planning.safety.health_gate import lost_units
from stateward.planning.safety.sole_copies import moves_for, sole_verdict
from stateward.planning.steps.rollout.prepare import is_drained, loses_state_with_pod, needs_empty, stage
from stateward.planning.steps.rollout.restart_one import set_phase

PODLESS = 60.0
"""Seconds after which a StatefulSet without a pod counts as unable to create one."""
CRASHED = "CrashLoopBackOff"
"""How the trouble begins of a container that has ended and is started again."""
FIRST_CRASH = 45.0
"""Seconds during which a crash does not count as trouble while no member serves: the kubelet's first back-off takes 10
seconds, and the observation of a pod is up to half a minute old if the database then does not answer.
"""
BEREFT = 30.0
"""Seconds after which a member is recreated whose pod waits for a configuration that was overwritten."""


def repair(facts: Facts, taken: frozenset[str], drained: frozenset[str]) -> StepResult:
    """Return the repairs of members that do not serve and have an outdated template.

    Members in `taken` are not touched, and no data moves to members in `drained`.
    """
    part, going = StepResult(), frozenset[str]()
    for member in facts.obs.members:
        if member.name in taken | facts.up or not member.alive or member.pool not in facts.pools:
            continue
        change = repair_change(facts, member)
        if change is None or not broken(facts, member):
            continue
        problem = unsafe(facts, member, change)
        gentle = part_in_pod(facts, member, change) if problem and can_repair_in_pod(facts, member) else None
        if gentle is not None:
            part = merge(part, repair_in_pod(facts, member, gentle))
            continue
        if problem:
            part = merge(part, StepResult(waits=(Wait(member.name, "RepairNotSafe", problem),)))
            continue
        part = merge(part, repair_member(facts, member, change, going, drained))
        going |= {member.name} if facts.joined(member.name) else frozenset()
    return part


def repair_change(facts: Facts, member: Member) -> Change | None:
    """Return the change that a broken member needs: of its pod, or else of its next pod's template.

    The second case also counts if the pod is up to date: it may wait for the configuration that it was created for,
    which a change that was reverted half-way has overwritten.
    """
    change = change_of(facts, member)
    if change.effect is Effect.REPLACE:
        return recreation_apart(facts, member) or change
    if disrupts(change.effect):
        return change
    workload = member.workload
    if workload is not None and not staged(facts, member):
        pool = facts.pools[member.pool]
        names = differing(workload.inputs, written_target(facts, member, pool))
        hardest = max((effect_of(pool, name) for name in names), default=Effect.NONE)
        return Change(Effect.REPLACE if hardest is Effect.REPLACE else Effect.NONE, names or ("configuration",))
    return None


def recreation_apart(facts: Facts, member: Member) -> Change | None:
    """Return the part of a change that a new pod of this member applies, while another part needs a new member.

    The disaster this prevents: a selector that fits no node stops all logs of FoundationDB, and is corrected together
    with the number of processes. The new members that should take over cannot join without a database.
    """
    pool, pod = facts.pools[member.pool], member.pod
    if pod is None:
        return None
    names = differing(pod.inputs, written_target(facts, member, pool))
    hard = tuple(name for name in names if effect_of(pool, name) > Effect.RELOAD)
    possible = hard and all(effect_of(pool, name) < Effect.REPLACE for name in hard)
    return Change(Effect.RECREATE, hard) if possible else None


def broken(facts: Facts, member: Member) -> bool:
    """Return whether waiting does not bring the member back.

    Silence alone proves nothing while the database does not answer: then every member waits for its managers.
    """
    pod = member.pod
    if pod is None:
        return facts.seconds_not_serving(member) > PODLESS
    if pod.terminating:
        return False
    # The managers themselves are what it waits for: waiting never brings back a manager with a bad setting.
    judged = facts.database is not None or member.name not in facts.obs.records or facts.votes(member)
    if (facts.trouble(member) and not restarts_with_all(facts, member)) or (judged and facts.overdue(member)):
        return True
    return not facts.joined(member.name) and (
        only_broken_one(facts, member, pod.inputs) or configuration_is_lost(facts, member, pod)
    )


def restarts_with_all(facts: Facts, member: Member) -> bool:
    """Return whether the member has crashed with all others, and its container restarts in a moment."""
    crashed = facts.trouble(member).startswith(CRASHED)
    return crashed and not facts.up and facts.seconds_not_serving(member) < FIRST_CRASH


def configuration_is_lost(facts: Facts, member: Member, pod: Pod) -> bool:
    """Return whether the member's pod waits for the configuration that it was created for, and that was overwritten.

    This happens if its container restarts after its next template was written. With an agent the process uses what is
    mounted; without one the start script waits for the content that the pod was created for. Which inputs are in that
    content is the engine's matter (FoundationDB's has the version), so any that a new pod applies counts.
    """
    pool = facts.pools[member.pool]
    if pod.agent or pod.ready or member.config is None or not staged(facts, member):
        return False
    gone = any(disrupts(effect_of(pool, name)) for name in differing(pod.inputs, member.config))
    return gone and facts.seconds_not_serving(member) > BEREFT


def only_broken_one(facts: Facts, member: Member, inputs: Inputs) -> bool:
    """Return whether others of its pool serve with the desired inputs, and none with its current ones.

    A reverted change is then reverted at once, also if it only made the member wait silently.
    """
    target = member_target(facts, member, facts.pools[member.pool])
    peers = [m.pod.inputs for m in facts.obs.members if m.pool == member.pool and m.name in facts.up and m.pod]
    return any(not differing(peer, target) for peer in peers) and all(differing(peer, inputs) for peer in peers)


def unsafe(facts: Facts, member: Member, change: Change) -> str | None:
    """Return why the broken member may not be recreated."""
    if change.effect is Effect.REPLACE and facts.may_hold_data(member):
        return f"{change.describe()} cannot change on {member.name}: a new member takes its place"
    problem = downgrade_problem(facts, member) or broken_by_same_change(facts, member)
    if problem is not None or member.pod is None or holds_nothing(facts, member, member.pod):
        return problem
    return lost_with_pod(facts, member) if loses_state_with_pod(facts, member) else None


def holds_nothing(facts: Facts, member: Member, pod: Pod) -> bool:
    """Return whether a pod holds nothing: its member never joined, or was lost with another pod, and is given up.

    The disaster this prevents: managers are lost with their pods, the next ones do not start with a setting, and the
    user agrees to a new cluster and corrects the setting. The correction never reaches them, so none forms it.
    """
    record = facts.obs.records.get(member.name)
    if record is None:
        return True
    given_up = facts.database is None and facts.obs.bootstrap_again and not pod.ready
    return given_up and record.pod not in ("", pod.ref.uid)


def can_repair_in_pod(facts: Facts, member: Member) -> bool:
    """Return whether a member that must keep its pod, because the pod holds its data, can be repaired inside it.

    The disaster this prevents: a process does not end with a bad setting, and never joins. Its correction comes with
    another change that needs a new pod, and waits for it forever.
    """
    blocked = downgrade_problem(facts, member) or broken_by_same_change(facts, member)
    return blocked is None and facts.managed(member)


def part_in_pod(facts: Facts, member: Member, change: Change) -> Change | None:
    """Return the part of a change that the next start of the process applies; None if there is none left.

    The disaster this prevents: a bad setting is corrected together with the template, and the process with the last
    copy of a shard, whose pod may not be deleted, never gets the corrected setting.
    """
    if change.effect is Effect.RESTART or not disrupts(change.effect):
        return change
    if member.pod is None:
        return None
    pool = facts.pools[member.pool]
    coming = (member.config or {}) if facts.phase(member) in STARTING else member.pod.inputs
    names = differing(coming, written_target(facts, member, pool))
    gentle = tuple(name for name in names if effect_of(pool, name) is Effect.RESTART)
    return Change(Effect.RESTART, gentle) if gentle else None


def repair_in_pod(facts: Facts, member: Member, change: Change) -> StepResult:
    """Return the repair of a member inside its pod, where its process takes what is mounted when it starts again."""
    said = (
        f"{{}} is broken, and its process uses the mounted configuration at its next start, to apply"
        f" {change.describe()}"
    )
    intents = intents_for(State.REPAIRING, [member], change.effect, said)
    if not staged(facts, member):
        return StepResult(actions=(stage(facts, member, change.describe()),), intents=intents)
    if facts.phase(member) in STARTING:
        return StepResult(intents=intents)
    start = Phase.START_COORDINATED if facts.phase(member) is Phase.STOP_COORDINATED else Phase.START
    return StepResult(
        actions=(set_phase(member, start, "its container uses the mounted configuration"),), intents=intents
    )


def broken_by_same_change(facts: Facts, member: Member) -> str | None:
    """Return the other member that this very change has broken; None once this member is staged.

    No change takes a claim away. The disaster this prevents: a setting keeps all managers from joining, one of them
    loses its volume, and the correction is kept from the others because of the one that can never start.
    """
    if staged(facts, member):
        return None
    target = member_target(facts, member, facts.pools[member.pool])
    others = (m for m in facts.obs.members if m.pool == member.pool and m.name != member.name)
    others = (m for m in others if not lacks_claim(facts, m))
    bad = (m for m in others if m.pod is not None and facts.trouble(m) and not differing(m.pod.inputs, target))
    return next((f"{m.name} does not start with the change that {member.name} would get" for m in bad), None)


def lost_with_pod(facts: Facts, member: Member) -> str | None:
    """Return what would be lost with the pod of a member that keeps its data there."""
    if facts.database is None:
        return f"the data of {member.name} would be lost with its pod, and the database does not answer"
    missing = lost_units(facts.database)
    if missing and facts.holds_data(member):
        return f"{member.name} may hold the last copy of shard {missing[0]}"
    if facts.votes(member) and not other_managers(facts, member):
        return f"{member.name} is the only manager, and its pod holds the cluster state"
    return None


def serving(facts: Facts, member: Member, going: frozenset[str]) -> str | None:
    """Return what a member still serves that has joined although its pod is not ready.

    A broken sidecar makes pods unready whose databases serve: they restart one after the other, like healthy ones.
    """
    if not facts.joined(member.name):
        return None
    if going:
        return f"{min(going)} is recreated first"
    verdict = sole_verdict(facts, member) if facts.units_of(member.name) else None
    if verdict is not None:
        return verdict
    voting = facts.database is not None and member.name in facts.database.voters
    others = voting_members(facts) - {member.name}
    others = [name for name in others if can_be_elected(facts, facts.members[name])]
    if not voting or quorum_without(facts, {member.name}) or not others:
        return None
    return None if needs_vote_moved(facts, member) else f"the managers would lose their quorum without {member.name}"


def repair_member(
    facts: Facts, member: Member, change: Change, going: frozenset[str], drained: frozenset[str]
) -> StepResult:
    """Return the next step of a repair: the template, what the member still serves, and then its pod."""
    pod, said = member.pod, f"{{}} is broken and is recreated to apply {change.describe()}"
    intents = intents_for(State.REPAIRING, [member], change.effect, said)
    if not staged(facts, member):
        return StepResult(actions=(stage(facts, member, change.describe()),), intents=intents)
    if pod is None or pod.terminating or member.workload is None or not member.workload.observed:
        return StepResult(intents=intents)
    joined = facts.joined(member.name)
    drain = frozenset({member.name}) if joined and needs_empty(facts, member) else frozenset[str]()
    exclude = frozenset({member.name}) if joined and needs_vote_moved(facts, member) else frozenset[str]()
    problem = serving(facts, member, going)
    if problem is not None:
        moves = moves_for(facts, member, drained) if facts.obs.desired.sole_copy is SoleCopy.MOVE and not going else ()
        actions = (MoveCopies(why=f"{member.name} is recreated", moves=moves),) if moves and not drain else ()
        wait = Wait(member.name, "RepairNotSafe", problem)
        return StepResult(actions=actions, intents=intents, waits=(wait,), drain=drain)
    if exclude or (drain and not is_drained(facts, member)):
        return StepResult(intents=intents, drain=drain, exclude=exclude)
    action = DeletePod(why=f"it is broken and {change.describe()} differs", member=member.name, pod=pod.ref)
    return StepResult(actions=(action,), intents=intents, drain=drain)
