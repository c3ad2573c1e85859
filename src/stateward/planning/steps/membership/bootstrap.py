"""Forms the cluster exactly once.

Two clusters in place of one is the worst failure of a database: both accept writes, and the writes of one are lost
later. So only one member may ever form the cluster, alone, and the others join it. The operator records the grant in
the status before it gives it, and gives it to one pod (the annotation disappears with the pod). That pod uses the grant
only if its volume is empty. If the volume that got the grant is gone, the operator cannot know whether a cluster was
formed on it: manual intervention is required. A manager that keeps its state in its pod, and whose pod was not made for
the grant, is recorded without a volume, gets a new pod, and is recorded with that.

A cluster resource that is deleted and created again has no record, and its managers' volumes may hold a cluster. Their
claims are marked, that of the grant before it is given. While there is such a volume, no manager with another one gets
the grant. If only volumes with data of that cluster are left, whose members never join a new one, a person decides.

    no grant ──recorded in the status──▶ recorded ──annotated on the pod──▶ granted ──the database answers──▶ formed
"""

from collections.abc import Container, Sequence

from stateward.api.values.problem import first_of
from stateward.planning.facts.change import change_of, immutable_inputs
from stateward.planning.facts.facts import OVERDUE, Facts
from stateward.planning.model.actions import (
    Action,
    ClearConsent,
    DeletePod,
    GrantBootstrap,
    MarkState,
    RecordBootstrap,
)
from stateward.planning.model.intent import State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Bootstrap, Effect, Member, Pod
from stateward.planning.steps.membership.create_database import NAMED, create_database
from stateward.planning.steps.membership.create_members import new_volume
from stateward.planning.steps.membership.earlier_cluster import (
    electors,
    everything_lost,
    is_fresh,
    is_never_elected,
    kept_data,
    kept_voters,
    lost_managers_wait,
    states_in_pods,
)
from stateward.planning.steps.rollout.prepare import stage

FORMING = "Bootstrapping"
"""The reason of the wait for a member that forms the cluster; how long it takes is known by it."""
FORM_NEW = (
    ". To form a new and empty cluster instead, annotate the cluster with"
    " stateward.dev/bootstrap-again=accept-data-loss"
)
"""What a user can do who gives up an earlier cluster."""


def bootstrap(facts: Facts, leaving: Container[str]) -> StepResult:
    """Return what the forming of the cluster needs now, without its `leaving` members; nothing once it answers."""
    if facts.obs.desired.formed_by_word or facts.database is not None:
        return merge(create_database(facts, leaving), revoke_consent(facts, "the database answers"))
    grant, again = facts.obs.bootstrap, facts.obs.bootstrap_again
    if grant is not None and grant.formed and not (again and everything_lost(facts)):
        return StepResult(waits=lost_managers_wait(facts))
    if again:
        return form_anew(facts)
    if (grant is None or not grant.volume) and (kept := kept_data(facts)):
        return StepResult(waits=(only_data_left(facts, kept),))
    member = granted(facts) or first_voter(facts)
    return formed_by(facts, member) if member is not None else StepResult()


def form_anew(facts: Facts) -> StepResult:
    """Return what a new cluster needs now that the user has agreed to one, in place of what is left of another.

    The disaster this prevents: the managers of the earlier cluster are enough for an election after all, and it runs
    beside the new one. So they must give up their volumes first.
    """
    holding = [m for m in electors(facts) if not is_fresh(facts, m)]
    ending = [m for m in facts.obs.members if m.claim is not None and m.claim.terminating and not m.claim.empty]
    holding += [m for m in ending if facts.votes(m)]
    holding += [m for m in facts.obs.members if m not in holding and has_joined_another(facts, m)]
    if holding:
        return StepResult(waits=(volumes_kept(facts, holding),))
    grant = facts.obs.bootstrap
    begun = granted(facts) if grant is not None and not grant.formed else None
    able = sorted((m for m in electable(facts) if is_fresh(facts, m)), key=lambda m: m.pod is None or not m.pod.running)
    alive = ((m, facts.pools[m.pool]) for m in facts.obs.members if m.alive and m.pool in facts.pools)
    part = merge(*(new_volume(facts, m, p) for m, p in alive if p.voting))
    first = next((m for m in able if not is_never_elected(facts, m)), None)
    member = begun if begun is not None and may_form(facts, begun) else first
    if member is not None:
        return merge(part, formed_by(facts, member))
    unable = (m for m in electable(facts) if has_earlier_data(facts, m) or is_never_elected(facts, m))
    other = next(unable, None)
    return part if part.actions or other is None else StepResult(waits=(no_empty_volume(facts, other),))


