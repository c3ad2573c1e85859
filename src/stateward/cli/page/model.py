"""What the page shows of clusters, as records that become its JSON: pure, from what `list` and `status` read.

Times are seconds since the epoch, 0 if there is none; the page shows them as ages.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import MemberStatus, WaitStatus
from stateward.api.values.conditions import stalled
from stateward.cli.page.shards import MemberData, Shard, Summary
from stateward.cli.page.tone import Tone, state_word, tone_of_health, tone_of_member
from stateward.cli.page.verbs import CLUSTER_VERBS, Verb, member_verbs
from stateward.cli.shared.absent import missing_members, what_happens
from stateward.cli.shared.advice import UNKNOWN
from stateward.cli.shared.picture import version
from stateward.cli.status.advice import ADVICE
from stateward.cli.status.explanation import idle, standing
from stateward.operator.objects.kinds import kind_of

NO_ZONE = "no zone"
NO_OPERATOR = "no operator has observed this cluster yet; check that one is running"


class Row(Struct, frozen=True, rename="camel"):
    """One cluster in the list."""

    ref: str
    """Identifies it: namespace, engine and name with slashes between them."""
    namespace: str
    name: str
    engine: str
    version: str
    health: str
    tone: Tone
    ready: int
    desired: int
    waits: int
    activity: str
    stalled: bool
    """Whether manual intervention is required."""
    paused: bool
    created: float
    urgency: int
    """How far up it belongs, 0 first: see `urgency_of`."""


class MemberCard(Struct, frozen=True, rename="camel"):
    """One member."""

    name: str
    short: str
    """Its name without the cluster's."""
    pool: str
    zone: str
    node: str
    state: str
    tone: Tone
    version: str
    current: bool
    """Whether it has the version of the spec."""
    leader: bool
    pending: str
    reason: str
    since: float
    missing: float
    """Since when it is missing."""
    next: str
    """What happens to it if it is missing, and no step of the operator has stopped it."""
    shards: tuple[Shard, ...]
    """The first of them; `shard_count` is the number of all, `primaries` and `moving` of those of a kind."""
    shard_count: int
    primaries: int
    moving: int
    shards_known: bool
    disk_used: int
    disk_total: int
    """Bytes; 0 if they are not known."""
    verbs: tuple[Verb, ...]


class PoolCard(Struct, frozen=True, rename="camel"):
    """One pool."""

    name: str
    ready: int
    desired: int
    version: str
    upgrade: str


class Held(Struct, frozen=True, rename="camel"):
    """Something that waits, and for what."""

    subject: str
    message: str
    since: float


class Pending(Struct, frozen=True, rename="camel"):
    """What waits for one reason: what ends it, and what a person can do, in the words of `explain`."""

    reason: str
    held: tuple[Held, ...]
    ends: str
    do: str


class Removing(Struct, frozen=True, rename="camel"):
    """A member that leaves or is replaced."""

    name: str
    origin: str
    phase: str
    reason: str
    since: float


class Certificates(Struct, frozen=True, rename="camel"):
    """The certificates of a cluster, and when they expire."""

    secured: bool
    reason: str
    expire: float
    renewal: float
    ca_expires: float
    rotation: str


class Detail(Struct, frozen=True, rename="camel"):
    """One cluster."""

    row: Row
    kind: str
    standing: str
    """Version, members and health in one sentence."""
    deployed: str
    wanted: str
    current: int
    """Members that have the wanted version."""
    total: int
    """Members that do not leave."""
    stalled: str
    """Why a person is needed; empty if none is."""
    observed: bool
    """Whether the operator has seen the latest spec."""
    progress: float
    zones: tuple[str, ...]
    pools: tuple[PoolCard, ...]
    members: tuple[MemberCard, ...]
    waits: tuple[Pending, ...]
    idle: str
    """What to say if nothing waits and nothing is missing or leaves."""
    removals: tuple[Removing, ...]
    certificates: Certificates
    shards: int
    unassigned: int
    """Copies of shards that no member has."""
    data_known: bool
    """Whether the database has answered; otherwise the numbers of shards are zeros that say nothing."""
    notes: tuple[str, ...]
    """What could not be read, and so is not shown."""
    verbs: tuple[Verb, ...]


def ref_of(cluster: Cluster) -> str:
    """Return what identifies a cluster on the page."""
    return f"{cluster.metadata.namespace}/{kind_of(cluster).engine}/{cluster.metadata.name}"


def row_of(cluster: Cluster) -> Row:
    """Return a cluster's line of the list."""
    meta, status = cluster.metadata, cluster.status
    paused = paused_by_user(cluster)
    held = "paused; " if paused and "paused" not in status.activity else ""
    return Row(
        ref=ref_of(cluster),
        namespace=meta.namespace,
        name=meta.name,
        engine=kind_of(cluster).engine,
        version=version(cluster),
        health=status.health or "unknown",
        tone=tone_of_health(status.health),
        ready=status.members.ready,
        desired=status.members.desired,
        waits=len(status.waiting),
        activity=f"{held}{status.activity}" or NO_OPERATOR,
        stalled=stalled(status.conditions) is not None,
        paused=paused,
        created=seconds(meta.creation_timestamp),
        urgency=urgency_of(cluster),
    )


