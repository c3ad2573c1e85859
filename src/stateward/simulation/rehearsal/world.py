"""The world of a forecast, with faults, as the operator would observe them.

    power or network lost ──30 s──▶ the database drops the members ──▶ node not ready (40 s) ──300 s──▶ pods evicted
    volume lost ──▶ the process ends ──▶ it starts with an empty volume, or its pod crashes until it is replaced

In the first seconds after a loss the database and Kubernetes still report what was: the operator then acts on an old
picture, as it does in reality. Without a majority of the voting configuration the database does not answer, and neither
drops nor accepts members. Not modelled: partitions in which both sides see the operator, and slow disks.
"""

from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from stateward.forecast.durations import Durations, News
from stateward.forecast.world import TimedWorld
from stateward.planning.facts.facts import derive
from stateward.planning.facts.missing_members import missing, still_missing
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Database, Member, Observation, Pod, Unit, Unknown
from stateward.planning.plan import Plan
from stateward.planning.steps.membership.replacement import missing_since
from stateward.simulation.opensearch.voting import quorum, reconfigure
from stateward.simulation.rehearsal.faults import Fault, Kind
from stateward.simulation.rehearsal.measures import Measures

DETECTED = 30.0
"""Seconds until the database drops a node that is silent. Source: `cluster.fault_detection.follower_check`, three
checks of ten seconds."""
NOT_READY = 40.0
"""Seconds until Kubernetes marks a node that is silent. Source: `--node-monitor-grace-period`."""
TOLERATED = 300.0
"""Seconds until pods of such a node are deleted. Source: the toleration that Kubernetes adds to pods."""
GRACE = 30.0
"""Seconds that a pod has to end, by default."""
REJOIN = 5.0
"""Seconds until a process that ran on is in the database again."""
TROUBLE = "CrashLoopBackOff: back-off restarting failed container (its volume has an input/output error)"
SILENT = "there is no elected manager"


