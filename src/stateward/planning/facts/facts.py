"""What follows at once from an observation, computed once and shared by all questions of the plan."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from stateward.planning.facts.protocol import switch_progress
from stateward.planning.facts.upgrade_gate import with_upgrade_held
from stateward.planning.facts.upgrade_order import creation_versions, pool_in_turn
from stateward.planning.facts.volume_fit import is_skipped, with_grown_sizes
from stateward.planning.model.database import TOO_LARGE, UNANSWERED
from stateward.planning.model.intent import Wait
from stateward.planning.model.observation import (
    Database,
    Effect,
    Member,
    Node,
    Observation,
    Pool,
    ProtocolSwitch,
    Unit,
    Unknown,
)
from stateward.planning.model.phase import BEGUN, Phase

ANSWER_PATIENCE = 60.0
"""Seconds without an answer of the database after which a user's request to stop one process is obeyed without one."""
TROUBLE_PATIENCE = 20.0
"""Seconds that a new pod may be unschedulable: often only until the volume of the previous pod is detached."""

OVERDUE = 600.0
"""Seconds after which a member that names no trouble and does not serve is taken not to come by waiting."""


class Facts(Struct, frozen=True):
    """An observation at a time, with the sets that every question needs."""

    obs: Observation
    now: float
    database: Database | None
    pools: Mapping[str, Pool]
    members: Mapping[str, Member]
    up: frozenset[str]
    """Members that serve: pod ready, and in the database with the version that their pod runs."""
    down: frozenset[str]
    """Members that have joined before, are still desired, and do not serve now, for any reason."""
    going: frozenset[str]
    """Members whose processes are restarting in their pods: they count as down until the restart ends."""
    turn: Pool | None
    """The pool that changes its version now."""
    versions: Mapping[str, str]
    """By pool: the version that its members should run now."""
    units: Mapping[str, tuple[Unit, ...]]
    """By member: the units that have a copy on it, or one on its way to it."""
    holders: Mapping[str, frozenset[str]]
    """By unit: the members with a live copy of it."""
    crossing: ProtocolSwitch = ProtocolSwitch.NONE
    """How far it is on the way to a version that does not talk to the deployed one."""
    held: Wait | None = None
    """What the upgrade that the spec asks for waits for before it begins; None if it may begin."""

    @property
    def formed(self) -> bool:
        """Return whether the cluster was ever formed: it answers now, or the status records it."""
        return self.database is not None or self.remembered

    @property
    def remembered(self) -> bool:
        """Return whether the status records that the cluster was formed, or that a member has ever joined it."""
        grant = self.obs.bootstrap
        return (grant is not None and grant.formed) or bool(self.obs.records)

    @property
    def needs_first_names(self) -> bool:
        """Whether the members of the spec get their first names, because no other ones could form the database.

        The disaster this prevents: the cluster file of FoundationDB names the first members as coordinators, a user
        asks to replace them before they were created, and no database can be created without them.
        """
        return self.obs.desired.formed_by_word and not self.formed

    def node(self, name: str) -> Node | None:
        """Return the database's node of the member; None if it is not in the cluster, or nothing is known."""
        return self.database.nodes.get(name) if self.database else None

    def units_of(self, name: str) -> tuple[Unit, ...]:
        """Return the units that have a copy on the member, or one on its way to it."""
        return self.units.get(name, ())

    def joined(self, name: str) -> bool:
        """Return whether the database lists the member now."""
        return self.node(name) is not None

    def took_part(self, name: str) -> bool:
        """Return whether a member has ever been in the database, as far as anything shows it."""
        voting = self.database is not None and name in self.database.voters
        return name in self.obs.records or self.joined(name) or voting or name in self.down

    def votes(self, member: Member) -> bool:
        """Return whether the member may vote, from the database, or else from its pool and what it was made for.

        Without a database the voting configuration is unknown: a manager of before the edit still counts.
        """
        node = self.node(member.name)
        if node is not None:
            return node.voting
        pool = self.pools.get(member.pool)
        recorded = member.was_made("voting") if self.database is None else member.name in self.database.voters
        return recorded or (pool is not None and pool.voting)

    def holds_data(self, member: Member) -> bool:
        """Return whether the member may hold data, from the database or else from its objects and its pool.

        The disaster this prevents: the spec takes the role from a pool, a member leaves the database before its data
        has moved, and is released with the last copy because its pool no longer holds data.
        """
        node = self.node(member.name)
        pool = self.pools.get(member.pool)
        return node.data if node is not None else pool is None or pool.data or member.was_made("data")

    def ephemeral(self, member: Member) -> bool:
        """Return whether the member loses its data with its pod.

        An unobserved claim is not an absent claim: a pod with a claim keeps its data on it, unless its pool uses no
        claims and the claim is one that the user has added to the pod. Nor does a claim count that the pod does not
        use. The disaster this prevents: someone creates a claim with the labels of a member that keeps the last copy of
        a shard in its pod, and the pod is deleted for the next change.
        """
        pool = self.pools.get(member.pool)
        if member.pod is None:
            return False
        if not member.pod.claims:
            return True
        return member.claim is None and pool is not None and pool.ephemeral

    def never_had_data(self, member: Member) -> bool:
        """Return whether no data was ever written on the member: it never ran, and its volume never existed.

        Such a member may leave without asking the database; otherwise a wrong storage class could not be corrected
        before the cluster is formed.
        """
        if self.took_part(member.name) and not self.begins_again(member):
            return False
        pod, claim = member.pod, member.claim
        unbound = claim.empty if claim is not None else pod is None or not pod.claims
        return unbound and (pod is None or not (pod.node or pod.running or pod.ready))

    def may_hold_data(self, member: Member) -> bool:
        """Return whether data may have been written on the member, so that its kind may not change under it.

        The disaster this prevents: a member is down when its pool loses the role data, and gets a template with which
        its process refuses to start on its own volume, which may hold the last copy of a shard. A member may have data
        although no status records that it has joined: the database was not available meanwhile, or its volume is from
        before the cluster was created again.
        """
        claim = member.claim
        kept = claim is not None and (claim.earlier or claim.state)
        return (self.formed or kept) and not self.never_had_data(member)

    def recorded(self, member: Member) -> bool:
        """Return whether the status records that the member has joined, and not an earlier one of its name."""
        return member.name in self.obs.records and not self.begins_again(member)

    def begins_again(self, member: Member) -> bool:
        """Return whether the record of a member is that of an earlier one: its volume is another, and does not exist.

        The disaster this prevents: the last step of a replacement fails, so the StatefulSet stays, and so does the
        record. The member is created again with a storage class that does not exist. As one that has joined before, it
        counts as the successor of others, and never leaves although the class is corrected.
        """
        if self.database is None or member.claim is None or not member.claim.empty:
            return False
        there = self.database.nodes.keys() | self.database.partial.keys() | self.database.voters
        return self.has_other_volume(member) and member.name not in there

    def has_other_volume(self, member: Member) -> bool:
        """Return whether a member that has joined has another volume now than it had then."""
        record = self.obs.records.get(member.name)
        return record is not None and record.other_volume(member.claim)

    def seconds_waited(self, subject: str, reason: str) -> float:
        """Return for how long, in seconds, something has waited for this reason, by the status; 0 if it has not."""
        since = self.obs.waits.get(f"{subject} {reason}")
        return 0.0 if since is None else max(0.0, self.now - since)

    @property
    def unanswered(self) -> bool:
        """Whether the database has not answered for so long that a user's request no longer waits for an answer.

        The disaster this prevents: one answer is lost on the way, and the member with the only copy of a shard stops.
        """
        waited = max(self.seconds_waited(self.obs.name, reason) for reason in (UNANSWERED, TOO_LARGE))
        return self.database is None and waited >= ANSWER_PATIENCE

    def phase(self, member: Member) -> Phase:
        """Return how far the restart of the member's process is."""
        return member.pod.phase if member.pod is not None and not member.pod.terminating else Phase.NONE

    def managed(self, member: Member) -> bool:
        """Return whether the member's process may be restarted in its pod: it has an agent, and the spec allows it."""
        return self.obs.desired.in_place and member.pod is not None and member.pod.agent

    def zone(self, name: str) -> str:
        """Return the zone that a member runs in or was last seen in; empty when that is not known."""
        member, record = self.members[name], self.obs.records.get(name)
        return (member.pod.zone if member.pod else "") or (record.zone if record else "")

    def age(self, name: str) -> float:
        """Return for how long, in seconds, the member has been in the state that the status names."""
        return max(0.0, self.now - self.obs.since.get(name, self.now))

    def seconds_not_serving(self, member: Member) -> float:
        """Return how long, in seconds, the member has not served; rather too short than too long.

        What the status remembers is from before: a member that serves now counts as back at once, also while its
        restart is not recorded as ended. The disaster this prevents: the database is silent for a while, answers again
        with all members, and one of them is recreated because it was away for so long.

        The time continues through all states. The disaster this prevents: each change of state resets it, and two steps
        that wait for a member alternately hand it to each other forever.
        """
        if self.database is not None and serves(member, self.database):
            return 0.0
        since = self.obs.away.get(member.name, self.now)
        return max(0.0, self.now - (since if member.pod is None else max(since, member.pod.created)))

    def away(self, member: Member) -> float | None:
        """Return since when the member does not serve; None while it does, or while the user keeps it stopped.

        While the database does not answer, no member counts as back: its pod may be ready without serving.
        """
        before = self.obs.away.get(member.name)
        known = self.database is not None or before is None
        if member.name in self.obs.stopped or (known and serves(member, self.database)):
            return None
        return self.now if before is None else before

    def overdue(self, member: Member) -> bool:
        """Return whether the member has not served for so long that waiting is no longer expected to help."""
        return self.seconds_not_serving(member) > OVERDUE

    def trouble(self, member: Member) -> str:
        """Return what keeps the member's pod from running and does not end by waiting a moment."""
        pod = member.pod
        if pod is None:
            return ""
        new = unschedulable(pod.trouble) and self.now - pod.created < TROUBLE_PATIENCE
        return "" if new else pod.trouble