def has_earlier_data(facts: Facts, member: Member) -> bool:
    """Return whether a member has joined a cluster that is lost with the volume or in the pod that it has now."""
    record = facts.obs.records.get(member.name)
    in_pod = facts.ephemeral(member) and not is_fresh(facts, member)
    return record is not None and (in_pod or record.same_volume(member.claim))


def may_form(facts: Facts, member: Member) -> bool:
    """Return whether the member on record may still form the new cluster: no other one does then.

    The disaster this prevents: it has its permission and is about to form the cluster, another pool of managers becomes
    the first one of the spec, the user agrees once more, and a member of that pool forms a second cluster.
    """
    pool, pod = facts.pools.get(member.pool), member.pod
    told = pod is not None and pod.bootstrap == "granted"
    votes = pool is not None and pool.elected and not is_never_elected(facts, member)
    return is_fresh(facts, member) and (told or votes)


def has_joined_another(facts: Facts, member: Member) -> bool:
    """Return whether a manager has joined a cluster that is not the one being formed: its pod is ready.

    The disaster this prevents: a cluster is formed, a second manager joins it, and the first one loses its volume
    before the operator has seen any of it. The volume of the second one, or its pod, has no mark, and is not empty.
    """
    grant, claim, pod, volume = facts.obs.bootstrap, member.claim, member.pod, volume_of(facts, member)
    if not volume or (claim is not None and claim.terminating) or pod is None or pod.terminating or not pod.ready:
        return False
    forms = grant is not None and not grant.formed and grant.volume == volume
    return member.alive and facts.votes(member) and not forms


def formed_by(facts: Facts, member: Member) -> StepResult:
    """Return the next step of the member that forms the cluster, and what is waited for."""
    grant, pod = facts.obs.bootstrap, member.pod
    waits = StepResult(waits=unformed(facts, member) if grant is not None and not grant.formed else ())
    if pod is None or pod.terminating or not pod.running:
        return waits
    return merge(forming(facts, member, pod), waits)


def granted(facts: Facts) -> Member | None:
    """Return the member that got the grant, unless it leaves or has left: it would never form the cluster.

    Without a volume on record, no pod has got it yet, so it may still be another member.
    """
    grant = facts.obs.bootstrap
    member = facts.members.get(grant.member) if grant is not None and grant.volume else None
    if grant is None or member is None or member.alive:
        return member
    return None if grant.formed or member.workload is not None else member


def forming(facts: Facts, member: Member, pod: Pod) -> StepResult:
    """Return the next step of the member that forms the cluster, with the pod that it runs in."""
    grant, again = facts.obs.bootstrap, facts.obs.bootstrap_again
    volume = volume_of(facts, member)
    if grant is not None and grant.volume == volume:
        return recreate_with_consent(facts, member, pod) if again else grant_to(facts, member, pod)
    if not volume or (grant is not None and grant.volume and not again):
        return StepResult()
    if lacks_vote(facts, member):
        return recreate_to_form(facts, member, pod)
    why = "the first manager forms the cluster"
    if not again and facts.ephemeral(member) and not pod.candidate:
        # This pod cannot get the grant, and its next one counts as another volume: that one is recorded.
        if grant is not None and grant.member == member.name:
            return recreate_to_form(facts, member, pod)
        return StepResult(actions=(RecordBootstrap(why=why, member=member.name, volume=""),))
    record = (RecordBootstrap(why=why, member=member.name, volume=volume), *mark_state(member, why))
    # A pod that keeps its data itself is by now another pod than the one of the loss.
    begun = grant is not None and not grant.formed and facts.ephemeral(member)
    return merge(
        StepResult(actions=record),
        revoke_consent(facts, "the manager that forms the cluster is recorded") if begun else StepResult(),
    )


