"""The status of a cluster, from its observation, its plan and the previous status.

A time stays as long as its subject stays the same, so it survives the operator. All times are RFC 3339 in UTC with
seconds.
"""

from collections.abc import Collection, Iterable
from math import isinf

import msgspec

from stateward.api.kinds.status import (
    BootstrapStatus,
    ClusterStatus,
    MaintenanceStatus,
    MemberCounts,
    MemberStatus,
    WaitStatus,
)
from stateward.api.values.conditions import readable
from stateward.planning.facts.facts import Facts, derive, is_lost_after_serving
from stateward.planning.facts.missing_members import missing, same_kind, still_missing
from stateward.planning.facts.outdated import outdated_pods
from stateward.planning.facts.upgrade_order import members_upgraded, newer, parse
from stateward.planning.model.actions import RecordBootstrap, Release
from stateward.planning.model.intent import State, Wait
from stateward.planning.model.observation import Member, Observation, Restore
from stateward.planning.model.times import parse_time, rfc3339
from stateward.planning.plan import Plan
from stateward.planning.report.absence import absence
from stateward.planning.report.bounded import bounded
from stateward.planning.report.comes_back import comes_back
from stateward.planning.report.conditions import conditions
from stateward.planning.report.current_forecast import current_forecast
from stateward.planning.report.pending_removals import pending_removals
from stateward.planning.report.pool_status import pool_states
from stateward.planning.steps.membership.pacing import last_removal, maintenance_end, needs_recovery
from stateward.planning.steps.membership.replacement import MISSING

__all__ = ["parse_time", "rfc3339", "status"]


def status(obs: Observation, plan: Plan, before: ClusterStatus, now: float) -> ClusterStatus:
    """Return the status to write after a plan was made (and, if it was, carried out) at time `now`."""
    facts = derive(obs, now)
    before = without_records(before, obs.records.keys() - facts.obs.records.keys())
    version = deployed(facts, before)
    if version != obs.deployed_version:
        # The status also describes what it records itself: a version that is deployed is no longer an upgrade target.
        facts = derive(msgspec.structs.replace(obs, deployed_version=version), now)
    present = [m for m in obs.members if m.present or m.name in plan.intents]
    pools = pool_states(facts, plan.removals, plan.sizes, before)
    ready, desired = sum(pool.ready for pool in pools), sum(pool.desired for pool in pools)
    database = facts.database
    members = [member_status(facts, plan, m, before, now) for m in present]
    made = ClusterStatus(
        observed_generation=obs.generation,
        version=version,
        health=database.health.value if database else "unknown",
        cluster_uuid=identity(facts, plan, before),
        connection_secret_name=obs.desired.connection_secret,
        activity=plan.activity,
        members=MemberCounts(ready=ready, desired=desired),
        ready=f"{ready}/{desired}",
        security=obs.protection.status() if obs.protection is not None else before.security,
        bootstrap=bootstrap_status(obs, plan, before, formed=database is not None),
        pools=pools,
        member_states=members,
        waiting=[wait_status(wait, before, now) for wait in plan.waits if not is_premature(wait, members)],
        outdated_pods=outdated_pods(facts),
        data_digests=before.data_digests,
        data_change=before.data_change,
        dashboards=before.dashboards,
        metrics=before.metrics,
        routes=before.routes,
        remote_clusters=before.remote_clusters,
        remote_access=before.remote_access,
        maintenance=maintenance_status(facts, before),
        last_removal_time=last_removal_time(facts, plan, before, members),
        last_progress_time=before.last_progress_time,
        pending_removals=pending_removals(facts, plan, before),
        conditions=conditions(facts, plan, before, now),
        forecast=current_forecast(obs, plan, before, now),
    )
    draft = bounded(readable(made))
    moved_on = progress_of(draft) != progress_of(before)
    return with_progress(draft, rfc3339(now)) if moved_on or not before.last_progress_time else draft


def without_records(before: ClusterStatus, of: Collection[str]) -> ClusterStatus:
    """Return the status without the record that these members have joined: it is of a cluster that is lost."""
    if not of:
        return before
    replace = msgspec.structs.replace
    states = [replace(m, version="", volume="") if m.name in of else m for m in before.member_states]
    return replace(before, member_states=states)


