"""What is left of an earlier cluster of the same name, and what can be done with it now.

These are four questions, and one member may have a different answer to each:

* May its volume hold the state of a cluster? The mark on its claim says so, whatever its pool is for by now.
* Can it take part in the election of that cluster? It runs and votes, whatever its pool is for by now.
* Is its volume fresh, so that a new cluster may be formed on it?
* Is the volume lost with which it joined?

Where too few of its managers are left to elect one, a wait names what a person can do.
"""

from stateward.api.values.problem import first_of
from stateward.planning.facts.change import immutable_inputs
from stateward.planning.facts.facts import Facts
from stateward.planning.model.intent import Wait
from stateward.planning.model.observation import Claim, Member, Pod
from stateward.planning.safety.availability import can_be_elected
from stateward.planning.steps.membership.create_database import NAMED


def kept_voters(facts: Facts) -> list[Member]:
    """Return the members whose volumes may hold the state of a cluster that was formed before this resource knew it.

    They are those with a marked claim, whatever their pool asks for now. Without any mark they are the managers with a
    claim that is older than the resource, and it is unknown which volumes are empty: an operator without marks made
    them, or a user wrote their claims. The disaster this prevents: the pool of the managers is to keep its data in pods
    when their cluster is created again, and a second database is formed beside their volumes.
    """
    claimed = [(m, m.claim) for m in facts.obs.members if m.claim is not None]
    usable = [(m, claim) for m, claim in claimed if is_usable(claim)]
    marked = [m for m, claim in usable if claim.state]
    # Where data is marked, so were the managers: a claim without a mark is of one that came later, and is empty.
    if marked or marked_data(facts):
        return marked
    return [m for m, claim in usable if claim.earlier and (m.was_made("voting") or m.made_for is None)]


def electors(facts: Facts) -> list[Member]:
    """Return the members of the earlier cluster that run and vote, the most promising first.

    The disaster this prevents: a cluster is deleted and created again, its managers get another name before they are
    elected, and the new ones form a second database beside theirs. So members of a pool that the spec does not have
    count too.
    """
    found = [m for m in kept_voters(facts) if m.alive and facts.votes(m) and not stays_without_vote(facts, m)]

    def place(member: Member) -> tuple[bool, bool, str, int]:
        pool = facts.pools.get(member.pool)
        return not can_be_elected(facts, member), pool is None, member.pool, member.ordinal

    return sorted(found, key=place)


def stays_without_vote(facts: Facts, member: Member) -> bool:
    """Return whether a member keeps what it was made for, which is no manager, whatever its pool asks for.

    The disaster this prevents: all managers are lost, a pool with data has just got their role, and the member that is
    to form the new cluster has no vote. So managers with new volumes form it.
    """
    pool = facts.pools.get(member.pool)
    if pool is None or member.made_for is None or member.was_made("voting"):
        return False
    return bool(immutable_inputs(facts, member, pool))


def is_never_elected(facts: Facts, member: Member) -> bool:
    """Return whether a member keeps what it was made for, which cannot be elected, whatever its pool asks for."""
    pool = facts.pools.get(member.pool)
    only = pool is not None and member.was_made("voting_only") and bool(immutable_inputs(facts, member, pool))
    return only or stays_without_vote(facts, member)


def is_fresh(facts: Facts, member: Member) -> bool:
    """Return whether a new cluster may be formed with a member's volume: it certainly holds no earlier one.

    The volume of the grant is marked as perhaps holding one; that is the cluster which is being formed.
    """
    pool = facts.pools.get(member.pool)
    if member.claim is None and pool is not None and pool.ephemeral:
        return not joined_in_pod(facts, member)
    claim, grant, record = member.claim, facts.obs.bootstrap, facts.obs.records.get(member.name)
    if claim is None or claim.terminating or claim.left or (record is not None and record.same_volume(claim)):
        return False
    forming = grant is not None and not grant.formed and grant.volume == claim.ref.uid and not claim.earlier
    return forming or member not in kept_voters(facts)


def kept_data(facts: Facts) -> list[str]:
    """Return the members whose volumes hold data of an earlier cluster of which no manager's volume is left."""
    return [] if kept_voters(facts) else marked_data(facts)


def marked_data(facts: Facts) -> list[str]:
    """Return the members whose volumes are marked as holding data of a cluster.

    A claim of another owner, the earlier cluster resource, is about to be deleted with it.
    """
    stays = ("", facts.obs.uid)
    claims = ((m.name, m.claim) for m in facts.obs.members if m.claim is not None and m.claim.owner in stays)
    return [name for name, claim in claims if claim.data and is_usable(claim)]


def is_usable(claim: Claim) -> bool:
    """Return whether a member may use what is on a volume.

    An empty claim holds nothing, and one that a replaced member has left is of no use.
    """
    return not (claim.empty or claim.left or claim.terminating)