def urgency_of(cluster: Cluster) -> int:
    """Return 0 for a cluster that needs a user, 1 if something is missing or unknown, 2 if it changes, 3 if settled."""
    status = cluster.status
    if stalled(status.conditions) is not None or status.health == "red":
        return 0
    if tone_of_health(status.health) is Tone.UNKNOWN or any(missing_members(cluster)):
        return 1
    settled = any(each.type == "Ready" and each.status == "True" for each in status.conditions)
    return 3 if settled and not status.waiting and status.health == "green" else 2


def detail_of(cluster: Cluster, seen: Summary | None = None, notes: Sequence[str] = ()) -> Detail:
    """Return everything about a cluster.

    `seen` is what its database reports; None if that is not known. `notes` name what could not be read.
    """
    status = cluster.status
    stuck = stalled(status.conditions)
    cards = tuple(card_of(cluster, member, seen) for member in status.member_states)
    leaving = {removal.name for removal in status.pending_removals}
    staying = [card for card in cards if card.name not in leaving]
    return Detail(
        row=row_of(cluster),
        kind=cluster.kind,
        standing=standing(cluster) if status.conditions else NO_OPERATOR,
        deployed=status.version,
        wanted=cluster.spec.version,
        current=sum(card.current for card in staying),
        total=len(staying),
        stalled=f"{stuck.reason}: {stuck.message}" if stuck is not None else "",
        observed=status.observed_generation >= cluster.metadata.generation,
        progress=seconds(status.last_progress_time),
        zones=tuple(sorted({card.zone for card in cards}, key=lambda zone: (zone == NO_ZONE, zone))),
        pools=tuple(PoolCard(p.name, p.ready, p.desired, p.version, p.upgrade) for p in status.pools),
        members=cards,
        waits=tuple(pending(status.waiting)),
        idle=idle(cluster),
        removals=tuple(
            Removing(r.name, r.origin or "", r.phase or "", r.reason or "", seconds(r.start_time))
            for r in status.pending_removals
        ),
        certificates=certificates_of(cluster),
        shards=seen.shards if seen is not None else 0,
        unassigned=seen.unassigned if seen is not None else 0,
        data_known=seen is not None,
        notes=tuple(notes),
        verbs=tuple(verb for verb in CLUSTER_VERBS if verb.name != ("pause" if row_of(cluster).paused else "resume")),
    )


def card_of(cluster: Cluster, member: MemberStatus, seen: Summary | None) -> MemberCard:
    """Return a member's card."""
    name = cluster.metadata.name
    data = seen.members.get(member.name, MemberData()) if seen is not None else MemberData()
    return MemberCard(
        name=member.name,
        short=member.name.removeprefix(f"{name}-"),
        pool=member.pool,
        zone=member.zone or NO_ZONE,
        node=member.node,
        state=state_word(member),
        tone=tone_of_member(member),
        version=member.version,
        current=member.version == cluster.spec.version,
        leader=seen is not None and seen.leader == member.name,
        pending=member.pending,
        reason=member.reason,
        since=seconds(member.last_transition_time),
        missing=seconds(member.missing_since_time),
        next=what_happens(cluster, member) if member in missing_members(cluster) else "",
        shards=data.first,
        shard_count=data.shards,
        primaries=data.primaries,
        moving=data.moving,
        shards_known=seen is not None,
        disk_used=data.disk_used,
        disk_total=data.disk_total,
        verbs=member_verbs(cluster, member.name),
    )


def pending(waits: Iterable[WaitStatus]) -> Iterator[Pending]:
    """Yield the waits by reason, each with its advice."""
    by_reason: dict[str, list[Held]] = {}
    for wait in waits:
        by_reason.setdefault(wait.reason, []).append(Held(wait.subject, wait.message, seconds(wait.since_time)))
    for reason, held in by_reason.items():
        advice = ADVICE.get(reason, UNKNOWN)
        yield Pending(reason, tuple(held), advice.ends, advice.do)


def certificates_of(cluster: Cluster) -> Certificates:
    """Return whether a cluster is secured, and until when."""
    found = cluster.status.security
    if found is None:
        return Certificates(secured=False, reason="", expire=0.0, renewal=0.0, ca_expires=0.0, rotation="")
    return Certificates(
        secured=found.enabled,
        reason=found.reason,
        expire=seconds(found.certificates_expiration_time),
        renewal=seconds(found.renewal_time),
        ca_expires=seconds(found.ca_expiration_time),
        rotation=found.ca_rotation,
    )


def paused_by_user(cluster: Cluster) -> bool:
    """Return whether a user holds all changes of a cluster."""
    return cluster.spec.update is not None and bool(cluster.spec.update.paused)


def seconds(time: str | None) -> float:
    """Return an RFC 3339 time as seconds since the epoch; 0 if there is none."""
    try:
        return datetime.fromisoformat(time or "").timestamp()
    except ValueError:
        return 0.0
