"""One cluster in which every action succeeds, each after its usual time.

No failure is modelled: a new pod starts, and a copy that may move arrives. A broken object, such as a pod whose
image cannot be pulled, stays broken until it is recreated. A rehearsal adds failures (`simulation/rehearsal`).
"""

from collections.abc import Mapping
from functools import partial
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from stateward.forecast.copies import Copies
from stateward.forecast.durations import RECENTLY, Durations, News
from stateward.forecast.event_queue import EventQueue
from stateward.forecast.members import Members
from stateward.forecast.processes import Processes
from stateward.planning.facts.facts import derive
from stateward.planning.facts.volume_fit import keeps_roles
from stateward.planning.model import actions as a
from stateward.planning.model.observation import (
    Allocation,
    Bootstrap,
    Database,
    Health,
    Member,
    Node,
    Observation,
    Pod,
    Pool,
    Record,
    Removal,
    Restore,
    Unit,
    Unknown,
)
from stateward.planning.plan import Plan
from stateward.planning.steps.membership.automatic_scaling import with_fixed_sizes
from stateward.planning.steps.upkeep.disk_use import LARGEST_PERCENT


class Event(Struct, frozen=True):
    """The end of a step: `joined`, `gone`, `grown` or `emptied` for a member, or `whole` for the database."""

    at: float
    what: str
    member: str = ""


