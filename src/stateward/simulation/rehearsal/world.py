"""The world of a forecast, with faults, as the operator would observe them.

    power or network lost ──▶ the database drops the members ──▶ node not ready (40 s) ──300 s──▶ pods evicted
    volume lost ──▶ the process ends ──▶ it starts with an empty volume, or its pod crashes until it is replaced

In the first seconds after a loss the database and Kubernetes still report what was: the operator then acts on an old
picture, as it does in reality. What the database does is up to its rules: `search` and `foundationdb` extend this.
Not modelled: partitions in which both sides see the operator, and slow disks.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from stateward.forecast.durations import Durations
from stateward.forecast.world import TimedWorld
from stateward.planning.facts.facts import derive
from stateward.planning.facts.missing_members import missing, still_missing
from stateward.planning.model.observation import Member, Observation
from stateward.planning.plan import Plan
from stateward.planning.steps.membership.pacing import maintenance_end
from stateward.planning.steps.membership.replacement import missing_since
from stateward.simulation.rehearsal.faults import Fault, Kind
from stateward.simulation.rehearsal.measures import Measures

NOT_READY = 40.0
"""Seconds until Kubernetes marks a node that is silent. Source: `--node-monitor-grace-period`."""
TOLERATED = 300.0
"""Seconds until pods of such a node are deleted. Source: the toleration that Kubernetes adds to pods."""
GRACE = 30.0
"""Seconds that a pod has to end, by default."""
REJOIN = 5.0
"""Seconds until a process that ran on is in the database again."""
TROUBLE = "CrashLoopBackOff: back-off restarting failed container (its volume has an input/output error)"


class RehearsedWorld(TimedWorld, ABC):
    """One cluster with faults."""

    def __init__(
        self, start: Observation, now: float, durations: Durations, measures: Measures, faults: Iterable[Fault] = ()
    ) -> None:
        self.measures = measures
        self.disturbed = False
        """Whether a fault has occurred."""
        self.pending = 0
        """Faults that have not occurred yet."""
        super().__init__(start, now, durations)
        self.measures.now = lambda: self.queue.now
        for fault in faults:
            self.pending += 1
            self.queue.after(fault.at, partial(self._strike, fault))

    # What the rules of a database add.

    @abstractmethod
    def _struck(self, outages: dict[str, int], fault: Fault) -> None:
        """React to machines that were just lost or cut off; `outages` has their members, with the number of each."""

    @abstractmethod
    def _returned(self, name: str, *, restarted: bool) -> None:
        """React to the return of a member's machine; its processes ran on unless it `restarted`."""

    @abstractmethod
    def _forgot(self, name: str) -> None:
        """React to the loss of a member's data; its process has ended."""

    @abstractmethod
    def _reach(self) -> None:
        """Let the database and the measures know which machines are silent."""

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
        self._obs = replace(before, missing=since, causes=causes, maintenance_end=maintenance_end(facts))
        self.record_waits(made)

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
        outages = {name: self._members.outages[name] for name in names}
        self._struck(outages, fault)
        steps = ((NOT_READY, self._not_ready), (NOT_READY + TOLERATED, self._evict))
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
            self._returned(member.name, restarted=restarted)
            stopped = self._processes.resume(member.name)
            again = self._durations.start_of(member.pool, member.name) if restarted else REJOIN
            self._members.back(member.name, None if stopped else again)
        for name in outages.keys() - {member.name for member in back}:
            self._members.unreachable.discard(name)
        self._reach()

    def _lose_volume(self, name: str, fault: Fault) -> None:
        member = self._members.all[name]
        if member.claim is None or name in self._members.unreachable:
            return
        if fault.lasting:
            self._members.broken[name] = TROUBLE
        self._members.stumble(name, self._durations.start_of(member.pool, name))
        self.left(member)
        self._forgot(name)


def node_name(fault: Fault) -> str:
    """Return the name of the node that fails; a word for one whose name is not known."""
    return fault.place.removeprefix("node ") if fault.place.startswith("node ") else "(unknown)"
