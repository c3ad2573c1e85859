"""What people read: the status of a cluster, made from its observation and plan, and from what the status said before.

Times are kept from the previous status as long as what they are about stays the same, so they survive the operator.
All times are RFC 3339 in UTC with seconds.
"""

from datetime import UTC, datetime

import msgspec

from stateward.api.base import Condition
from stateward.api.cluster import (
    BootstrapStatus,
    ClusterStatus,
    MemberCounts,
    MemberStatus,
    PoolStatus,
    WaitStatus,
)
from stateward.planning.actions import RecordBootstrap
from stateward.planning.facts import Facts, derive
from stateward.planning.intent import State, Wait
from stateward.planning.observation import Database, Health, Member, Observation, Unknown
from stateward.planning.plan import Plan
from stateward.planning.upgrade import newer, upgraded, upgrading


def rfc3339(seconds: float) -> str:
    """Return a time in seconds since the epoch as Kubernetes writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float | None:
    """Return an RFC 3339 time as seconds since the epoch; None when it is empty or no time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def status(obs: Observation, plan: Plan, before: ClusterStatus, now: float) -> ClusterStatus:
    """Return the status to write after a plan was made (and, where it was, carried out) at time `now`."""
    facts = derive(obs, now)
    present = [m for m in obs.members if m.workload is not None or m.pod is not None or m.name in plan.intents]
    members = [member_status(facts, plan, m, before, now) for m in present]
    waits = [wait_status(wait, before, now) for wait in plan.waits]
    desired = sum(pool.replicas for pool in obs.desired.pools)
    wanted = [m for m in obs.members if m.pool in facts.pools and m.name in facts.up]
    ready = len(wanted)
    version = deployed(facts, before)
    database = obs.database
    known = isinstance(database, Database)
    draft = ClusterStatus(
        observed_generation=obs.generation,
        version=version,
        health=database.health.value if isinstance(database, Database) else "unknown",
        cluster_uuid=database.identity if isinstance(database, Database) else before.cluster_uuid,
        doing=plan.doing,
        members=MemberCounts(ready=ready, desired=desired),
        ready=f"{ready}/{desired}",
        bootstrap=bootstrap_status(plan, before, formed=known),
        pools=[pool_status(facts, pool.name) for pool in obs.desired.pools],
        member_states=members,
        waiting=waits,
        last_progress=before.last_progress,
        conditions=conditions(facts, plan, before, now),
    )
    moved = progress_of(draft) != progress_of(before)
    return draft if not moved and before.last_progress else with_progress(draft, rfc3339(now))


def with_progress(draft: ClusterStatus, when: str) -> ClusterStatus:
    """Return the status with the time of its last progress."""
    return msgspec.structs.replace(draft, last_progress=when)


def progress_of(current: ClusterStatus) -> tuple[object, ...]:
    """Return what changes when something moves forward: states, versions, pods that are ready, data still to move."""
    return (
        current.version,
        current.ready,
        tuple((m.name, m.state, m.version, m.pending, moved(m)) for m in current.member_states),
    )


def moved(member: MemberStatus) -> str:
    """Return what tells how far a member is: the data still to move; other sentences may change without progress."""
    return member.reason if member.state == State.DRAINING else ""


def deployed(facts: Facts, before: ClusterStatus) -> str:
    """Return the last version that was deployed everywhere: a new one counts only when every member serves with it."""
    desired = facts.obs.desired
    total = sum(pool.replicas for pool in desired.pools)
    mine = [m for m in facts.obs.members if m.workload is not None]
    complete = len([m for m in mine if m.pool in facts.pools]) >= total
    everywhere = all(m.name in facts.up and m.pod is not None and m.pod.version == desired.version for m in mine)
    return desired.version if facts.database is not None and complete and everywhere else before.version


def bootstrap_status(plan: Plan, before: ClusterStatus, *, formed: bool) -> BootstrapStatus | None:
    """Return the grant: what this plan records, or what was recorded; formed once the database has answered."""
    for action in plan.actions:
        if isinstance(action, RecordBootstrap):
            return BootstrapStatus(member=action.member, volume=action.volume, formed=False)
    grant = before.bootstrap
    if grant is None:
        return BootstrapStatus(member="", volume="", formed=True) if formed else None
    return BootstrapStatus(member=grant.member, volume=grant.volume, formed=grant.formed or formed)