def last_removal_time(facts: Facts, plan: Plan, before: ClusterStatus, recorded: Iterable[MemberStatus]) -> str:
    """Return when a member was last released: now, if this plan does it or its trace is observed for the first time.

    A member that is not `recorded` any more, and was not released, counts as released now. The disaster this prevents:
    a user deletes all objects of a member of FoundationDB, which counts its data for a while, and nothing else knows of
    it; another member leaves without draining, and it had the other copies.
    """
    released = any(isinstance(a, Release) and needs_recovery(facts, facts.members[a.member]) for a in plan.actions)
    forgotten = facts.obs.records.keys() - {m.name for m in recorded} - facts.obs.let_go
    released = released or (facts.obs.desired.formed_by_word and bool(forgotten))
    last = facts.now if released else last_removal(facts)
    return before.last_removal_time if last is None or last == facts.obs.last_removal else rfc3339(last)


def maintenance_status(facts: Facts, before: ClusterStatus) -> MaintenanceStatus | None:
    """Return the zone in maintenance, or the last one with the time at which its end was noticed.

    The disaster this prevents: the database counts no loss in a zone in maintenance, and not at once when that ends. A
    member whose data is on no other one any more would count as empty.
    """
    end = maintenance_end(facts)
    if end is None:
        return None
    now, last = facts.database.maintenance if facts.database else "", before.maintenance
    return MaintenanceStatus(zone=now or (last.zone if last else ""), end_time="" if isinf(end) else rfc3339(end))


def with_progress(draft: ClusterStatus, when: str) -> ClusterStatus:
    """Return the status with the time of its last progress."""
    return msgspec.structs.replace(draft, last_progress_time=when)


def progress_of(current: ClusterStatus) -> tuple[object, ...]:
    """Return what changes when something moves forward: states, versions, pods that are ready, data still to move.

    A member that is down and starts again has made no progress before it serves: many end a minute after each start.
    """
    return (
        current.version,
        current.ready,
        tuple(
            (m.name, State.DOWN if m.state == State.STARTING else m.state, m.version, m.pending, member_progress(m))
            for m in current.member_states
        ),
    )


def member_progress(member: MemberStatus) -> str:
    """Return what tells how far a member is: the data still to move; other sentences may change without progress."""
    return member.reason if member.state == State.DRAINING else ""


def deployed(facts: Facts, before: ClusterStatus) -> str:
    """Return the deployed version: a new one counts only when every member serves with it.

    The first one counts when the database is formed, although members may still be missing. The disaster this prevents:
    one pod of a new cluster finds no node, and nothing that makes an upgrade safe holds for the members with data.
    """
    if facts.database is None:
        return before.version
    desired = facts.obs.desired
    total = sum(pool.replicas for pool in desired.pools)
    complete = sum(m.alive and m.pool in facts.pools for m in facts.obs.members) >= total
    if complete and members_upgraded(facts.obs, facts.up, facts.obs.members):
        return desired.version
    joined = (node.version for node in facts.database.nodes.values() if node.version)
    return before.version or min(joined, key=parse, default="")


def identity(facts: Facts, plan: Plan, before: ClusterStatus) -> str:
    """Return the database's identity; a new cluster in place of a lost one has none before it answers.

    The disaster this prevents: the user has accepted the loss of the old cluster, the new one is formed, and the
    operator never talks to it because it is not the old one.
    """
    if facts.database is not None:
        return facts.database.identity
    anew = any(isinstance(action, RecordBootstrap) for action in plan.actions)
    return "" if anew else before.cluster_uuid


def bootstrap_status(obs: Observation, plan: Plan, before: ClusterStatus, *, formed: bool) -> BootstrapStatus | None:
    """Return the grant: what this plan records, or what was recorded; formed once the database has answered.

    A cluster that is formed again, in place of a lost one, has restored nothing yet.
    """
    for action in plan.actions:
        if isinstance(action, RecordBootstrap):
            return BootstrapStatus(member=action.member, volume=action.volume, formed=False)
    grant = before.bootstrap or (BootstrapStatus(member="", volume="") if formed else None)
    if grant is None:
        return None
    grant = msgspec.structs.replace(grant, formed=grant.formed or formed)
    found = obs.restore
    if grant.restored_snapshot or not formed or not isinstance(found, Restore) or not (found.ours and found.done):
        return grant
    return msgspec.structs.replace(grant, restored_snapshot=found.snapshot, restored_documents=found.documents)