def derive(obs: Observation, now: float) -> Facts:
    """Return the facts of an observation at time `now` (seconds since the epoch), members in one order.

    The observation in them is without an upgrade that may not begin yet, and without answers and records of a cluster
    that is lost or was deleted.
    """
    obs, held = with_upgrade_held(without_earlier_records(without_earlier_answer(obs)), now)
    obs = msgspec.structs.replace(
        obs,
        members=tuple(sorted(obs.members, key=lambda m: (m.pool, m.ordinal, m.name))),
        desired=with_grown_sizes(obs.desired, obs.members),
    )
    database = None if isinstance(obs.database, Unknown) else obs.database
    pools = {pool.name: pool for pool in obs.desired.pools}
    going = frozenset(m.name for m in obs.members if m.pod and not m.pod.terminating and m.pod.phase in BEGUN)
    up = frozenset(m.name for m in obs.members if serves(m, database)) - going
    step = switch_progress(obs, up, database)
    turn = None if step else pool_in_turn(obs, up)
    units, holders = index(database.units if database else ())
    return Facts(
        obs=obs,
        now=now,
        database=database,
        pools=pools,
        members={m.name: m for m in obs.members},
        up=up,
        down=frozenset(
            m.name for m in obs.members if m.name not in up and expected(obs, database, m, held=m.name in units)
        ),
        going=going,
        turn=turn,
        versions=creation_versions(obs, turn, database, step),
        units=units,
        holders=holders,
        crossing=step,
        held=held,
    )