def revoke_consent(facts: Facts, why: str) -> StepResult:
    """Return the action that revokes the permission to form a new cluster: it covers one loss, not the next one."""
    return StepResult(actions=(ClearConsent(why=why),)) if facts.obs.bootstrap_again else StepResult()


def recreate_with_consent(facts: Facts, member: Member, pod: Pod) -> StepResult:
    """Return the deletion of the pod before it gets the permission again, with the end of the user's consent.

    The disaster this prevents: its process started while the old cluster was still on record, so it waits for that
    cluster and never reads the permission on its pod. Nor does the next pod from a template of that time, and data in
    a pod is lost with each further one.

    Before it, all other managers get new pods that keep their data themselves. The disaster this prevents: nothing
    records that these pods were in the old cluster, and they are enough for an election beside the new one.
    """
    if pod.ready:
        return StepResult()
    why, others = "it forms a new cluster", [(m, p) for m, p in states_in_pods(facts) if m.name != member.name]
    old = not pod.candidate and member.pool in facts.pools and member.alive
    actions: tuple[Action, ...] = (stage(facts, member, why),) if old else ()
    actions = (*actions, *(DeletePod(why="a new cluster is formed", member=m.name, pod=p.ref) for m, p in others))
    actions = (*actions, DeletePod(why=why, member=member.name, pod=pod.ref))
    if not facts.ephemeral(member):
        actions = (*actions, ClearConsent(why="the manager that forms it is recorded"))
    concerned = [*(m for m, _ in others), member]
    intents = intents_for(State.STARTING, concerned, Effect.NONE, "{} is recreated to form a new cluster")
    return StepResult(actions=actions, intents=intents)


def first_voter(facts: Facts) -> Member | None:
    """Return the member that forms the cluster: the first one that can be elected.

    If volumes of earlier managers are kept, it is one of these managers: its volume is not empty, so it forms no
    cluster and takes part in the election of the earlier one.
    """
    if kept_voters(facts):
        return next(iter(electors(facts)), None)
    return next((m for m in electable(facts) if not is_never_elected(facts, m)), None)


def electable(facts: Facts) -> list[Member]:
    """Return the members that vote and can be elected as their pools are now, in the order of pools and numbers.

    The disaster this prevents: the managers' pool is renamed, or another pool before it gets their role, while a new
    cluster has to be formed. No member of the first pool can form it: it is empty, or has only data of before.
    """
    pools = [pool.name for pool in facts.obs.desired.pools if pool.elected and pool.replicas]
    found = [m for m in facts.obs.members if m.pool in pools and m.alive]
    return sorted(found, key=lambda m: (pools.index(m.pool), m.ordinal))


def mark_state(member: Member, why: str, version: str = "") -> tuple[Action, ...]:
    """Return the mark on the member's claim that its volume holds a cluster's state; nothing if it has it already.

    With the `version` with which the member has joined, it is marked again for another one: no database joins with an
    older version than that of its data, so an earlier record of a newer one was not the operator's.
    """
    claim = member.claim
    if claim is None or (claim.state and version in ("", claim.version)):
        return ()
    return (MarkState(why=why, member=member.name, claim=claim.ref, version=version, again=claim.state),)


def volume_of(facts: Facts, member: Member) -> str:
    """Return what the grant is tied to: the pod if it holds the data, or the claim; empty while neither is observed."""
    if member.pod is not None and facts.ephemeral(member):
        return member.pod.ref.uid
    return member.claim.ref.uid if member.claim is not None else ""