class RehearsedWorld(TimedWorld):
    """One cluster with faults."""

    def __init__(self, start: Observation, now: float, durations: Durations, faults: Iterable[Fault] = ()) -> None:
        database = start.database if isinstance(start.database, Database) else None
        self.measures = Measures(lambda: now, database.units if database else ())
        self.disturbed = False
        """Whether a fault has occurred."""
        self.pending = 0
        """Faults that have not occurred yet."""
        self._gone: dict[str, None] = {}
        """Members whose departure the database has not processed: it has no elected manager."""
        self._arriving: dict[str, None] = {}
        """Members that wait for an elected manager to join."""
        self._configuration = tuple(sorted(database.voters)) if database else ()
        super().__init__(start, now, durations)
        self.measures.now = lambda: self.queue.now
        for fault in faults:
            self.pending += 1
            self.queue.after(fault.at, partial(self._strike, fault))

    @property
    def elected(self) -> bool:
        """Whether the database has an elected manager; it is only lost by a fault."""
        nodes = self._copies.nodes
        live = {name for name, node in nodes.items() if node.voting and name not in self._gone}
        live |= {name for name in self._arriving if name in self._configuration}
        return not self.disturbed or not self._configuration or quorum(self._configuration, live)

    def observation(self) -> Observation:
        """Return what the operator would observe now."""
        seen = super().observation()
        if not isinstance(seen.database, Database):
            return seen
        if not self.elected:
            return replace(seen, database=Unknown(SILENT))
        voters = frozenset(self._configuration) if self.disturbed else seen.database.voters
        return replace(seen, database=replace(seen.database, health=self.measures.health, voters=voters))

    def recover(self) -> None:
        """Let recoveries end that need no operator, while shards lack copies."""
        while (self.measures.red.on or self.measures.single.on) and not self.queue.empty:
            self.queue.step()

    def record(self, made: Plan) -> None:
        """Record what the status would: states, waits, and since when members are missing."""
        self.record_states({name: intent.state.value for name, intent in made.intents.items()})
        facts, before = derive(self.observation(), self.queue.now), self._obs
        since, causes = dict[str, float](), dict[str, str]()
        for member in facts.obs.members:
            found, cause = missing(facts, member), before.causes.get(member.name, "")
            if found is not None:
                since[member.name], causes[member.name] = missing_since(facts, member, found), found.cause.value
            elif still_missing(facts, member, cause):
                since[member.name], causes[member.name] = before.missing[member.name], cause
        subjects = (f"{wait.subject} {wait.reason}" for wait in made.waits)
        waits = {each: before.waits.get(each, self.queue.now) for each in subjects}
        self._obs = replace(before, missing=since, causes=causes, waits=waits)

    # The database.

    def started(self, member: Member, pod: Pod) -> None:
        """Let a member join, or wait until the database has an elected manager to accept it."""
        if not self.formed:
            super().started(member, pod)
            return
        self._arriving[member.name] = None
        self._members.all[member.name] = replace(member, pod=replace(pod, running=True))
        self._elect()

    def left(self, member: Member) -> None:
        """Remove a member from the database, or once it has an elected manager again."""
        name = member.name
        self._arriving.pop(name, None)
        if name in self._copies.nodes:
            self.measures.member(name, up=not member.alive)
            self._gone[name] = None
            self._elect()

    def stopped(self, member: Member) -> None:
        """Remove a member from the database, with its data if that is ephemeral; a member that leaves is not down."""
        super().stopped(member)
        if not member.alive:
            self.measures.member(member.name, up=True)

    def _elect(self) -> None:
        """Process departures and arrivals, if a majority of the voting configuration is there."""
        elected = self.elected
        self.measures.quorum(present=elected)
        if not elected:
            self.news = self.news or News.SILENT
            return
        gone, self._gone = self._gone, {}
        arriving, self._arriving = self._arriving, {}
        for name in gone:
            self._copies.node_left(name)
        for name in arriving:
            member = self._members.all.get(name)
            if member is not None and member.pod is not None and not member.pod.terminating:
                super().started(member, member.pod)
                self.measures.member(name, up=True)
        if gone and not arriving:
            self._revote()

    def _apply_to_database(self, action: a.Action) -> None:
        if self.elected:
            super()._apply_to_database(action)

    def _revote(self) -> None:
        super()._revote()
        database = self._database
        if database is not None:
            live = [node.name for node in self._copies.nodes.values() if node.voting]
            before = self._configuration or tuple(sorted(database.voters))
            self._configuration = reconfigure(before, live, database.voting_exclusions, database.leader)

    def _unit_changed(self, unit: Unit) -> None:
        self.measures.unit(unit)

    # Faults.

    def _strike(self, fault: Fault) -> None:
        self.disturbed, self.pending = True, self.pending - 1
        names = [name for name in fault.members if name in self._members.all]
        if fault.kind is Kind.DISK:
            for name in names:
                self._lose_volume(name, fault)
            return
        for name in names:
            self._members.cut_off(name)
            self.measures.member(name, up=name not in self._copies.nodes)
        self._reach()
        outages = {name: self._members.outages[name] for name in names}
        steps = ((DETECTED, self._drop), (NOT_READY, self._not_ready), (NOT_READY + TOLERATED, self._evict))
        for seconds, step in steps:
            if seconds < fault.seconds:
                self.queue.after(seconds, partial(step, outages, fault))
        if not fault.lasting:
            self.queue.after(fault.seconds, partial(self._restore, outages, fault))

    def _still_out(self, outages: dict[str, int]) -> list[Member]:
        """Return the members that this fault keeps away, as far as they exist."""
        out = self._members.unreachable
        same = [name for name, number in outages.items() if name in out and self._members.outages[name] == number]
        return [self._members.all[name] for name in same if name in self._members.all]

    def _drop(self, outages: dict[str, int], fault: Fault) -> None:
        del fault
        self.news = self.news or News.SILENT
        for member in self._still_out(outages):
            self.left(member)

    def _not_ready(self, outages: dict[str, int], fault: Fault) -> None:
        for member in self._still_out(outages):
            node = member.pod.node if member.pod is not None else ""
            self._members.node_not_ready(member.name, node or node_name(fault))

    def _evict(self, outages: dict[str, int], fault: Fault) -> None:
        del fault
        for member in self._still_out(outages):
            self._members.evict(member.name, GRACE)

    def _restore(self, outages: dict[str, int], fault: Fault) -> None:
        back = self._still_out(outages)
        for member in back:
            restarted = fault.kind is Kind.NODE
            if restarted:
                self.left(member)  # A process that ended at once is not in the database either.
            stopped = self._processes.resume(member.name)
            again = self._durations.start_of(member.pool, member.name) if restarted else REJOIN
            self._members.back(member.name, None if stopped else again)
        for name in outages.keys() - {member.name for member in back}:
            self._members.unreachable.discard(name)
        self._reach()

    def _reach(self) -> None:
        """Let the database and the measures know which machines are silent."""
        silent = frozenset(self._members.unreachable)
        self.measures.unreachable(silent)
        self._copies.reach_all_but(silent)

    def _lose_volume(self, name: str, fault: Fault) -> None:
        member = self._members.all[name]
        if member.claim is None or name in self._members.unreachable:
            return
        if fault.lasting:
            self._members.broken[name] = TROUBLE
        self._members.stumble(name, self._durations.start_of(member.pool, name))
        self.left(member)
        self._copies.forget(name)


def node_name(fault: Fault) -> str:
    """Return the name of the node that fails; a word for one whose name is not known."""
    return fault.place.removeprefix("node ") if fault.place.startswith("node ") else "(unknown)"