def without_earlier_answer(obs: Observation) -> Observation:
    """Return the observation without an answer that only pods of a deleted cluster of this name have given.

    The disaster this prevents: a cluster is created again while the pods of the deleted one still end. Their last
    answer says that this cluster was formed, so its managers wait for it one after the other, and no message says which
    kept volumes it needs.
    """
    grant, database = obs.bootstrap, obs.database
    known = bool(obs.records) or bool(obs.deployed_version) or (grant is not None and grant.formed)
    if known or isinstance(database, Unknown) or not database.nodes:
        return obs
    if any(m.alive and m.pod is not None and not m.pod.terminating and m.name in database.nodes for m in obs.members):
        return obs
    why = "only pods of a deleted cluster of this name answer, which are about to end"
    return msgspec.structs.replace(obs, database=Unknown(why))


def without_earlier_records(obs: Observation) -> Observation:
    """Return the observation, at the first answer of a cluster, without records of members from a cluster that is lost.

    The disaster this prevents: a manager has joined a cluster that is lost. For the new one, the user deletes its
    claim, as the operator advises. By its record it has taken part and lost its volume, so its claim is never made.
    """
    grant, database = obs.bootstrap, obs.database
    if grant is None or grant.formed or isinstance(database, Unknown):
        return obs
    there = database.nodes.keys() | database.partial.keys() | database.voters
    claims = {m.name: m.claim for m in obs.members if m.name not in there}
    kept = {n: r for n, r in obs.records.items() if n not in claims or not r.lost_volume(claims[n])}
    return msgspec.structs.replace(obs, records=kept)


