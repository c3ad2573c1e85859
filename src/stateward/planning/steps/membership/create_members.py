"""Creates members: managers one at a time, each joined and ready before the next; all others together.

    missing ──managers: all others there──▶ created ──pod starts──▶ joined and ready

Several new managers at once could outvote the managers that hold the cluster state. So only the members of a cluster
that is being formed, and managers that were in it before, are created at once.
"""

from stateward.api.values import names
from stateward.planning.facts.change import (
    creation_version,
    differing,
    effect_of,
    inputs_of_volume,
    member_target,
    member_version,
)
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.missing_members import lacks_claim
from stateward.planning.facts.volume_fit import claim_mismatch
from stateward.planning.model.actions import Create, DeletePod, DeleteVolume, Stage
from stateward.planning.model.intent import Intent, State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Effect, Inputs, Member, Pod, Pool
from stateward.planning.steps.membership.earlier_cluster import kept_data, kept_voters, others_may_vote
from stateward.planning.steps.membership.scale import Scale
from stateward.planning.steps.rollout.stop_process import alive_in_restart, stop_problem


def create(facts: Facts, scaling: Scale) -> StepResult:
    """Return the members to create now, and the reasons why others wait."""
    part = StepResult()
    new_voter = joining_voter(facts, scaling)
    for pool, ordinal in scaling.missing:
        name = names.member(facts.obs.name, pool.name, ordinal)
        if pool.voting and others_may_vote(facts) and not was_manager(facts, name):
            problem = new_voter or voters_not_ready(facts, scaling)
            if problem:
                part = merge(
                    part, StepResult(waits=(Wait(name, "OneManagerAtATime", f"{name} is added later: {problem}"),))
                )
                continue
            new_voter = f"{name} joins first"
        part = merge(part, creation_of(facts, pool, ordinal, name))
    return merge(part, *(claim_again(facts, m, facts.pools[m.pool]) for m in claimless(facts, scaling)))


def was_manager(facts: Facts, name: str) -> bool:
    """Return whether a member was a manager of the cluster, by the status, or by its volume if no database answers.

    The disaster this prevents: the StatefulSet of the only manager is deleted when its successor has joined, and the
    one with the vote counts as new: it waits for the database, which waits for its vote.
    """
    member = facts.members.get(name)
    marked = member is not None and member in kept_voters(facts)
    return name in facts.obs.records or (marked and facts.database is None)


def claimless(facts: Facts, scaling: Scale) -> list[Member]:
    """Return the new members that stay and have lost their claims: these are made again."""
    return [m for m in never_ran(facts) if m.pool in facts.pools and m.name not in scaling.leaving]


def never_ran(facts: Facts) -> list[Member]:
    """Return the new members whose claims were deleted before they ever ran on them: nothing is lost with them.

    The disasters this prevents: a user deletes the claims of a storage class that does not exist, corrects the class,
    and the pods wait for claims that nothing makes. Or such a member leaves, is still the one that is to form the
    cluster, and waits for its database. The member that may have formed the cluster is none of them without the user's
    permission (`bootstrap`), and none is while the user may restore a manager's volume.
    """
    if not facts.formed and kept_data(facts):
        return []
    grant = facts.obs.bootstrap
    forms = grant.member if grant is not None and not grant.formed else ""
    new = (m for m in facts.obs.members if m.alive and m.name != forms)
    return [m for m in new if lacks_claim(facts, m) and not facts.took_part(m.name)]


def new_volume(facts: Facts, member: Member, pool: Pool) -> StepResult:
    """Return the making of a member's volume that is gone, or the deletion of a claim that its pool no longer wants.

    The disaster this prevents: the volumes are made again with a storage class that does not exist, and the managers
    would be replaced for the correction only once the database answers. An empty claim holds nothing.
    """
    claim, pod = member.claim, member.pod
    if claim is None:
        # A member that has joined without a claim keeps its data in its pod, which takes no volume.
        record = facts.obs.records.get(member.name)
        complete = facts.ephemeral(member) and record is not None and not record.volume
        return StepResult() if complete else claim_again(facts, member, pool)
    why = claim_mismatch(pool, claim)
    if pool.ephemeral or why is None or not claim.empty or claim.terminating or (pod is not None and pod.node):
        return StepResult()
    actions = (DeleteVolume(why=f"nothing was written to it, and {why}", member=member.name, claim=claim.ref),)
    text = f"{{}} gets another volume: {why}"
    return StepResult(actions=actions, intents=intents_for(State.CREATING, [member], Effect.NONE, text))