def member_status(facts: Facts, plan: Plan, member: Member, before: ClusterStatus, now: float) -> MemberStatus:
    """Return the state of a member; `since` stays while its state and its wait stay the same."""
    intent = plan.intents.get(member.name)
    earlier = next((m for m in before.member_states if m.name == member.name), None)
    node = facts.node(member.name)
    seen = earlier.version if earlier else ""
    there = version_in_cluster(facts, member)
    joined = there if there and newer(there, seen) else seen
    state = intent.state.value if intent else State.LEAVING.value
    pending = intent.effect.name.lower() if intent and intent.effect else ""
    same = earlier is not None and (earlier.state, earlier.pending) == (state, pending) and earlier.last_transition_time
    volume, pod = (earlier.volume, earlier.pod) if earlier else ("", "")
    in_pod = facts.ephemeral(member)
    if there and member.claim is not None and not in_pod:
        joined = there if volume != member.claim.ref.uid else joined  # An empty volume may hold any version.
        volume = member.claim.ref.uid
    if there and member.pod is not None:
        pod = member.pod.ref.uid if in_pod else ""
    address = member.pod.ip if node is not None and member.pod is not None else ""
    missing_since, cause = missing_status(facts, member, earlier)
    away = facts.away(member)
    return MemberStatus(
        name=member.name,
        pool=member.pool,
        state=state,
        version=joined,
        volume=volume,
        pod=pod,
        node=member.pod.node if member.pod else "",
        zone=facts.zone(member.name) or (earlier.zone if earlier else ""),
        address=address or (earlier.address if earlier else ""),
        pending=pending,
        reason=intent.sentence if intent else "",
        last_transition_time=earlier.last_transition_time if same and earlier else rfc3339(now),
        not_serving_since_time="" if away is None else rfc3339(away),
        absence=absence(facts, plan, member, earlier).value,
        missing_since_time=missing_since,
        missing_reason=cause,
    )


def version_in_cluster(facts: Facts, member: Member) -> str:
    """Return the version with which a member is in the cluster; empty if it is not there, or if that is unknown.

    For one whose Kubernetes node was lost before it was recorded that it joined, it is the version of its pod.
    """
    node = facts.node(member.name)
    if node is not None:
        return node.version
    new = member.name not in facts.obs.records
    if member.pod is not None and new and is_lost_after_serving(facts.obs, facts.database, member):
        return member.pod.version
    return facts.database.partial.get(member.name, "") if facts.database is not None else ""


def missing_status(facts: Facts, member: Member, earlier: MemberStatus | None) -> tuple[str, str]:
    """Return since when a member is missing, and why; an unknown state erases no record."""
    found = missing(facts, member)
    if found is None:
        if earlier is not None and still_missing(facts, member, earlier.missing_reason):
            return earlier.missing_since_time, earlier.missing_reason
        return "", ""
    if earlier is not None and earlier.missing_since_time and same_kind(earlier.missing_reason, found.cause):
        return earlier.missing_since_time, found.cause.value
    return rfc3339(facts.now), found.cause.value


def is_premature(wait: Wait, members: Iterable[MemberStatus]) -> bool:
    """Return whether a wait announces the replacement of a member that a step has stopped and that comes back.

    The plan has this wait from the first moment on, and if the member does not come back, the status gets it too. Until
    then it would only tell the user, in each restart, that a member is about to be replaced.
    """
    return wait.reason == MISSING and any(member.name == wait.subject and comes_back(member) for member in members)


def wait_status(wait: Wait, before: ClusterStatus, now: float) -> WaitStatus:
    """Return a wait with the time of its start; a changed text does not restart it."""
    earlier = next((w for w in before.waiting if (w.subject, w.reason) == (wait.subject, wait.reason)), None)
    since = earlier.since_time if earlier and earlier.since_time else rfc3339(now)
    return WaitStatus(subject=wait.subject, reason=wait.reason, message=wait.message, since_time=since)