def may_hold_needed_vote(facts: Facts, member: Member) -> bool:
    """Return whether a formed database that does not answer may wait for the vote on a member's volume."""
    claim = member.claim
    return facts.formed and facts.database is None and claim is not None and claim.state and is_usable(claim)


def everything_lost(facts: Facts) -> bool:
    """Return whether every manager that has joined the cluster now has another volume than it had then.

    If none is on record, because nothing was left of any while the plan was on hold, it is whether no volume may hold
    the state of a cluster.
    """
    voters = recorded_voters(facts)
    return all(changed_volume(facts, m) for m in voters) if voters else not kept_voters(facts)


def recorded_voters(facts: Facts) -> list[Member]:
    """Return the managers of which the status records that they have joined the cluster, as they were made.

    The disasters this prevents: a pool with data gets the role of a manager while all managers are lost. Its members
    never had a vote, so they keep no state, and no one is asked whether a new cluster may be formed. Or two pools have
    swapped their roles, and a member whose vote has moved away still counts, because its claim was made for a manager.
    """
    joined = [m for m in facts.obs.members if m.name in facts.obs.records and not only_data(m)]
    return [m for m in joined if (m.was_made("voting") if m.made_for is not None else facts.votes(m))]


def only_data(member: Member) -> bool:
    """Return whether the member's volume is marked as holding data, and not the state of the cluster."""
    return member.claim is not None and member.claim.data and not member.claim.state


def changed_volume(facts: Facts, member: Member) -> bool:
    """Return whether the volume is another one than the member joined with.

    A pod that keeps its data itself is lost with it: one that does not serve is another pod than it has joined with,
    or it is not known. Of a member without a claim and without a pod nothing is left. The disasters this prevents:
    managers that keep their data in pods are lost while one of them leaves, which has no pod any more, and the user is
    never asked for a new cluster. Or they only restart together, the user is told that they are lost and agrees to a
    new cluster, and a second database is formed beside what is in their pods.
    """
    if facts.ephemeral(member):
        return member.name not in facts.up and not joined_in_pod(facts, member)
    record = facts.obs.records.get(member.name)
    kept = member.claim is not None or (member.pod is not None and record is not None and record.volume == "")
    return not kept or facts.has_other_volume(member)


def joined_in_pod(facts: Facts, member: Member) -> bool:
    """Return whether a member keeps its data in its pod, and this is the pod with which it has joined.

    What the pod holds stays while its process stops, ends or restarts, and is lost only with the pod.
    """
    record, pod = facts.obs.records.get(member.name), member.pod
    return facts.ephemeral(member) and record is not None and pod is not None and record.pod == pod.ref.uid


def states_in_pods(facts: Facts) -> list[tuple[Member, Pod]]:
    """Return the members that do not serve, with their pods, which may keep the state of a lost cluster themselves."""
    made = (m for m in facts.obs.members if m.made_for is None or m.was_made("voting"))
    kept = ((m, m.pod) for m in made if facts.ephemeral(m))
    return [(m, pod) for m, pod in kept if pod is not None and not (pod.terminating or pod.ready)]


def others_may_vote(facts: Facts) -> bool:
    """Return whether new managers could outvote others: those of a database that answers, or that was not given up.

    The disaster this prevents: new managers wait for a database that only they can bring back. Nothing is left of the
    managers on record, and the user has agreed to a new cluster; or none is on record at all, and then a new one forms
    no cluster, because it gets no grant.
    """
    if facts.database is not None:
        return True
    agreed = facts.obs.bootstrap_again and everything_lost(facts)
    return facts.formed and not agreed and bool(recorded_voters(facts))


def lost_managers_wait(facts: Facts) -> tuple[Wait, ...]:
    """Return the call for a person when the volumes of all managers are gone, or of so many that none is elected."""
    if not everything_lost(facts):
        return quorum_lost(facts)
    text = (
        "every manager has lost its volume or its pod's data, so only a new and empty cluster can be formed;"
        " to accept that, annotate the cluster with stateward.dev/bootstrap-again=accept-data-loss"
    )
    return (Wait(facts.obs.name, "ManagersLost", text, stalled=True),)


def quorum_lost(facts: Facts) -> tuple[Wait, ...]:
    """Return the call for a person when so many managers have lost their volumes that no majority is left.

    The votes of a database that does not answer are not known: it is silent for a while before this is said, and some
    of the lost managers may have had no vote.
    """
    voters = recorded_voters(facts)
    lost = [m.name for m in voters if changed_volume(facts, m)]
    left = len(voters) - len(lost)
    if not (lost and facts.unanswered) or left > len(voters) // 2:
        return ()
    text = (
        f"{first_of(lost, NAMED)} lost the cluster state with their volumes or pods, and {left} of {len(voters)}"
        " managers on record have it: no majority elects a manager. Bring back the volumes of a majority, with the"
        " names, labels and annotations of their claims"
    )
    return (Wait(facts.obs.name, "QuorumLost", text, stalled=True),)
