"""Explanations of a cluster's or member's state in full sentences; pure, from its resource and a member's inputs."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.status import MemberStatus, WaitStatus
from stateward.api.values.conditions import stalled
from stateward.cli.shared.absent import cause, missing_members, what_happens
from stateward.cli.shared.advice import UNKNOWN, told
from stateward.cli.shared.ages import age, left
from stateward.cli.status.advice import ADVICE, MEANING
from stateward.planning.model.intent import State


def explain_cluster(cluster: Cluster, now: float) -> Iterator[str]:
    """Yield the current activity, the waits, and what would end each of them, line by line."""
    status, name = cluster.status, cluster.metadata.name
    if not status.conditions:
        yield f"No operator has observed {name} yet: check that the operator is running and watches this namespace."
        return
    yield f"{name} {standing(cluster)}"
    yield f"Status: {sentence(status.activity)}" + progress(cluster, now)
    if status.observed_generation < cluster.metadata.generation:
        yield "The operator has not observed the latest change of the spec yet: the following is about the one before."
    stuck = stalled(status.conditions)
    if stuck is not None:
        yield f"Manual intervention is required ({stuck.reason}): {sentence(stuck.message)}"
        yield from advice(stuck.reason)
    shown = [w for w in status.waiting if stuck is None or (w.reason, w.message) != (stuck.reason, stuck.message)]
    yield from waits(shown, now)
    yield from absences(cluster, now)
    yield from disks(cluster, now)
    yield from sizes(cluster, now)
    if not status.waiting and stuck is None and not any(missing_members(cluster)):
        yield idle(cluster)


def idle(cluster: Cluster) -> str:
    """Return what a cluster does in which nothing waits, is stalled or is missing, in one sentence."""
    if not cluster.status.conditions:
        return "No operator has observed this cluster yet."
    settled = any(c.type == "Ready" and c.status == "True" for c in cluster.status.conditions)
    return "Nothing is pending." if settled else "Nothing is held up: the operator goes on by itself."


def standing(cluster: Cluster) -> str:
    """Return version, members and health as a clause."""
    status, wanted = cluster.status, cluster.spec.version
    if not status.version:
        version = f"is being created with {wanted}"
    elif status.version == wanted:
        version = f"runs {wanted}"
    else:
        done = sum(member.version == wanted for member in status.member_states)
        version = f"runs {status.version} and changes to {wanted}, so far on {done} of {len(status.member_states)}"
    members = f"{status.members.ready} of {status.members.desired} members serve"
    health = f"the database reports {status.health}"
    return f"{version}; {members}; {'its health is not known' if status.health in ('', 'unknown') else health}."


def sentence(text: str) -> str:
    """Return a text with one full stop at its end; messages of Kubernetes often have one."""
    return f"{text.rstrip('. ')}."


def absences(cluster: Cluster, now: float) -> Iterator[str]:
    """Yield the members that are missing although no step of the operator stopped them, and what happens to each.

    A member that stalls the cluster because its pod does not start was explained with that.
    """
    stuck = stalled(cluster.status.conditions)
    for member in missing_members(cluster):
        if stuck is not None and stuck.message == member.reason != "":
            continue
        yield ""
        yield f"{member.name} has been missing for {age(member.missing_since_time, now)}: {cause(member)}."
        yield f"  It {what_happens(cluster, member)}."


def progress(cluster: Cluster, now: float) -> str:
    """Return the time since the last progress, unless the cluster is settled."""
    unsettled = any(c.type == "Ready" and c.status != "True" for c in cluster.status.conditions)
    since = age(cluster.status.last_progress_time, now)
    return f" Last progress: {since} ago." if unsettled and since else ""


def disks(cluster: Cluster, now: float) -> Iterator[str]:
    """Yield how full the disks of each pool with storage.grow are, and when they will be full."""
    for pool in cluster.status.pools:
        if (disk := pool.disk) is None:
            continue
        used = (
            f"Pool {pool.name}: {disk.member} uses {disk.used_percent}% of its disk, with volumes of {disk.volume_size}"
        )
        when = left(disk.full_time, now)
        yield f"{used}. With the largest volumes it is full in {when}." if when else f"{used}."


def sizes(cluster: Cluster, now: float) -> Iterator[str]:
    """Yield how many members each pool that scales should have, why, and since when a rule asks for another number."""
    if not isinstance(cluster, SearchCluster):
        return
    limits = {pool.name: pool.scaling for pool in cluster.spec.pools if pool.scaling is not None}
    for pool in cluster.status.pools:
        size, limit = pool.scaling, limits.get(pool.name)
        if size is None or limit is None:
            continue
        why = f": {size.reason}" if size.reason else ""
        yield f"Pool {pool.name} should have {size.replicas} members ({limit.min} to {limit.max}){why}."
        if since := age(size.growth_wanted_since_time, now):
            yield f"It grows if a rule asks for more members for {limit.grow_after}; one has asked for {since}."
        if since := age(size.shrink_allowed_since_time, now):
            yield f"It shrinks if all rules allow it for {limit.shrink_after}; they have allowed it for {since}."


def waits(found: Iterable[WaitStatus], now: float) -> Iterator[str]:
    """Yield each wait with what ends it; waits with the same reason share the advice."""
    by_reason: dict[str, list[WaitStatus]] = {}
    for wait in found:
        by_reason.setdefault(wait.reason, []).append(wait)
    for reason, group in by_reason.items():
        yield ""
        for wait in group:
            since = age(wait.since_time, now)
            yield f"{wait.subject} {f'has waited {since}' if since else 'waits'} ({reason}): {sentence(wait.message)}"
        yield from advice(reason)


def advice(reason: str) -> Iterator[str]:
    """Yield what ends a wait, and what the user can do."""
    yield from told(ADVICE.get(reason, UNKNOWN))


def explain_member(
    cluster: Cluster, member: MemberStatus, now: float, *, inputs: str = "", trouble: str = ""
) -> Iterator[str]:
    """Yield the state of a member; `inputs` are the differing inputs, `trouble` is what keeps its pod from running."""
    since = age(member.last_transition_time, now)
    yield f"{member.name} is {member.state}{f' (for {since})' if since else ''}: {meaning_of(cluster, member)}."
    where = f" on node {member.node}{f' in zone {member.zone}' if member.zone else ''}" if member.node else ""
    joined = f"It last joined the cluster with version {member.version}" if member.version else "It has not joined yet"
    yield f"{joined}{where}."
    if member.reason:
        yield f"The operator says: {sentence(member.reason)}"
    if member in missing_members(cluster):
        yield f"It has been missing for {age(member.missing_since_time, now)}: {cause(member)}."
        yield f"  It {what_happens(cluster, member)}."
    if trouble:
        yield f"Its pod does not run: {sentence(trouble)}"
    if member.pending:
        what = f" because of {inputs}" if inputs else ""
        yield f"A pending change has to {VERBS.get(member.pending, member.pending)}{what}."
    held = cluster.status.waiting
    mine = [wait for wait in held if wait.subject == member.name]
    general = [wait for wait in held if wait.subject == cluster.metadata.name]
    yield from waits([*mine, *general], now)


def document(
    cluster: Cluster, member: MemberStatus | None = None, *, inputs: str = "", trouble: str = "", note: str = ""
) -> dict[str, Any]:
    """Return the explanation for programs: of a cluster, or of one of its members."""
    status, names = cluster.status, {cluster.metadata.name}
    subjects = names | {member.name} if member is not None else None
    waiting = [explained(w) for w in status.waiting if subjects is None or w.subject in subjects]
    stuck = stalled(status.conditions)
    found: dict[str, Any] = {
        "kind": cluster.kind,
        "name": cluster.metadata.name,
        "namespace": cluster.metadata.namespace,
        "observed": bool(status.conditions),
        "current": status.observed_generation >= cluster.metadata.generation,
        "activity": status.activity,
        "lastProgressTime": status.last_progress_time,
        "stalled": explained(WaitStatus(subject=cluster.metadata.name, reason=stuck.reason, message=stuck.message))
        if stuck is not None
        else None,
        "waiting": waiting,
    }
    if member is not None:
        known = msgspec.to_builtins(member) | {"inputs": inputs, "trouble": trouble, "note": note}
        happens = what_happens(cluster, member) if member in missing_members(cluster) else ""
        found["member"] = known | {"meaning": meaning_of(cluster, member), "whatHappens": happens}
    return found


def meaning_of(cluster: Cluster, member: MemberStatus) -> str:
    """Return the meaning of a member's state; empty for one of another version of the operator."""
    wanted = cluster.spec.version
    if member.state == State.READY and not member.pending and member.version not in ("", wanted):
        return f"it serves with {member.version}; the spec asks for {wanted}, and no step of this member is due now"
    return MEANING.get(State(member.state), "") if member.state in set(State) else ""


def explained(wait: WaitStatus) -> dict[str, str]:
    """Return a wait with what ends it, and what the user can do."""
    known = ADVICE.get(wait.reason, UNKNOWN)
    about = {"subject": wait.subject, "reason": wait.reason, "message": wait.message, "sinceTime": wait.since_time}
    return about | {"ends": known.ends, "do": known.do}


VERBS = {"reload": "reload it", "restart": "restart it", "recreate": "recreate its pod", "replace": "replace it"}