def pool_status(facts: Facts, name: str) -> PoolStatus:
    """Return where a pool stands."""
    pool = facts.pools[name]
    mine = [m for m in facts.obs.members if m.pool == name and m.workload is not None]
    versions = sorted({m.pod.version for m in mine if m.pod is not None and m.pod.version})
    upgrade = ""
    if upgrading(facts.obs):
        done = "Upgraded" if upgraded(facts.obs, facts.up, pool) else "Pending"
        upgrade = "Upgrading" if facts.turn is not None and facts.turn.name == name else done
    return PoolStatus(
        name=name,
        ready=sum(m.name in facts.up for m in mine),
        desired=pool.replicas,
        version=", ".join(versions),
        upgrade=upgrade,
    )


def member_status(facts: Facts, plan: Plan, member: Member, before: ClusterStatus, now: float) -> MemberStatus:
    """Return where a member stands; `since` is kept while its state and what waits for it stay the same."""
    intent = plan.intents.get(member.name)
    earlier = next((m for m in before.member_states if m.name == member.name), None)
    node = facts.node(member.name)
    seen = earlier.version if earlier else ""
    joined = node.version if node is not None and newer(node.version, seen) else seen
    state = intent.state.value if intent else State.LEAVING.value
    pending = intent.effect.name.lower() if intent and intent.effect else ""
    same = earlier is not None and (earlier.state, earlier.pending) == (state, pending) and earlier.since
    volume = earlier.volume if earlier else ""
    if node is not None and member.claim is not None:
        joined = node.version if volume != member.claim.ref.uid else joined  # An empty volume may hold any version.
        volume = member.claim.ref.uid
    return MemberStatus(
        name=member.name,
        pool=member.pool,
        state=state,
        version=joined,
        volume=volume,
        node=member.pod.node if member.pod else "",
        zone=facts.zone(member.name) or (earlier.zone if earlier else ""),
        pending=pending,
        reason=intent.sentence if intent else "",
        since=earlier.since if same and earlier else rfc3339(now),
    )


def wait_status(wait: Wait, before: ClusterStatus, now: float) -> WaitStatus:
    """Return a wait with the time since which it is there; a text that changes does not start it anew."""
    earlier = next((w for w in before.waiting if (w.subject, w.reason) == (wait.subject, wait.reason)), None)
    since = earlier.since if earlier and earlier.since else rfc3339(now)
    return WaitStatus(subject=wait.subject, reason=wait.reason, message=wait.message, since=since)


def conditions(facts: Facts, plan: Plan, before: ClusterStatus, now: float) -> list[Condition]:
    """Return the conditions: Ready, Reconciling and Stalled as kstatus defines them, Available and Upgrading."""
    obs = facts.obs
    stalled = next((w for w in plan.waits if w.stalled), None) or stuck_member(facts, plan)
    database = obs.database
    unknown = database.why if isinstance(database, Unknown) else ""
    serving = isinstance(database, Database) and database.health is not Health.RED
    available = "Unknown" if unknown else ("True" if serving else "False")
    reconciling = not plan.settled
    verdicts = [
        ("Ready", "True" if plan.settled else "False", "Settled" if plan.settled else "InProgress", plan.doing),
        ("Reconciling", "True" if reconciling else "False", "InProgress" if reconciling else "Settled", plan.doing),
        (
            "Stalled",
            "True" if stalled else "False",
            stalled.reason if stalled else "Moving",
            stalled.message if stalled else "",
        ),
        ("Available", available, availability(obs), unknown),
        (
            "Upgrading",
            "True" if upgrading(obs) else "False",
            "Version",
            f"to {obs.desired.version}" if upgrading(obs) else "",
        ),
    ]
    return [condition(obs, before, verdict, now) for verdict in verdicts]


def availability(obs: Observation) -> str:
    """Return the reason of the Available condition."""
    if isinstance(obs.database, Unknown):
        return "DatabaseUnknown"
    return "Serving" if obs.database.health is not Health.RED else "ShardsWithoutCopy"


def stuck_member(facts: Facts, plan: Plan) -> Wait | None:
    """Return the member that keeps a change from going on because it does not start."""
    for intent in plan.intents.values():
        member = facts.members.get(intent.member)
        if intent.state is State.DOWN and member is not None and facts.trouble(member):
            return Wait(intent.member, "MemberDoesNotStart", intent.sentence, stalled=True)
    return None


def condition(obs: Observation, before: ClusterStatus, verdict: tuple[str, str, str, str], now: float) -> Condition:
    """Return one condition; the transition time is kept while its status stays the same."""
    kind, value, reason, message = verdict
    earlier = next((c for c in before.conditions if c.type == kind), None)
    kept = earlier.last_transition_time if earlier is not None and earlier.status == value else ""
    return Condition(
        type=kind,
        status=value,
        reason=reason,
        message=message,
        observed_generation=obs.generation,
        last_transition_time=kept or rfc3339(now),
    )