class TimedWorld:
    """One cluster with its members and its database, initialized from an observation."""

    def __init__(self, start: Observation, now: float, durations: Durations) -> None:
        self.queue = EventQueue(now)
        self.news = News.NOTHING
        """What has happened that triggers a reconciliation."""
        self.log: list[Event] = []
        self._stepped = -inf
        """When the last step ended that Kubernetes reports."""
        # When the snapshot before an upgrade comes is not known: the forecast begins with the upgrade itself.
        start = with_fixed_sizes(replace(start, desired=replace(start.desired, snapshot_gate=None)), now)
        self._durations, self._obs = durations, start
        database = self._database = start.database if isinstance(start.database, Database) else None
        self._waiting: set[str] = set()
        """Members whose process waits for a cluster to join."""
        self._members = Members(self.queue, durations, start, self)
        self._processes = Processes(self.queue, durations, self._members, self)
        units = database.units if database else ()
        self._copies = Copies(self.queue, durations, units, self._copies_settled, self._unit_changed)
        if database is not None:
            self._copies.nodes = dict(database.nodes)
            self._copies.draining, self._copies.allocation = database.draining, database.allocation
            self._copies.begin()
        zones = {name: record.zone for name, record in start.records.items()}
        self._members.begin(start.members, zones, self._copies.nodes)
        self._update_deployed_version()

    def observation(self) -> Observation:
        """Return the current observation."""
        members = tuple(self._members.all[name] for name in sorted(self._members.all))
        seen = replace(self._obs, members=members, settled_writes=True, live=True)
        return self._processes.with_processes(replace(seen, database=self._answer(seen)))

    def _answer(self, seen: Observation) -> Database | Unknown:
        """Return the database's answer about itself, beside the other parts of an observation."""
        if self._database is None:
            return seen.database
        return replace(self._database, nodes=dict(self._copies.nodes), units=tuple(self._copies.units.values()))

    @property
    def closely(self) -> bool:
        """Whether the operator looks every second: a process restarts in its pod, or a step has just ended.

        After a step it does so for copies that recover, but not for those that move away from a drained member.
        """
        restarts = any(member.pod is not None and member.pod.phase for member in self._members.all.values())
        return restarts or (self.queue.now < self._stepped + RECENTLY and not self._copies.draining)

    def record_states(self, states: Mapping[str, str]) -> None:
        """Record the state of each member, and since when it has it, as the status does."""
        now, before = self.queue.now, self._obs
        since = {n: before.since.get(n, now) if before.states.get(n) == s else now for n, s in states.items()}
        facts = derive(self.observation(), now)
        away = {m.name: when for m in facts.obs.members if (when := facts.away(m)) is not None}
        self._obs = replace(before, states=dict(states), since=since, away=away)

    def record_waits(self, made: Plan) -> None:
        """Record since when each thing waits, as the status does."""
        subjects = (f"{wait.subject} {wait.reason}" for wait in made.waits)
        before = self._obs
        self._obs = replace(before, waits={each: before.waits.get(each, self.queue.now) for each in subjects})

    def apply(self, action: a.Action) -> None:
        """Perform an action."""
        members = self._members
        match action:
            case a.Create():
                members.create(action)
            case a.Stage():
                members.stage(action)
            case a.DeletePod():
                members.end(action.member)
            case a.Release():
                members.release(action.member)
                self._update_deployed_version()
            case a.DeleteMember():
                members.forget(action.member)
            case (
                a.DeleteVolume()
                | a.GrowVolume()
                | a.MarkVolume()
                | a.MarkState()
                | a.ForgetState()
                | a.RetainVolume()
                | a.OwnVolume()
            ):
                members.volume(action)
            case a.GrantBootstrap():
                seconds = members.granted(action.member)
                self.queue.after(seconds, partial(self._form, action.member))
            case a.RecordBootstrap() | a.RecordRemoval() | a.CancelRemoval():
                self._record(action)
            case _:
                self._apply_other(action)

    def _apply_other(self, action: a.Action) -> None:
        if not self._processes.apply(action) and not self._end_episode(action):
            self._apply_to_database(action)

    def _end_episode(self, action: a.Action) -> bool:
        """Remove a request that is fulfilled or not needed; return whether the action was such a removal."""
        if isinstance(action, a.ClearSchedule):
            self._obs = replace(self._obs, schedule=None)
        elif isinstance(action, a.ClearConsent):
            self._obs = replace(self._obs, bootstrap_again=False)
        elif isinstance(action, a.DeleteConfiguration):
            self._obs = replace(self._obs, orphans=())
        elif isinstance(action, a.RestoreSnapshot):  # How much there is to restore is not known.
            self._obs = replace(self._obs, restore=Restore("", done=True))
        else:
            return False
        return True

    def _unit_changed(self, unit: Unit) -> None:
        """React to a change of a unit's copies."""

    # Events of the members.

    @property
    def formed(self) -> bool:
        """Whether the cluster is formed."""
        return self._database is not None

    def started(self, member: Member, pod: Pod) -> None:
        """Let a member with a running process join, or wait for the cluster."""
        name = member.name
        self.news = News.EVENT
        if self._database is None:
            self._waiting.add(name)
            self._members.all[name] = replace(member, pod=replace(pod, running=True))
            return
        self._waiting.discard(name)
        pod = replace(pod, running=True, ready=True, node_ready=True)
        self._members.all[name] = replace(member, pod=pod)
        self._copies.node_joined(
            node_of(member, pod, self._members.pools.get(member.pool), self._copies.nodes.get(name))
        )
        self._revote()
        self._record_join(member, pod)
        self.happened("joined", name)
        if not self._copies.busy:
            self.happened("whole")

    def left(self, member: Member) -> None:
        """Remove a member from the database; its data stays."""
        if member.name in self._copies.nodes:
            self._copies.node_left(member.name)
            self._revote()

    def stopped(self, member: Member) -> None:
        """Remove a member from the database, and its data too if it is ephemeral."""
        self.left(member)
        if member.claim is None:
            self._copies.forget(member.name)

    def grown(self, name: str, before: int, after: int) -> None:
        """Let the disk of a member grow with its volume, if it is its volume."""
        node = self._copies.nodes.get(name)
        if node is not None and 0 < node.disk_total <= before * LARGEST_PERCENT // 100:
            total = node.disk_total * after // before
            free = node.disk_free + total - node.disk_total
            self._copies.nodes[name] = replace(node, disk_total=total, disk_free=free)
        self.happened("grown", name)

    def happened(self, what: str, member: str = "") -> None:
        """Record the end of a step that Kubernetes reports."""
        self.news = News.EVENT
        self._stepped = self.queue.now
        self._noted(what, member)

    def _noted(self, what: str, member: str = "") -> None:
        self.log.append(Event(self.queue.now, what, member))

    # The database.

    def _apply_to_database(self, action: a.Action) -> None:
        database = self._database
        if database is None:
            return
        match action:
            case a.LimitAllocation():
                database = replace(database, allocation=action.allocation, limited=True)
            case a.RestoreAllocation():
                database = replace(database, allocation=Allocation.ALL, limited=False)
            case a.Drain():
                database = replace(database, draining=action.members)
            case a.ExcludeVoters():
                database = replace(database, voting_exclusions=action.members)
            case a.ResumeBalancing():
                database = replace(database, balance_paused=False)
            case a.ConfigureDatabase():
                database = replace(database, pending_settings="")
            case a.MoveCopies():
                database = replace(database, balance_paused=True)
                for move in action.moves:
                    self._copies.move(move.unit, move.origin, move.target)
            case _:
                return
        self._database = database
        self._copies.draining, self._copies.allocation = database.draining, database.allocation
        self._copies.route()
        self._revote()

    def _copies_settled(self) -> None:
        """Record that all copies have settled, or those of a drained member."""
        self.news = self.news or News.SILENT
        if not self._copies.busy:
            self._noted("whole")
        draining = self._database.draining if self._database is not None else frozenset[str]()
        for name in sorted(draining):
            if self._copies.empty(name):
                self._noted("emptied", name)

    def _form(self, name: str) -> None:
        grant = self._obs.bootstrap
        self._database = Database(identity="formed", health=Health.GREEN, nodes={}, leader=name)
        formed = Bootstrap(member=name, volume=grant.volume if grant else "", formed=True)
        self._obs = replace(self._obs, bootstrap=formed)
        for waiting in sorted(self._waiting | {name}):
            member = self._members.all.get(waiting)
            if member is not None and member.pod is not None and not member.pod.terminating:
                self.started(member, member.pod)

    def _revote(self) -> None:
        database = self._database
        if database is not None:
            voting = frozenset(node.name for node in self._copies.nodes.values() if node.voting)
            voters = voting - database.voting_exclusions
            able = voters - {node.name for node in self._copies.nodes.values() if not node.electable}
            leader = database.leader if database.leader in able else min(able, default="")
            self._database = replace(database, voters=voters, nameless=frozenset(), leader=leader)

    # Records in the status.

    def _record(self, action: a.RecordBootstrap | a.RecordRemoval | a.CancelRemoval) -> None:
        if isinstance(action, a.RecordBootstrap):
            grant = Bootstrap(member=action.member, volume=action.volume, formed=False)
            self._obs = replace(self._obs, bootstrap=grant)
            return
        listed = {name: found for name, found in self._obs.removals.items() if name != action.member}
        if isinstance(action, a.RecordRemoval):
            claim = self._members.all[action.member].claim
            listed[action.member] = Removal(action.why, self.queue.now, volume=claim.ref.uid if claim else "")
        self._obs = replace(self._obs, removals=listed)

    def _record_join(self, member: Member, pod: Pod) -> None:
        """Record that a member has joined, and the deployed version once all members have it."""
        volume = member.claim.ref.uid if member.claim is not None else ""
        record = Record(self._copies.nodes[member.name].version, volume, "" if volume else pod.ref.uid, zone=pod.zone)
        self._obs = replace(self._obs, records={**self._obs.records, member.name: record})
        self._update_deployed_version()

    def _update_deployed_version(self) -> None:
        wanted, nodes = self._obs.desired.version, self._copies.nodes
        mine = [m for m in self._members.all.values() if m.alive]
        complete = bool(mine) and len(mine) >= sum(pool.replicas for pool in self._obs.desired.pools)
        if complete and all(m.name in nodes and nodes[m.name].version == wanted for m in mine):
            self._obs = replace(self._obs, deployed_version=wanted)


def node_of(member: Member, pod: Pod, pool: Pool | None, known: Node | None) -> Node:
    """Return the database node of a member: as it was made, or else as its pool defines it, or else as it was.

    The disaster this prevents: a pool gets other roles, and in the plan its members come back from a restart with
    these, which only their successors get.
    """
    total, free = (known.disk_total, known.disk_free) if known else (0, 0)
    version = pod.version or (known.version if known else "")
    if member.made_for is not None and (pool is None or keeps_roles(pool, member)):
        data, voting, electable = member.was_made("data"), member.was_made("voting"), not member.was_made("voting_only")
    elif pool is not None:
        data, voting, electable = pool.data, pool.voting, pool.electable
    else:
        data, voting, electable = (known.data, known.voting, known.electable) if known else (True, False, True)
    return Node(member.name, version, data, voting, total, free, electable=electable)