def grant_to(facts: Facts, member: Member, pod: Pod) -> StepResult:
    """Return the grant, or the steps that prepare the pod for it."""
    forming_for, age = facts.seconds_waited(member.name, FORMING), facts.now - pod.created
    # Less and less often: if the cause is not what the process had read, another pod does not help either.
    late = pod.bootstrap == "granted" and forming_for > OVERDUE and age > max(OVERDUE, forming_for / 2)
    late = late and not facts.ephemeral(member)  # Its grant would be lost with its pod.
    if pod.ready or (pod.bootstrap == "granted" and not late):
        return StepResult()
    unmarked = mark_state(member, "it may form the cluster")
    if unmarked:
        return StepResult(actions=unmarked)
    if late:
        # The process may have read a state from before its permission; on the same volume it gets the permission again.
        text = "{} is recreated: it was to form the cluster and has not"
        actions: tuple[Action, ...] = (
            DeletePod(why="it was to form the cluster and has not", member=member.name, pod=pod.ref),
        )
    elif pod.candidate:
        text = "{} forms the cluster"
        actions = (
            GrantBootstrap(why="it is recorded as the manager that forms the cluster", member=member.name, pod=pod.ref),
        )
    elif member.claim is not None and member.claim.earlier and age <= OVERDUE:
        # Its volume may hold an earlier cluster, whose election needs no grant. If it is empty, it is recreated later.
        return StepResult()
    else:
        return recreate_to_form(facts, member, pod)
    return StepResult(actions=actions, intents=intents_for(State.STARTING, [member], Effect.NONE, text))


def lacks_vote(facts: Facts, member: Member) -> bool:
    """Return whether the member was made for another kind of pool, and can still become what its pool asks for.

    From the mark on its claim on, its kind is kept. The disaster this prevents: a pool gets the role of managers before
    the cluster is formed, and its first member, which has no vote, never forms it.
    """
    pool = facts.pools.get(member.pool)
    if pool is None or change_of(facts, member).effect is not Effect.REPLACE:
        return False
    return immutable_inputs(facts, member, pool) is None


def recreate_to_form(facts: Facts, member: Member, pod: Pod) -> StepResult:
    """Return the recreation of the pod of the member that forms the cluster, from a template that lets it."""
    if member.pool not in facts.pools or member.workload is None or not member.workload.observed or not member.alive:
        return StepResult()
    why = "it forms the cluster"
    actions = (stage(facts, member, why), DeletePod(why=why, member=member.name, pod=pod.ref))
    text = "{} is recreated to form the cluster"
    return StepResult(actions=actions, intents=intents_for(State.STARTING, [member], Effect.NONE, text))


def unformed(facts: Facts, member: Member) -> tuple[Wait, ...]:
    """Return the wait for the member that forms the cluster; after a while, with the likely cause and what to do.

    A cluster that was deleted and created again has the earlier volumes. Their managers form no cluster: they wait for
    the earlier majority, which never comes if the spec now asks for fewer managers.
    """
    grant = facts.obs.bootstrap
    if grant is None or volume_is_lost(facts, member, grant):
        return () if grant is None or facts.obs.bootstrap_again else (interrupted(facts, member),)
    if not is_overdue(facts):
        return (Wait(member.name, FORMING, f"{member.name} forms the cluster, which does not answer yet"),)
    pools = facts.pools.keys() - {member.pool}
    claimed = ((m, m.claim) for m in facts.obs.members if not m.present and m.pool not in pools)
    kept = [m.name for m, claim in claimed if claim is not None and not claim.left]
    names = f": the volumes of {', '.join(kept)} were kept, so add these members to the spec again" if kept else ""
    text = (
        f"{member.name} has not formed the cluster for more than {OVERDUE / 60:.0f} minutes; its log says"
        f" why, and if its volume is from an earlier cluster, it waits for the other managers of that cluster{names}"
        f"{FORM_NEW if member.claim is not None and member.claim.earlier else ''}"
    )
    return (Wait(member.name, FORMING, text, stalled=True),)