def index(units: tuple[Unit, ...]) -> tuple[dict[str, tuple[Unit, ...]], dict[str, frozenset[str]]]:
    """Return the units by member, and the members with a live copy by unit; computed once, because it is read often."""
    found: dict[str, list[Unit]] = {}
    holders: dict[str, frozenset[str]] = {}
    for unit in units:
        live: list[str] = []
        here: set[str] = set()
        for copy in unit.copies:
            here.add(copy.member)
            if copy.target:
                here.add(copy.target)
            if copy.live:
                live.append(copy.member)
        here.discard("")
        for name in here:
            found.setdefault(name, []).append(unit)
        holders[unit.name] = frozenset(live)
    return {name: tuple(mine) for name, mine in found.items()}, holders


def expected(obs: Observation, database: Database | None, member: Member, *, held: bool) -> bool:
    """Return whether the cluster depends on a member that has joined, now or before.

    The disaster this prevents: the record that a member has joined is not written yet, the member's pod is replaced,
    and another member stops while it is not ready. Or its Kubernetes node is lost before the record is written: then
    the last report of its kubelet is all that shows that it served.

    A member whose StatefulSet was removed or scaled to zero counts as long as it has data or a vote, or while it will
    be created again because its pool has too few: no other member may stop in its place.
    """
    there = database is not None and (member.name in database.nodes or member.name in database.partial)
    if member.name not in obs.records and not there and not is_lost_after_serving(obs, database, member):
        return False
    if member.alive or (database is not None and (held or member.name in database.voters)):
        return True
    pool = next((pool for pool in obs.desired.pools if pool.name == member.pool), None)
    if pool is None or (is_skipped(pool, member, database) and not member.present):
        return False
    return sum(m.alive for m in obs.members if m.pool == member.pool) < pool.replicas


def is_lost_after_serving(obs: Observation, database: Database | None, member: Member) -> bool:
    """Return whether a member was ready when its Kubernetes node was lost, so that it has been in the cluster.

    Before the cluster was formed this shows nothing: a process of FoundationDB is ready as soon as it listens, and a
    record of it would say that there is a cluster, which then would never be formed.
    """
    formed = database is not None or (obs.bootstrap is not None and obs.bootstrap.formed)
    return formed and member.pod is not None and member.pod.served and not member.pod.node_ready


def serves(member: Member, database: Database | None) -> bool:
    """Return whether a member serves.

    A live process proves nothing: a node of the wrong version stays alive and never joins. So if the database answers,
    the member must be listed, with a version whose programs are in its pod.
    """
    pod = member.pod
    if pod is None or pod.terminating or not pod.ready:
        return False
    if database is None:
        return True
    node = database.nodes.get(member.name)
    return node is not None and (not pod.version or node.version in (pod.version, pod.beside))


def disrupts(effect: Effect) -> bool:
    """Return whether an effect stops the member for a while."""
    return effect >= Effect.RESTART


def unschedulable(trouble: str) -> bool:
    """Return whether the scheduler finds no node for the pod: a departure may make room for it."""
    return trouble.startswith("Unschedulable")