def claim_again(facts: Facts, member: Member, pool: Pool) -> StepResult:
    """Return the making of a claim that is lost, once the pod that waits for it is made as the pool asks for.

    The disasters this prevents: the pool is to keep its data in pods, nothing makes the claim, and the pod waits for
    it. Or the pool has lost the role data, the pod that waits still has it and writes data to the new volume, and no
    member of the pool starts on that volume later.
    """
    pod, workload = member.pod, member.workload
    if workload is not None and (pod is None or waits_for_claim(member, pod)):
        why = "its claim is lost, and its pool asks for another kind of member"
        text = f"{member.name} is recreated: {why}"
        intents = {member.name: Intent(member.name, pool.name, State.CREATING, Effect.NONE, text)}
        if is_of_another_kind(facts, member, pool, workload.inputs):
            version = member_version(facts, member, pool)
            stage = Stage(why=why, member=member.name, pool=pool.name, version=version, crossing=facts.crossing)
            return StepResult(actions=(stage,), intents=intents)
        if pod is not None and is_of_another_kind(facts, member, pool, pod.inputs):
            delete = (DeletePod(why=why, member=member.name, pod=pod.ref),) if workload.observed else ()
            return StepResult(actions=delete, intents=intents)
    return StepResult() if pool.ephemeral else creation_of(facts, pool, member.ordinal, member.name)


def waits_for_claim(member: Member, pod: Pod) -> bool:
    """Return whether a pod that is not on a node yet uses a claim that does not exist: nothing is lost with it."""
    return pod.claims and member.claim is None and not (pod.terminating or pod.node)


def is_of_another_kind(facts: Facts, member: Member, pool: Pool, inputs: Inputs) -> bool:
    """Return whether only a new member could have what the pool asks for, if it had a volume already."""
    changed = differing(inputs, member_target(facts, member, pool))
    return any(effect_of(pool, name) is Effect.REPLACE for name in changed)


def creation_of(facts: Facts, pool: Pool, ordinal: int, name: str) -> StepResult:
    """Return the making of one member, at the version that it has reached, or else that of its pool."""
    known = facts.members.get(name)
    version = creation_version(facts, known, pool) if known else facts.versions[pool.name]
    keeps = inputs_of_volume(facts, known, pool) if known is not None and not leaves_its_name(facts, known) else None
    why = f"pool {pool.name} has {pool.replicas} members"
    action = Create(
        why=why,
        member=name,
        pool=pool.name,
        ordinal=ordinal,
        version=version,
        crossing=facts.crossing,
        grown_size=pool.grown_size if pool.grown_size > pool.volume_size else 0,
        keeps=keeps,
    )
    intent = Intent(name, pool.name, State.CREATING, Effect.NONE, f"{name} is created")
    return StepResult(actions=(action,), intents={name: intent})


def leaves_its_name(facts: Facts, member: Member) -> bool:
    """Return whether a member without a pod was emptied and released, and its name is free for one of another kind.

    A database that forms itself still finds what it has written to the volume, and needs the same roles for it.
    """
    drained = facts.database is not None and member.name in facts.database.draining
    return facts.obs.desired.formed_by_word and member.pod is None and (drained or member.name in facts.obs.let_go)


def joining_voter(facts: Facts, scaling: Scale) -> str | None:
    """Return the new manager that has to join before the next one is created."""
    coming = (m for m in facts.obs.members if m.alive and m.name not in scaling.leaving and facts.votes(m))
    new = next((m.name for m in coming if not facts.recorded(m)), None)
    return f"{new} joins first" if new else None


def voters_not_ready(facts: Facts, scaling: Scale) -> str | None:
    """Return the manager that has to be back before another one is added; a leaving manager need not come back.

    Nor does a manager that has been missing for as long as the replacement policy waits: it is replaced later, and
    would otherwise block the replacement of the one before it forever. The database answers, so there is a quorum. One
    that serves, and whose recorded stop is held back, is not down. The disaster this prevents: a manager is lost before
    another one stops for a restart; the stop waits for the end of that loss, and the successor for that of the restart.
    """
    if facts.database is None:
        return "the database does not answer"
    held = {m.name for m in alive_in_restart(facts) if stop_problem(facts, m) is not None}
    absent = facts.down - held - scaling.leaving.keys()
    staying = (name for name in absent if not is_replaced_soon(facts, name))
    down = sorted(name for name in staying if facts.votes(facts.members[name]))
    return f"manager {down[0]} is down" if down else None


def is_replaced_soon(facts: Facts, name: str) -> bool:
    """Return whether a member has been missing for so long that it is replaced as soon as no hold applies."""
    policy, since = facts.obs.desired.replacement, facts.obs.missing.get(name)
    waited = since is not None and facts.now - since >= policy.after
    return policy.enabled and waited and name not in policy.keep