def volume_is_lost(facts: Facts, member: Member, grant: Bootstrap) -> bool:
    """Return whether the volume that was to form the cluster is another one now, or there is none.

    The disaster this prevents: the claim is deleted, nothing makes it again without the user's permission, and the user
    is told to look into the log of a process that has none.
    """
    volume = volume_of(facts, member)
    gone = member.claim is None and member.pod is not None and not facts.ephemeral(member)
    return gone if not volume else grant.volume not in ("", volume)


def is_overdue(facts: Facts) -> bool:
    """Return whether the member that got the grant has formed no cluster for too long."""
    grant = facts.obs.bootstrap
    return grant is not None and facts.seconds_waited(grant.member, FORMING) > OVERDUE


def volumes_kept(facts: Facts, holding: Sequence[Member]) -> Wait:
    """Return the call for a person who has agreed to a new cluster while managers have volumes of an earlier one."""
    names = ", ".join(m.name for m in holding)
    claims = " ".join(m.claim.ref.name for m in holding if m.claim is not None)
    pods = " ".join(m.pod.ref.name for m in holding if m.pod is not None)
    commands = [f"kubectl delete pvc {claims} --wait=false"] if claims else []
    commands += [f"kubectl delete pod {pods}"] if pods else []
    text = (
        f"{names} may hold the state of an earlier cluster, beside which no new one is formed; to give it up, delete"
        f" {'the claims, then the pods' if claims else 'the pods'}: {' && '.join(commands)}; the operator then creates"
        f" new {'volumes' if claims else 'pods'}"
    )
    return Wait(facts.obs.name, "EarlierVolumes", text, stalled=True)


def no_empty_volume(facts: Facts, member: Member) -> Wait:
    """Return the call for a person who has agreed to a new cluster that no manager has an empty volume for.

    The disaster this prevents: all managers are lost while the role of managers goes to a pool with data. Its members
    were made without it, or have joined the lost cluster, so none of them may form a new one, and no message says so.
    """
    claim, pod = member.claim, member.pod
    text = f"no manager has an empty volume to form a new cluster on: add a member to pool {member.pool}"
    if claim is not None:
        text += (
            f", or give up the data of {member.name}, which may be from the lost cluster: kubectl delete pvc"
            f" {claim.ref.name} --wait=false{f' && kubectl delete pod {pod.ref.name}' if pod is not None else ''};"
            " the operator then creates a new volume"
        )
    return Wait(facts.obs.name, "EarlierVolumes", text, stalled=True)


def only_data_left(facts: Facts, kept: Sequence[str]) -> Wait:
    """Return the call for a person when there is data of an earlier cluster, and no manager of it."""
    text = (
        f"the volumes of {first_of(kept, NAMED)} hold data of an earlier cluster of this name, and no volume of its"
        " managers is left: restore one, with the name, labels and annotations of its claim"
        " (stateward.dev/holds-state); members with earlier data never join a new cluster, and to form one without that"
        " data, annotate the cluster with stateward.dev/bootstrap-again=accept-data-loss"
    )
    return Wait(facts.obs.name, "ManagersLost", text, stalled=True)


def interrupted(facts: Facts, member: Member) -> Wait:
    """Return the call for a person when the volume that was to form the cluster is gone."""
    what = "pod, which keeps its data itself," if facts.ephemeral(member) else "volume"
    text = (
        f"the {what} of {member.name} was lost while it formed the cluster, so the operator does not know whether a"
        " cluster exists on it; if no member has ever served, nothing is lost. To form a new one, annotate the cluster"
        " with stateward.dev/bootstrap-again=accept-data-loss"
    )
    return Wait(member.name, "BootstrapInterrupted", text, stalled=True)
